/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search: see search.h.
 *
 * Method. Generational search (Godefroid et al., SAGE, NDSS 2008): a path is run once under the
 * tool, each of its branches is negated once, and each answer is a candidate. A candidate whose
 * branch nobody has gone that way yet comes first; then what came from a path with much new code;
 * then what is less deep. Each worker has every N-th place. Places take turns; one that found new
 * code in its last turn comes sooner.
 *
 * Invariants
 *   1. No values are run twice for a place, and no branch is negated twice after the same beginning
 *      of a path.
 *   2. A disk is judged before its path is read, so that an error of the tool costs a path and no
 *      disk.
 */
#include "sym/search_priv.h"

#include "base/array.h"
#include "os/spawn.h"

#include <stdlib.h>
#include <string.h>

#define TURN_US 400000
#define RANGES_MAX 1024u /* at the start of a server */
#define STAY_TURNS 8u
#define DEATHS_MAX 5u /* of servers, in a row */

/* ---- Candidates ------------------------------------------------------------------------------ */

uint64_t as_search_way(uint64_t site, as_u128 value)
{
	return as_mix64(site ^ as_mix64((uint64_t)value + 0x9e37u) ^ (uint64_t)(value >> 64)) | 1;
}

uint64_t as_search_mix(uint64_t prefix, uint64_t way)
{
	return as_mix64(prefix * 3 + way);
}

bool as_heap_less(const struct sym_candidate *a, const struct sym_candidate *b)
{
	if (a->class != b->class)
		return a->class < b->class;
	if (a->gain != b->gain)
		return a->gain > b->gain;
	if (a->generation != b->generation)
		return a->generation < b->generation;
	return a->seq < b->seq;
}

static void swap(struct sym_candidate *a, struct sym_candidate *b)
{
	struct sym_candidate c = *a;

	*a = *b;
	*b = c;
}

