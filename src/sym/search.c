/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search: see search.h.
 *
 * Method. Generational search (Godefroid et al., SAGE, NDSS 2008): a path is run once under the
 * tool, each of its branches is negated once, and each answer is a candidate. A candidate whose
 * branch nobody has gone that way yet comes first; then what came from a path with much new code;
 * then what is less deep. A path is given some time for its questions; those that are left are
 * asked when nothing better waits: the path is run again then, in another round. Each worker has
 * every N-th place. Places take turns; one that found new code in its last turn comes sooner.
 * Where there are several disks, one server has all of them: it stands before the checker knows
 * anything of its disk, so that turning to another one costs a copy.
 *
 * An answer is a disk, and the checker as it is judges a disk in a fraction of the time that a run
 * under the tool takes. So what was found is judged at once, while the turn lasts, and run later.
 *
 * Invariants
 *   1. No values are run twice for a place, and no branch is negated twice after the same beginning
 *      of a path.
 *   2. A disk is judged, once, before its path is read, so that an error of the tool costs a path
 *      and no disk.
 *   3. What a disk gave is remembered (keep.h) when the leader is through with what was found. Who
 *      is killed before that explores the disk again.
 */
#include "sym/search_priv.h"

#include "base/array.h"
#include "os/spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define RANGES_MAX 1024u /* at the start of a server */
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

static bool heap_less(const struct sym_candidate *a, const struct sym_candidate *b)
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
	for (; i && heap_less(&g->heap[i], &g->heap[(i - 1) / 2]); i = (i - 1) / 2)
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
			if (heap_less(&g->heap[k], &g->heap[least]))
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
		/* Another run may have taken that way in the meantime. */
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

uint64_t as_search_hash(const struct sym_ground *g, const unsigned char *values, uint32_t round)
{
	return as_search_mix(as_hash64(values, g->place->n), round);
}

