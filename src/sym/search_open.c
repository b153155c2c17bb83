/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search_open: the places of a worker, and what earlier sessions know of them (keep.h). A place is
 * known again by the content of its disk, its bytes, and the program of the checker: what another
 * program did on another disk means nothing here.
 */
#include "sym/search_priv.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

#define PROGRAM_BYTES ((size_t)64 << 20)
#define DEALT_WHOLE 4u /* disks for each worker */

/* ---- Notes ----------------------------------------------------------------------------------- */

void as_search_note(struct sym_search *s, enum as_keep_list list, uint64_t number)
{
	if (s->setup->keep)
		as_buf_add(&s->notes[list], &number, sizeof(number));
}

void as_search_note_begin(struct sym_search *s, const struct sym_ground *g,
			  const struct sym_candidate *c)
{
	s->note = (struct as_keep_head){ .place = g->key,
					 .done = as_search_hash(g, c->values, c->round) };
	memcpy(s->note.tallies, s->tallies, sizeof(s->note.tallies));
	for (unsigned i = 0; i < AS_KEEP_LISTS; i++)
		as_buf_clear(&s->notes[i]);
}

void as_search_note_end(struct sym_search *s)
{
	if (!s->setup->keep)
		return;
	for (unsigned i = 0; i < AS_KEEP_TALLIES; i++)
		s->note.tallies[i] = s->tallies[i] - s->note.tallies[i];
	as_keep_put(&s->note, s->notes, &s->ready);
}

/* ---- What is known --------------------------------------------------------------------------- */

struct recalling {
	struct sym_search *s;
	struct as_table grounds, done;
	bool values; /* the second pass */
};

static void add_once(struct as_table *t, uint64_t number)
{
	if (as_table_get(t, number) == AS_TABLE_NONE)
		as_table_add(t, number, t->n);
}

static void take_all(struct as_table *t, const struct as_keep_record *r, enum as_keep_list list)
{
	uint64_t number;

	for (size_t i = 0; i < r->head.bytes[list]; i += sizeof(number)) {
		memcpy(&number, r->list[list] + i, sizeof(number));
		add_once(t, number);
	}
}

/* Nothing is judged yet, so that nothing can fail. */
static void wait_for_turn(struct sym_search *s, struct sym_ground *g)
{
	struct as_err none;
	int rc = as_search_take_in(s, g, &none);

	as_assert(!rc);
}

/* Values that wait; those that were run are only noted as tried. */
static void take_values(struct recalling *x, struct sym_ground *g, const struct as_keep_record *r)
{
	struct as_keep_values v;
	const unsigned char *bytes;
	size_t at = 0;

	while ((bytes = as_keep_next(r, &at, &v))) {
		struct sym_candidate c = { .way = v.way,
					   .expect = v.expect,
					   .expect_at = v.expect_at,
					   .generation = v.generation,
					   .gain = v.gain,
					   .round = v.round,
					   .problems = v.problems,
					   .class = v.class,
					   .concrete = v.concrete,
					   .judged = v.judged };
		uint64_t hash;

		if (v.n != g->place->n)
			continue;
		hash = as_search_hash(g, bytes, v.round);
		if (as_table_get(&x->done, as_search_mix(g->key, hash)) != AS_TABLE_NONE) {
			add_once(&g->tried, hash);
			continue;
		}
		c.values = as_xcalloc(v.n + 1, 1);
		memcpy(c.values, bytes, v.n);
		as_search_add(x->s, g, &c);
	}
	wait_for_turn(x->s, g);
}

static void recall(void *ctx, const struct as_keep_record *r)
{
	struct recalling *x = ctx;
	size_t i = as_table_get(&x->grounds, r->head.place);
	struct sym_ground *g = i == AS_TABLE_NONE ? NULL : &x->s->grounds[i];

	if (x->values) {
		if (g)
			take_values(x, g, r);
		return;
	}
	take_all(&x->s->ways, r, AS_KEEP_WAYS);
	if (!g)
		return;
	add_once(&x->done, as_search_mix(g->key, r->head.done));
	if (r->head.path)
		add_once(&g->paths, r->head.path);
	take_all(&g->asked, r, AS_KEEP_ASKED);
	g->spent_us += (int64_t)r->head.spent_us;
}

struct sums {
	const struct as_search_setup *setup;
	uint64_t *tallies, program;
};

static void sum_up(void *ctx, const struct as_keep_record *r)
{
	struct sums *x = ctx;
	struct as_path_cover piece;

	for (unsigned i = 0; i < AS_KEEP_TALLIES; i++)
		x->tallies[i] += r->head.tallies[i];
	for (size_t i = 0; i < r->head.bytes[AS_KEEP_COVER]; i += sizeof(piece)) {
		memcpy(&piece, r->list[AS_KEEP_COVER] + i, sizeof(piece));
		(void)as_blocks_add(&x->setup->shared->blocks, &piece, x->program);
	}
}

