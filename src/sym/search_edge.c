/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search_edge: one number of a disk becomes another one at which a checker may change its mind.
 *
 * Method. Where the disk is described, a field gets a value that is worth trying (layout/alter.h):
 * a field of what a repair changes, of the structures around it, and of one instance of each other
 * kind. Which field, and which of its values, is learnt: fields of the same structure and name are
 * one arm on all disks, and an arm has how often it was tried and how often the checker then said
 * something new. Of some that are drawn, the one that promises most is taken. So times and names
 * that decide nothing are left alone after some disks, on all of them. Elsewhere, and now and then
 * on any disk, a number of some bytes of a place becomes the least, the greatest, or the next one.
 */
#include "sym/search_priv.h"

#include "base/array.h"
#include "base/hash.h"
#include "layout/alter.h"

#include <stdlib.h>
#include <string.h>

#define FIELD_DRAWS 6u /* the most promising of so many is taken */
#define VALUE_DRAWS 3u
#define BITS_MAX 32u /* of the bitmaps of one disk */
#define OLD 512u /* tries after which what was learnt counts half */
#define PLAIN_ONE_IN 6u /* edges are of bytes, whatever they mean */
#define TRY 4u /* what one counts that takes as long as others */
#define TRY_MOST 100 /* times of that */

void as_search_arms_free(struct sym_search *s)
{
	free(s->arms);
	as_table_free(&s->arm_table);
}

/* Fields that are alike on all disks: "inode/directory/i_block". */
static uint32_t arm_of(struct sym_search *s, const struct as_field *f)
{
	size_t len = f->kind == AS_FIELD_BITMAP ? strcspn(f->name, " ") : strcspn(f->name, "[");
	uint64_t parts[] = { as_hash64(f->structure, strlen(f->structure)),
			     as_hash64(f->class, strlen(f->class)), as_hash64(f->name, len) };
	uint64_t key = as_hash64(parts, sizeof(parts));
	size_t i = as_table_get(&s->arm_table, key);

	if (i != AS_TABLE_NONE)
		return (uint32_t)i;
	AS_ARRAY_ROOM(s->arms, s->n_arms, s->cap_arms);
	memset(&s->arms[s->n_arms], 0, sizeof(*s->arms));
	as_table_add(&s->arm_table, key, s->n_arms);
	return (uint32_t)s->n_arms++;
}

/* ---- The fields of a disk -------------------------------------------------------------------- */

struct spotting {
	struct sym_search *s;
	struct sym_pool *pool;
	const struct as_fields *fields;
	const struct as_damage *changes; /* of the repair */
	const char *books;
	struct as_table seen; /* structures and classes */
	unsigned bits;
};

static void add_spot(struct spotting *x, size_t i)
{
	struct sym_pool *pool = x->pool;
	const struct as_field *f = as_fields_at(x->fields, i);

	if (!f->bytes || as_subject_is_book(x->books, f->off) ||
	    (f->kind == AS_FIELD_BITMAP && x->bits++ >= BITS_MAX))
		return;
	AS_ARRAY_ROOM(pool->spots, pool->n_spots, pool->cap_spots);
	pool->spots[pool->n_spots++] = (struct sym_spot){ (uint32_t)i, arm_of(x->s, f) };
}

/* Whether no instance of its structure and class was there before. */
static bool is_first(struct spotting *x, const struct as_field *f)
{
	uint64_t parts[] = { as_hash64(f->structure, strlen(f->structure)),
			     as_hash64(f->class, strlen(f->class)) };
	uint64_t key = as_hash64(parts, sizeof(parts));

	if (as_table_get(&x->seen, key) != AS_TABLE_NONE)
		return false;
	as_table_add(&x->seen, key, x->seen.n);
	return true;
}

/* Fields i to end are one instance. Of a bitmap, the bits that a repair changes, or some. */
static void add_instance(struct spotting *x, size_t i, size_t end)
{
	bool bitmap = as_fields_at(x->fields, i)->kind == AS_FIELD_BITMAP;
	size_t step = bitmap ? (end - i) / 8 + 1 : 1;
	bool touched = false, first;

	for (size_t k = i; k < end; k++)
		touched = touched || as_place_is_touched(as_fields_at(x->fields, k), x->changes);
	first = is_first(x, as_fields_at(x->fields, i));
	for (size_t k = i; k < end && (touched || first); k++)
		if ((!bitmap && (touched || first)) || (k - i) % step == 0 ||
		    as_place_is_touched(as_fields_at(x->fields, k), x->changes))
			add_spot(x, k);
}

void as_search_find_spots(struct sym_search *s, uint32_t base)
{
	struct sym_pool *pool = &s->pools[base];
	struct spotting x = { .s = s,
			      .pool = pool,
			      .fields = s->setup->places->of[base],
			      .changes = &s->setup->bases[base].writes,
			      .books = as_subject_test(s->subject)->books };
	/* Otherwise the user has said which bytes are unknown. */
	size_t n = x.fields && s->setup->suite ? as_fields_n(x.fields) : 0;

	if (pool->spotted)
		return;
	pool->spotted = true;
	for (size_t i = 0, end; i < n; i = end) {
		const char *instance = as_fields_at(x.fields, i)->instance;

		for (end = i; end < n && !strcmp(as_fields_at(x.fields, end)->instance, instance);)
			end++;
		add_instance(&x, i, end);
	}
	as_table_free(&x.seen);
}

/* ---- Learning -------------------------------------------------------------------------------- */