void as_heap_push(struct sym_ground *g, const struct sym_candidate *c)
{
	size_t i = g->n;

	AS_ARRAY_ROOM(g->heap, g->n, g->cap);
	g->heap[g->n++] = *c;
	for (; i && as_heap_less(&g->heap[i], &g->heap[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&g->heap[i], &g->heap[(i - 1) / 2]);
}

static void take_first(struct sym_ground *g, struct sym_candidate *out)
{
	size_t i = 0;

	*out = g->heap[0];
	g->heap[0] = g->heap[--g->n];
	for (;;) {
		size_t left = 2 * i + 1, least = i;

		for (size_t k = left; k < left + 2 && k < g->n; k++)
			if (as_heap_less(&g->heap[k], &g->heap[least]))
				least = k;
		if (least == i)
			return;
		swap(&g->heap[i], &g->heap[least]);
		i = least;
	}
}

bool as_heap_pop(struct sym_search *s, struct sym_ground *g, struct sym_candidate *out)
{
	while (g->n) {
		take_first(g, out);
		/* Somebody may have gone that way in the meantime. */
		if (out->class == 0 && out->way &&
		    as_table_get(&s->ways, out->way) != AS_TABLE_NONE) {
			out->class = 1;
			as_heap_push(g, out);
			continue;
		}
		return true;
	}
	return false;
}

void as_search_add(struct sym_search *s, struct sym_ground *g, struct sym_candidate *c)
{
	uint64_t hash = as_hash64(c->values, g->place->n);

	if (as_table_get(&g->tried, hash) != AS_TABLE_NONE) {
		free(c->values);
		return;
	}
	as_table_add(&g->tried, hash, g->tried.n);
	c->seq = s->seq++;
	as_heap_push(g, c);
}

/* ---- Running one ----------------------------------------------------------------------------- */

static int by_off(const void *a, const void *b)
{
	const struct as_sym_range *x = a, *y = b;

	return (x->off > y->off) - (x->off < y->off);
}

/* Ranges that are at most `gap` bytes apart become one: the server only has to stop before the
 * first of them. Returns how many there are. */
static size_t merge(struct as_sym_range *all, size_t n, uint64_t gap)
{
	size_t k = 0;

	qsort(all, n, sizeof(*all), by_off);
	for (size_t i = 1; i < n; i++) {
		uint64_t end = all[k].off + all[k].len, to = all[i].off + all[i].len;

		if (all[i].off > end + gap)
			all[++k] = all[i];
		else if (to > end)
			all[k].len = to - all[k].off;
		all[k].symbolic = true;
	}
	return n ? k + 1 : 0;
}

/* The server of a disk knows all places of that disk that this worker has. */
static int open_server(struct sym_search *s, uint32_t base, struct as_err *err)
{
	struct as_sym_range *all = NULL;
	size_t n = 0, cap = 0;
	int rc;

	if (s->server && s->server_base == base)
		return 0;
	as_sym_server_free(s->server);
	s->server = NULL;
	for (size_t i = 0; i < s->n; i++) {
		const struct as_place *p = s->grounds[i].place;

		for (size_t k = 0; p->base == base && k < p->n_ranges; k++) {
			AS_ARRAY_ROOM(all, n, cap);
			all[n++] = p->ranges[k];
		}
	}
	for (uint64_t gap = 0; (n = merge(all, n, gap)) > RANGES_MAX; gap = 2 * gap + 64)
		;
	rc = as_sym_server_start(s->subject, s->setup->bases[base].disk, all, n, &s->server, err);
	free(all);
	s->server_base = base;
	return rc;
}

/* A disk that cannot be explored is left out. The error stays if nothing else is left either. */
static int leave_out(struct sym_search *s, uint32_t base, int rc)
{
	bool left = s->ran;

	if (rc != AS_EUSE)
		return rc;
	for (size_t i = 0; i < s->n; i++) {
		struct sym_ground *g = &s->grounds[i];

		while (g->place->base == base && g->n)
			free(g->heap[--g->n].values);
		left = left || g->n;
	}
	return left ? 0 : rc;
}

static uint32_t note_cover(struct sym_search *s, const struct as_path *path)
{
	uint32_t gain = 0;

	for (size_t i = 0; i < path->n_cover; i++) {
		uint64_t bit = as_mix64(path->cover[i].at) % (AS_SEARCH_COVER_BYTES * 8);
		unsigned char mask = (unsigned char)(1u << bit % 8);

		if (!(__atomic_fetch_or(&s->setup->covered[bit / 8], mask, __ATOMIC_RELAXED) &
		      mask))
			gain++;
	}
	s->tallies[AS_SEARCH_BLOCKS] += gain;
	return gain;
}

static void note_ways(struct sym_search *s, const struct as_path *path)
{
	for (size_t i = 0; i < path->n; i++) {
		uint64_t way = as_search_way(path->steps[i].site, path->steps[i].value);

		if (as_table_get(&s->ways, way) == AS_TABLE_NONE)
			as_table_add(&s->ways, way, s->ways.n);
	}
}

/* Whether the path begins as it was predicted. */
static bool follows(const struct as_path *path, const struct sym_candidate *c)
{
	uint64_t digest = 0;

	for (size_t i = 0; i < path->n && i < c->expect_at; i++)
		digest = as_search_mix(digest,
				       as_search_way(path->steps[i].site, path->steps[i].value));
	return path->n >= c->expect_at && digest == c->expect;
}

static void on_path(struct sym_search *s, struct sym_ground *g, const struct sym_candidate *c,
		    struct as_path *path, uint64_t run_us)
{
	uint32_t gain;

	if (path->wrong || path->mismatches) {
		s->tallies[AS_SEARCH_WRONG]++;
		return;
	}
	if (c->way)
		s->tallies[follows(path, c) ? AS_SEARCH_FOLLOWED : AS_SEARCH_STRAYED]++;
	gain = note_cover(s, path);
	g->gain += gain;
	if (as_table_get(&g->paths, path->digest.lo) != AS_TABLE_NONE) {
		s->tallies[AS_SEARCH_AGAIN]++;
		return;
	}
	as_table_add(&g->paths, path->digest.lo, g->paths.n);
	note_ways(s, path);
	as_search_expand(s, g, path, c, gain, run_us);
}

static int explore(struct sym_search *s, struct sym_ground *g, const struct sym_candidate *c,
		   const struct as_fsck_door *door, struct as_err *err)
{
	const struct as_place *p = g->place;
	struct as_damage damage = { 0 };
	struct as_sym_run run;
	struct as_path path = { 0 };
	uint32_t problems = 0;
	int rc = 0;

	if (as_place_damage(p, &s->setup->bases[p->base], c->values, &damage))
		rc = door->judge(door->ctx, &damage, &problems, err);
	s->tallies[AS_SEARCH_BUGGY] += problems != 0;
	s->tallies[AS_SEARCH_SAVED_BUGGY] += c->concrete && problems;
	if (!rc)
		rc = open_server(s, p->base, err);
	if (rc) {
		as_damage_free(&damage);
		return leave_out(s, p->base, rc);
	}
	s->ran = true;
	s->tallies[AS_SEARCH_PATHS]++;
	if (as_sym_server_run(s->server, &damage, p->ranges, p->n_ranges, s->setup->deadline_ms,
			      &run, err)) {
		s->tallies[AS_SEARCH_TOOL_DEATHS]++;
		s->deaths++;
		as_sym_server_free(s->server);
		s->server = NULL;
		rc = s->deaths > DEATHS_MAX ? err->code : 0;
	} else {
		s->deaths = 0;
		s->tallies[AS_SEARCH_RUN_US] += run.micros;
		s->tallies[AS_SEARCH_HANGS] += run.late;
		s->tallies[AS_SEARCH_SAVED_DONE] += c->concrete && !run.late;
		if (as_path_read(run.log, run.log_bytes, &path, err))
			s->tallies[AS_SEARCH_WRONG]++;
		else
			on_path(s, g, c, &path, run.micros);
	}
	as_path_free(&path);
	as_damage_free(&damage);
	return rc;
}

/* ---- Turns ----------------------------------------------------------------------------------- */

/* The best place of a disk, or of any (UINT32_MAX); NULL: all are done. */
static struct sym_ground *best_of(struct sym_search *s, uint32_t base)
{
	struct sym_ground *best = NULL;
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < s->n; i++) {
		struct sym_ground *g = &s->grounds[i];
		/* New code is worth two turns. */
		uint64_t cost = 4 * g->turns + (g->gain ? 0 : 8);

		/* Disks take turns, too. */
		if (base == UINT32_MAX)
			cost += 16 * s->visits[g->place->base];
		if (!g->n || (base != UINT32_MAX && g->place->base != base) ||
		    (best && cost >= least))
			continue;
		best = g;
		least = cost;
	}
	return best;
}

/* The place whose turn it is; NULL: all are done. A server is started for one disk, which takes
 * longer than a turn: it stays with that disk for some turns. */
static struct sym_ground *choose(struct sym_search *s)
{
	struct sym_ground *g = NULL;

	if (s->server && s->stayed < STAY_TURNS)
		g = best_of(s, s->server_base);
	if (!g) {
		g = best_of(s, UINT32_MAX);
		s->stayed = 0;
		if (g)
			s->visits[g->place->base]++;
	}
	s->stayed++;
	return g;
}

static void tally_solver(struct sym_search *s)
{
	struct as_solve_counts now = as_solver_counts(s->solver), *was = &s->counts;

	s->tallies[AS_SEARCH_QUESTIONS] += now.questions - was->questions;
	s->tallies[AS_SEARCH_SOLVED] += now.solved - was->solved;
	s->tallies[AS_SEARCH_NONE] += now.none - was->none;
	s->tallies[AS_SEARCH_LATE] += now.late - was->late;
	s->tallies[AS_SEARCH_SAVED] += now.concrete - was->concrete;
	s->tallies[AS_SEARCH_BY_CACHE] += now.by_cache - was->by_cache;
	s->tallies[AS_SEARCH_BY_QUICK] += now.by_quick - was->by_quick;
	s->tallies[AS_SEARCH_BY_BOUNDS] += now.by_bounds - was->by_bounds;
	s->tallies[AS_SEARCH_BY_TRIES] += now.by_tries - was->by_tries;
	s->tallies[AS_SEARCH_BY_Z3] += now.by_z3 - was->by_z3;
	s->tallies[AS_SEARCH_Z3_DEATHS] += now.z3_deaths - was->z3_deaths;
	s->tallies[AS_SEARCH_WRONG] += now.wrong - was->wrong;
	*was = now;
}

static int turn(void *own, const struct as_fsck_door *door, bool *more,
		uint64_t tallies[AS_FSCK_TALLIES], struct as_err *err)
{
	struct sym_search *s = own;
	struct sym_ground *g = choose(s);
	int64_t start = as_now_us();
	struct sym_candidate c;
	int rc = 0;

	*more = g != NULL;
	if (!g)
		return 0;
	s->tallies = tallies;
	g->turns++;
	g->gain = 0;
	while (!rc && as_now_us() - start < TURN_US && as_heap_pop(s, g, &c)) {
		rc = explore(s, g, &c, door, err);
		free(c.values);
	}
	tally_solver(s);
	s->tallies = NULL;
	return rc;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static void open_ground(struct sym_search *s, struct sym_ground *g, const struct as_place *p)
{
	struct sym_candidate c = { 0 };
	struct as_disk *disk = s->setup->bases[p->base].disk;
	unsigned char sector[AS_DISK_SECTOR_BYTES];

	g->place = p;
	g->healthy = as_xcalloc(p->n + 1, 1);
	for (unsigned i = 0; i < p->n; i++) {
		uint64_t at = p->offs[i] / sizeof(sector) * sizeof(sector);

		as_assert(!as_bd_read(as_disk_bd(disk), at, sector, sizeof(sector)));
		g->healthy[i] = sector[p->offs[i] - at];
	}
	c.values = as_xcalloc(p->n + 1, 1);
	memcpy(c.values, g->healthy, p->n);
	as_search_add(s, g, &c);
}

static void close_search(void *own)
{
	struct sym_search *s = own;

	for (size_t i = 0; i < s->n; i++) {
		struct sym_ground *g = &s->grounds[i];

		for (size_t k = 0; k < g->n; k++)
			free(g->heap[k].values);
		free(g->heap);
		free(g->healthy);
		as_table_free(&g->asked);
		as_table_free(&g->tried);
		as_table_free(&g->paths);
	}
	free(s->grounds);
	free(s->visits);
	as_table_free(&s->ways);
	as_sym_server_free(s->server);
	as_solver_free(s->solver);
	free(s);
}

static int open_search(const struct as_fsck_source *source, struct as_fsck_subject *subject,
		       unsigned worker, unsigned workers, void **own, struct as_err *err)
{
	struct sym_search *s = as_xcalloc(1, sizeof(*s));
	int rc;

	s->setup = source->ctx;
	s->subject = subject;
	s->visits = as_xcalloc(s->setup->places->n_of + 1, sizeof(*s->visits));
	s->grounds = as_xcalloc(s->setup->places->n + 1, sizeof(*s->grounds));
	for (size_t i = 0; i < s->setup->places->n; i++)
		if (i % (workers ? workers : 1) == worker)
			open_ground(s, &s->grounds[s->n++], &s->setup->places->items[i]);
	rc = as_solver_new(&s->setup->solver, &s->solver, err);
	if (rc)
		close_search(s);
	else
		*own = s;
	return rc;
}

const struct as_fsck_source as_search_source = {
	.open = open_search,
	.turn = turn,
	.close = close_search,
};