void as_search_recall(const struct as_search_setup *setup, const char *program,
		      uint64_t tallies[AS_FSCK_TALLIES])
{
	struct sums x = { setup, tallies, as_blocks_program(program) };

	as_keep_each(setup->keep, sum_up, &x);
	/* How many places are out of time depends on what this session allows. */
	tallies[AS_SEARCH_CUT] = 0;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static uint64_t program_digest(const char *path)
{
	struct as_buf text = { 0 };
	struct as_err ignored;
	uint64_t digest = as_blocks_program(path);

	if (!as_buf_read_file(&text, path, PROGRAM_BYTES, &ignored))
		digest = as_hash64(text.data, text.len);
	as_buf_free(&text);
	return digest;
}

static uint64_t key_of(const struct sym_search *s, const struct as_place *p, uint64_t program)
{
	struct as_digest disk = as_disk_digest(s->setup->bases[p->base].disk);
	uint64_t parts[] = { disk.lo, disk.hi, as_hash64(p->offs, p->n * sizeof(*p->offs)), program,
			     p->n_seals };

	return as_hash64(parts, sizeof(parts));
}

static void open_ground(struct sym_search *s, struct sym_ground *g, const struct as_place *p)
{
	struct as_disk *disk = s->setup->bases[p->base].disk;
	unsigned char sector[AS_DISK_SECTOR_BYTES];

	g->place = p;
	g->healthy = as_xcalloc(p->n + 1, 1);
	for (unsigned i = 0; i < p->n; i++) {
		uint64_t at = p->offs[i] / sizeof(sector) * sizeof(sector);

		as_assert(!as_bd_read(as_disk_bd(disk), at, sector, sizeof(sector)));
		g->healthy[i] = sector[p->offs[i] - at];
	}
}

/* The search begins with the bytes of the disk, if they were not run before. */
static void begin(struct recalling *x, struct sym_ground *g)
{
	struct sym_candidate c = { 0 };
	uint64_t hash = as_search_hash(g, g->healthy, 0);

	if (as_table_get(&x->done, as_search_mix(g->key, hash)) != AS_TABLE_NONE) {
		add_once(&g->tried, hash);
		return;
	}
	c.values = as_xcalloc(g->place->n + 1, 1);
	memcpy(c.values, g->healthy, g->place->n);
	as_search_add(x->s, g, &c);
	wait_for_turn(x->s, g);
}

static void open_grounds(struct sym_search *s, uint64_t program)
{
	struct recalling x = { .s = s };

	for (size_t i = 0; s->setup->keep && i < s->n; i++) {
		s->grounds[i].key = key_of(s, s->grounds[i].place, program);
		if (as_table_get(&x.grounds, s->grounds[i].key) == AS_TABLE_NONE)
			as_table_add(&x.grounds, s->grounds[i].key, i);
	}
	as_keep_each(s->setup->keep, recall, &x);
	for (size_t i = 0; i < s->n; i++)
		begin(&x, &s->grounds[i]);
	x.values = true;
	as_keep_each(s->setup->keep, recall, &x);
	for (size_t i = 0; i < s->n; i++) {
		struct sym_ground *g = &s->grounds[i];

		g->cut = g->n && s->setup->each_us && g->spent_us >= s->setup->each_us;
		s->cut += g->cut;
	}
	/* What was added here is remembered already. */
	for (unsigned i = 0; i < AS_KEEP_LISTS; i++)
		as_buf_clear(&s->notes[i]);
	as_table_free(&x.grounds);
	as_table_free(&x.done);
}

void as_search_close(void *own)
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
	for (unsigned i = 0; i < AS_KEEP_LISTS; i++)
		as_buf_free(&s->notes[i]);
	as_buf_free(&s->ready);
	as_search_pools_free(s);
	as_buf_free(&s->heard);
	as_table_free(&s->voices);
	while (s->n_fresh)
		free(s->fresh[--s->n_fresh].values);
	free(s->fresh);
	free(s->grounds);
	free(s->visits);
	as_table_free(&s->ways);
	as_sym_server_free(s->server);
	as_solver_free(s->solver);
	free(s);
}

/* Places of one disk are combined, so that many disks are dealt out whole. */
static bool is_mine(const struct as_places *ps, size_t i, unsigned worker, unsigned workers)
{
	if (!workers)
		return true;
	return (ps->n_of >= DEALT_WHOLE * workers ? ps->items[i].base : i) % workers == worker;
}

int as_search_open(const struct as_fsck_source *source, struct as_fsck_subject *subject,
		   unsigned worker, unsigned workers, void **own, struct as_err *err)
{
	struct sym_search *s = as_xcalloc(1, sizeof(*s));
	int rc;

	s->setup = source->ctx;
	s->subject = subject;
	s->worker = worker;
	s->program = as_blocks_program(as_subject_program(subject));
	s->visits = as_xcalloc(s->setup->places->n_of + 1, sizeof(*s->visits));
	s->grounds = as_xcalloc(s->setup->places->n + 1, sizeof(*s->grounds));
	for (size_t i = 0; i < s->setup->places->n; i++)
		if (is_mine(s->setup->places, i, worker, workers))
			open_ground(s, &s->grounds[s->n++], &s->setup->places->items[i]);
	as_search_pools_open(s);
	open_grounds(s, s->setup->keep ? program_digest(as_subject_program(subject)) : 0);
	rc = as_solver_new(&s->setup->solver, &s->solver, err);
	if (rc)
		as_search_close(s);
	else
		*own = s;
	return rc;
}