/* Of two, whichever has had more news for its tries. What was never tried promises most. */
static bool is_better(const struct sym_luck *a, const struct sym_luck *b)
{
	return (uint64_t)(a->wins + 1) * (b->tries + 2) > (uint64_t)(b->wins + 1) * (a->tries + 2);
}

static void learn(struct sym_luck *l, unsigned tries, unsigned wins)
{
	l->tries += tries;
	l->wins += wins;
	if (l->tries > OLD) {
		l->tries /= 2;
		l->wins /= 2;
	}
}

/* A disk on which the checker prints for long, or hangs, costs as much as many others of that
 * size. */
void as_search_learn(struct sym_search *s, struct sym_pool *pool, const struct sym_make *m,
		     unsigned wins, int64_t took_us)
{
	int64_t times = pool->mean_us ? took_us / pool->mean_us : 1;
	unsigned tries = TRY * (unsigned)(times < 1 ? 1 : times > TRY_MOST ? TRY_MOST : times);

	pool->mean_us += (took_us - pool->mean_us) / (pool->mean_us ? 16 : 1);
	for (unsigned i = 0; i < m->n_edges; i++) {
		struct sym_arm *arm = &s->arms[m->edges[i].arm];

		learn(&arm->all, tries / 4 + TRY - TRY / 4, wins);
		if (m->edges[i].way < SYM_ARM_WAYS)
			learn(&arm->ways[m->edges[i].way], tries, wins);
	}
}

/* ---- Making one ------------------------------------------------------------------------------ */

static unsigned draw(struct sym_search *s, size_t n)
{
	return as_choose(as_chooser_choice(s->chooser), (unsigned)n);
}

static void field_edge(struct sym_search *s, struct sym_pool *pool, struct sym_make *m)
{
	const struct as_fields *fields = s->setup->places->of[m->base];
	const struct sym_spot *best = &pool->spots[draw(s, pool->n_spots)];
	const struct as_field *f;
	struct as_buf words = { 0 };
	size_t ways, way;

	for (unsigned i = 1; i < FIELD_DRAWS; i++) {
		const struct sym_spot *other = &pool->spots[draw(s, pool->n_spots)];

		if (is_better(&s->arms[other->arm].all, &s->arms[best->arm].all))
			best = other;
	}
	ways = as_field_ways(fields, best->field, m->disk);
	if (!ways)
		return;
	way = draw(s, ways);
	for (unsigned i = 1; i < VALUE_DRAWS; i++) {
		size_t other = draw(s, ways);

		if (way >= SYM_ARM_WAYS ||
		    (other < SYM_ARM_WAYS &&
		     is_better(&s->arms[best->arm].ways[other], &s->arms[best->arm].ways[way])))
			way = other;
	}
	f = as_fields_at(fields, best->field);
	(void)as_field_alter(fields, best->field, way, false, m->disk, &words);
	as_search_add_words(m, as_buf_str(&words));
	as_buf_free(&words);
	if (f->kind != AS_FIELD_CHECKSUM)
		as_search_add_seal(m, f->seal);
	m->edges[m->n_edges++] = (struct sym_edge){ best->arm, (uint32_t)way };
}

/* Numbers at which a checker may change its mind; `was` is on the disk, `top` the highest bit. */
static uint64_t edge(unsigned which, uint64_t was, uint64_t top)
{
	switch (which) {
	case 0:
		return 0;
	case 1:
		return 1;
	case 2:
		return 2 * top - 1;
	case 3:
		return top;
	case 4:
		return top - 1;
	case 5:
		return was + 1;
	case 6:
		return was - 1;
	case 7:
		return was ^ top;
	case 8:
		return 2 * was;
	default:
		return ~was;
	}
}

#define EDGES 12u
#define EDGE_BIT 10u /* from here on: one bit is another one */

/* One number of a place becomes another: 1, 2 or 4 bytes that follow each other. */
static void plain_edge(struct sym_search *s, struct sym_pool *pool, struct sym_make *m)
{
	const struct as_place *p = pool->grounds[draw(s, pool->n_grounds)]->place;
	unsigned bytes = 1u << draw(s, 3), which = draw(s, EDGES), at = draw(s, p->n), n = 1;
	uint64_t was = 0, is;

	/* Numbers are aligned. */
	while (at && p->offs[at] % bytes && p->offs[at - 1] == p->offs[at] - 1)
		at--;
	while (n < bytes && at + n < p->n && p->offs[at + n] == p->offs[at] + n)
		n++;
	n = n < bytes ? 1 : bytes;
	for (unsigned i = 0; i < n; i++)
		was |= (uint64_t)as_place_byte(m->disk, p->offs[at + i]) << 8 * i;
	is = which >= EDGE_BIT ? was ^ (uint64_t)1 << draw(s, 8 * n)
			       : edge(which, was, (uint64_t)1 << (8 * n - 1));
	for (unsigned i = 0; i < n; i++)
		as_place_set_byte(m->disk, p->offs[at + i], (unsigned char)(is >> 8 * i));
	as_search_add_words(m, as_buf_str(&p->name));
	for (unsigned i = 0; i < p->n_seals; i++)
		as_search_add_seal(m, p->seals[i]);
}

void as_search_edge(struct sym_search *s, struct sym_pool *pool, struct sym_make *m)
{
	if (pool->n_spots && draw(s, PLAIN_ONE_IN))
		field_edge(s, pool, m);
	else
		plain_edge(s, pool, m);
}