void as_search_add(struct sym_search *s, struct sym_ground *g, struct sym_candidate *c)
{
	uint64_t hash = as_search_hash(g, c->values, c->round);

	if (as_table_get(&g->tried, hash) != AS_TABLE_NONE) {
		free(c->values);
		return;
	}
	as_table_add(&g->tried, hash, g->tried.n);
	c->seq = s->seq++;
	AS_ARRAY_ROOM(s->fresh, s->n_fresh, s->cap_fresh);
	s->fresh[s->n_fresh++] = *c;
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

/* The checksums of a place are looked for when it has its first turn: most places of a large suite
 * never have one. */
static void watch(struct sym_search *s, const struct as_place *p)
{
	struct as_places *ps = s->setup->places;

	as_place_watch(&ps->items[p - ps->items], &s->setup->bases[p->base]);
}

/* The server of a disk knows all places of that disk that this worker has. That of several disks
 * turns from one to the other. */
static int open_server(struct sym_search *s, uint32_t base, struct as_err *err)
{
	struct as_disk *disk = s->setup->bases[base].disk;
	bool several = s->setup->places->n_of > 1;
	struct as_sym_range *all = NULL;
	size_t n = 0, cap = 0;
	int rc;

	if (s->server && s->server_base == base)
		return 0;
	s->server_base = base;
	if (s->server && several) {
		rc = as_sym_server_turn(s->server, disk, err);
		if (rc) {
			as_sym_server_free(s->server);
			s->server = NULL;
		}
		return rc;
	}
	as_sym_server_free(s->server);
	s->server = NULL;
	for (size_t i = 0; i < s->n && !several; i++) {
		const struct as_place *p = s->grounds[i].place;

		if (p->base == base)
			watch(s, p);
		for (size_t k = 0; p->base == base && k < p->n_ranges; k++) {
			AS_ARRAY_ROOM(all, n, cap);
			all[n++] = p->ranges[k];
		}
	}
	for (uint64_t gap = 0; (n = merge(all, n, gap)) > RANGES_MAX; gap = 2 * gap + 64)
		;
	rc = as_sym_server_start(s->subject, disk, all, n, &s->server, err);
	free(all);
	return rc;
}

/* Tells why a disk could not be explored: the first reason of all workers. */
static void tell_why(struct as_search_shared *shared, const struct as_err *err)
{
	uint32_t none = 0;

	__atomic_fetch_add(&shared->left_out, 1, __ATOMIC_RELAXED);
	if (!__atomic_compare_exchange_n(&shared->told, &none, 1, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return;
	snprintf(shared->why, sizeof(shared->why), "%.500s", err->msg);
	__atomic_store_n(&shared->told, 2, __ATOMIC_RELEASE);
}

/* A disk that cannot be explored is left out. Whether anything is left, the session says. */
static int leave_out(struct sym_search *s, uint32_t base, int rc, const struct as_err *err)
{
	if (rc != AS_EUSE && rc != AS_EIO)
		return rc;
	tell_why(s->setup->shared, err);
	for (size_t i = 0; i < s->n; i++) {
		struct sym_ground *g = &s->grounds[i];

		while (g->place->base == base && g->n)
			free(g->heap[--g->n].values);
	}
	return 0;
}

static uint32_t note_cover(struct sym_search *s, const struct as_path *path)
{
	uint32_t gain = 0;

	for (size_t i = 0; i < path->n_cover; i++) {
		if (!as_blocks_add(&s->setup->shared->blocks, &path->cover[i], s->program))
			continue;
		gain++;
		if (s->setup->keep)
			as_buf_add(&s->notes[AS_KEEP_COVER], &path->cover[i],
				   sizeof(path->cover[i]));
	}
	s->tallies[AS_SEARCH_BLOCKS] += gain;
	return gain;
}

static void note_ways(struct sym_search *s, const struct as_path *path)
{
	for (size_t i = 0; i < path->n; i++) {
		uint64_t way = as_search_way(path->steps[i].site, path->steps[i].value);

		if (as_table_get(&s->ways, way) != AS_TABLE_NONE)
			continue;
		as_table_add(&s->ways, way, s->ways.n);
		as_search_note(s, AS_KEEP_WAYS, way);
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
	if (c->round) {
		as_search_expand(s, g, path, c, c->gain, run_us);
		return;
	}
	if (c->way) {
		bool strayed = !follows(path, c);

		s->tallies[strayed ? AS_SEARCH_STRAYED : AS_SEARCH_FOLLOWED]++;
		s->tallies[AS_SEARCH_UNSEALED] += strayed && path->seals;
	}
	gain = note_cover(s, path);
	g->gain += gain;
	if (as_table_get(&g->paths, path->digest.lo) != AS_TABLE_NONE) {
		s->tallies[AS_SEARCH_AGAIN]++;
		return;
	}
	as_table_add(&g->paths, path->digest.lo, g->paths.n);
	s->note.path = path->digest.lo;
	note_ways(s, path);
	as_search_expand(s, g, path, c, gain, run_us);
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
	s->tallies[AS_SEARCH_Z3_US] += now.z3_us - was->z3_us;
	s->tallies[AS_SEARCH_Z3_CPU_US] += now.z3_cpu_us - was->z3_cpu_us;
	s->tallies[AS_SEARCH_Z3_ASKED] += now.z3_asked - was->z3_asked;
	*was = now;
}

static void tally_unfollowed(struct sym_search *s, const struct as_path *path)
{
	s->tallies[AS_SEARCH_ASYNC] += path->async;
	s->tallies[AS_SEARCH_THREADS] += path->threads;
	s->tallies[AS_SEARCH_FORKS] += path->forks;
	s->tallies[AS_SEARCH_EXECS] += path->execs;
	s->tallies[AS_SEARCH_DROPPED] += path->drops > 0;
}

/* Runs the disk under the tool, and goes on from its path. */
static int run_path(struct sym_search *s, struct sym_ground *g, const struct sym_candidate *c,
		    const struct as_damage *damage, bool died, struct as_err *err)
{
	const struct as_place *p = g->place;
	struct as_path path = { 0 };
	struct as_sym_run run;
	int rc = open_server(s, p->base, err);

	/* Somebody may have killed it: once more. */
	if (rc == AS_EUSE || rc == AS_EIO)
		rc = open_server(s, p->base, err);
	if (rc)
		return leave_out(s, p->base, rc, err);
	watch(s, p);
	s->tallies[AS_SEARCH_PATHS] += !c->round;
	if (as_sym_server_run(s->server, damage, p->ranges, p->n_ranges, s->setup->deadline_ms,
			      &run, err)) {
		s->tallies[AS_SEARCH_TOOL_DEATHS]++;
		s->deaths++;
		as_sym_server_free(s->server);
		s->server = NULL;
		if (s->deaths <= DEATHS_MAX)
			return 0;
		s->deaths = 0;
		return leave_out(s, p->base, err->code, err);
	}
	s->deaths = 0;
	s->tallies[AS_SEARCH_RUN_US] += run.micros;
	s->tallies[AS_SEARCH_HANGS] += run.late;
	s->tallies[AS_SEARCH_DONE] += !c->round && !run.late;
	s->tallies[AS_SEARCH_SAVED_DONE] += !c->round && c->concrete && !run.late;
	s->tallies[AS_SEARCH_FELL] += !c->round && !run.late && !died && WIFSIGNALED(run.status);
	if (as_path_read(run.log, run.log_bytes, &path, err)) {
		s->tallies[AS_SEARCH_WRONG]++;
	} else {
		if (!c->round)
			tally_unfollowed(s, &path);
		on_path(s, g, c, &path, run.micros);
	}
	as_path_free(&path);
	return 0;
}

int as_search_cover(struct sym_search *s, const struct as_place *p, const struct as_damage *damage,
		    struct as_err *err)
{
	struct as_path path = { 0 };
	struct as_sym_run run;
	struct as_err why;
	int rc = open_server(s, p->base, &why);

	/* Whether the disk can be explored at all, run_path() says. */
	if (rc)
		return rc == AS_EUSE || rc == AS_EIO ? 0 : as_fail(err, rc, "%s", why.msg);
	watch(s, p);
	if (as_sym_server_run(s->server, damage, p->ranges, p->n_ranges, s->setup->deadline_ms,
			      &run, &why)) {
		as_sym_server_free(s->server);
		s->server = NULL;
		return 0;
	}
	s->tallies[AS_SEARCH_RUN_US] += run.micros;
	if (!as_path_read(run.log, run.log_bytes, &path, &why))
		(void)note_cover(s, &path);
	as_path_free(&path);
	return 0;
}

/* What was counted since the note began. */
void as_search_count_live(struct sym_search *s)
{
	for (unsigned i = 0; i < AS_SEARCH_TALLIES; i++)
		if (s->tallies[i] != s->note.tallies[i])
			__atomic_fetch_add(&s->setup->shared->tallies[i],
					   s->tallies[i] - s->note.tallies[i], __ATOMIC_RELAXED);
}

int as_search_explore(struct sym_search *s, struct sym_ground *g, struct sym_candidate *c,
		      struct as_err *err)
{
	const struct as_place *p = g->place;
	struct as_damage damage = { 0 };
	int64_t start = as_now_us();
	int rc = 0;

	as_search_note_begin(s, g, c);
	if (as_place_damage(p, &s->setup->bases[p->base], c->values, &damage) && !c->round &&
	    !c->judged)
		rc = as_search_judge(s, g, c, &damage, err);
	s->tallies[AS_SEARCH_BUGGY] += !c->round && c->problems;
	s->tallies[AS_SEARCH_SAVED_BUGGY] += !c->round && c->concrete && c->problems;
	if (!rc)
		rc = run_path(s, g, c, &damage, c->problems & 1u << AS_FSCK_DIED, err);
	if (!rc)
		rc = as_search_take_in(s, g, err);
	as_damage_free(&damage);
	tally_solver(s);
	s->note.spent_us = (uint64_t)(as_now_us() - start);
	g->spent_us += as_now_us() - start;
	if (s->setup->each_us && g->spent_us >= s->setup->each_us && g->n && !g->cut) {
		g->cut = true;
		s->tallies[AS_SEARCH_CUT]++;
	}
	as_search_count_live(s);
	if (!rc)
		as_search_note_end(s);
	return rc;
}
