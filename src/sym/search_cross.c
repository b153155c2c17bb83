/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search_cross: answers are combined, and the checker as it is judges what comes out.
 *
 * Method. A path has one place unknown, and a repair that is right for each of two damages may be
 * wrong for both of them. Which damages matter is what the paths found: an answer that makes the
 * checker say something new of its disk (fsck/voice.h) is kept for that disk. Of those that are
 * kept, some are put on the disk together, or one of them with an edge: a number of its bytes, or
 * of another place of that disk, becomes the least, the greatest, or the next one. What says
 * something new is kept, too, so that combinations grow step by step. It is run under the tool,
 * too, if no disk said that before, so that its code is counted. A turn spends twice the time of
 * its paths on this: natively, that is some hundred disks.
 *
 * Only places that are no fields are combined: clusters of fields are told apart by the field, and
 * each combination would be one (search_judge.c).
 */
#include "sym/search_priv.h"

#include "base/array.h"
#include "os/spawn.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_MAX 512u /* of one disk */
#define DRAWS 3u /* the one that was used least of so many is taken */
#define HANGS_MAX 2u /* on one disk: the next one would take as long */
#define LEAST 24u /* disks of a turn, even if its time is over: a machine may be busy */
#define MISSES_MAX 64u /* in a row: disks that were tried already */

static void part_copy(struct as_place_part *to, const struct as_place_part *from)
{
	unsigned char *values = as_xcalloc(from->place->n + 1, 1);

	memcpy(values, from->values, from->place->n);
	*to = (struct as_place_part){ from->place, values };
}

static void breed_free(struct sym_breed *b)
{
	for (unsigned i = 0; i < b->n; i++)
		free((void *)b->parts[i].values);
	b->n = 0;
}

void as_search_pools_free(struct sym_search *s)
{
	for (size_t i = 0; s->pools && i < s->setup->places->n_of; i++) {
		for (size_t k = 0; k < s->pools[i].n; k++)
			breed_free(&s->pools[i].items[k]);
		free(s->pools[i].items);
		free(s->pools[i].grounds);
		as_table_free(&s->pools[i].voices);
		as_table_free(&s->pools[i].tried);
	}
	free(s->pools);
	as_chooser_free(s->chooser);
}

void as_search_pools_open(struct sym_search *s)
{
	s->pools = as_xcalloc(s->setup->places->n_of + 1, sizeof(*s->pools));
	s->chooser = as_chooser_seeded(s->worker + 1);
	for (size_t i = 0; i < s->n; i++) {
		struct sym_pool *pool = &s->pools[s->grounds[i].place->base];

		AS_ARRAY_ROOM(pool->grounds, pool->n_grounds, pool->cap_grounds);
		pool->grounds[pool->n_grounds++] = &s->grounds[i];
	}
}

/* Whether anything that was said of the disk is new for it; *all: for all disks. */
static bool is_new(struct sym_search *s, struct sym_pool *pool, bool *all)
{
	bool new = false;
	uint64_t voice;

	*all = false;
	as_buf_clear(&s->heard);
	s->door->hear(s->door->ctx, &s->heard);
	for (size_t i = 0; i + sizeof(voice) <= s->heard.len; i += sizeof(voice)) {
		memcpy(&voice, s->heard.data + i, sizeof(voice));
		if (as_table_get(&pool->voices, voice) != AS_TABLE_NONE)
			continue;
		new = true;
		as_table_add(&pool->voices, voice, pool->voices.n);
		if (as_table_get(&s->voices, voice) != AS_TABLE_NONE)
			continue;
		*all = true;
		as_table_add(&s->voices, voice, s->voices.n);
	}
	return new;
}

static bool keep_if_new(struct sym_search *s, const struct as_place_part *parts, unsigned n)
{
	struct sym_pool *pool = &s->pools[parts[0].place->base];
	struct sym_breed b = { .n = n };
	bool all;

	if (!is_new(s, pool, &all) || pool->n == KEPT_MAX)
		return false;
	pool->news += all;
	for (unsigned i = 0; i < n; i++)
		part_copy(&b.parts[i], &parts[i]);
	AS_ARRAY_ROOM(pool->items, pool->n, pool->cap);
	pool->items[pool->n++] = b;
	return all;
}

void as_search_hear(struct sym_search *s, const struct sym_ground *g, const struct sym_candidate *c)
{
	struct as_place_part part = { g->place, c->values };

	if (!s->door || g->place->n_fields)
		return;
	s->pools[g->place->base].hangs += c->problems & 1u << AS_FSCK_HANGS ? 1 : 0;
	(void)keep_if_new(s, &part, 1);
}

/* ---- Combining ------------------------------------------------------------------------------- */

static unsigned draw(struct sym_search *s, size_t n)
{
	return as_choose(as_chooser_choice(s->chooser), (unsigned)n);
}

static const struct sym_ground *ground_of(const struct sym_pool *pool, const struct as_place *p)
{
	for (size_t i = 0; i < pool->n_grounds; i++)
		if (pool->grounds[i]->place == p)
			return pool->grounds[i];
	return NULL;
}

/* Adds values for a place; where the place is there already, those that differ from the disk. */
static void join_part(const struct sym_pool *pool, struct sym_breed *b,
		      const struct as_place_part *part)
{
	const struct sym_ground *g = ground_of(pool, part->place);
	unsigned i = 0;

	while (i < b->n && b->parts[i].place != part->place)
		i++;
	if (i == b->n) {
		if (b->n < SYM_PARTS_MAX)
			part_copy(&b->parts[b->n++], part);
		return;
	}
	for (unsigned k = 0; g && k < part->place->n; k++)
		if (part->values[k] != g->healthy[k])
			((unsigned char *)b->parts[i].values)[k] = part->values[k];
}

static void join_kept(struct sym_search *s, struct sym_pool *pool, struct sym_breed *b)
{
	size_t best = draw(s, pool->n);

	for (unsigned i = 1; i < DRAWS; i++) {
		size_t k = draw(s, pool->n);

		if (pool->items[k].uses < pool->items[best].uses)
			best = k;
	}
	pool->items[best].uses++;
	for (unsigned i = 0; i < pool->items[best].n; i++)
		join_part(pool, b, &pool->items[best].parts[i]);
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

#define EDGES 11u
#define EDGE_BIT 10u /* one bit is another one */

/* One number of a place becomes another: 1, 2 or 4 bytes that follow each other. */
static void set_edge(struct sym_search *s, const struct as_place *p, unsigned char *values)
{
	unsigned bytes = 1u << draw(s, 3), which = draw(s, EDGES), bit = draw(s, 8);
	unsigned at = draw(s, p->n), n = 1;
	uint64_t was = 0, is;

	/* Numbers are aligned. */
	while (at && p->offs[at] % bytes && p->offs[at - 1] == p->offs[at] - 1)
		at--;
	while (n < bytes && at + n < p->n && p->offs[at + n] == p->offs[at] + n)
		n++;
	n = n < bytes ? 1 : bytes;
	for (unsigned i = 0; i < n; i++)
		was |= (uint64_t)values[at + i] << 8 * i;
	is = which == EDGE_BIT ? was ^ 1u << bit : edge(which, was, (uint64_t)1 << (8 * n - 1));
	for (unsigned i = 0; i < n; i++)
		values[at + i] = (unsigned char)(is >> 8 * i);
}

static void join_edge(struct sym_search *s, struct sym_pool *pool, struct sym_breed *b)
{
	const struct sym_ground *g = pool->grounds[draw(s, pool->n_grounds)];
	struct as_place_part healthy = { g->place, g->healthy };
	unsigned i = 0;

	/* Half of them in a place that is there already. */
	if (b->n && draw(s, 2)) {
		i = draw(s, b->n);
	} else {
		while (i < b->n && b->parts[i].place != g->place)
			i++;
		if (i == SYM_PARTS_MAX)
			return;
		if (i == b->n)
			part_copy(&b->parts[b->n++], &healthy);
	}
	set_edge(s, b->parts[i].place, (unsigned char *)b->parts[i].values);
}

/* How much of what is put together, each as often as it is here. An edge says something new more
 * often than two answers together do (docs/SCORE.md). */
static const struct way {
	unsigned kept, edges;
} ways[] = { { 2, 0 }, { 3, 0 }, { 1, 1 }, { 1, 1 }, { 1, 2 }, { 0, 2 }, { 0, 1 }, { 0, 1 } };

#define WAYS (sizeof(ways) / sizeof(ways[0]))

static void make(struct sym_search *s, struct sym_pool *pool, struct sym_breed *b)
{
	const struct way *way = &ways[pool->n ? draw(s, WAYS) : WAYS - 1];

	for (unsigned i = 0; i < way->kept; i++)
		join_kept(s, pool, b);
	for (unsigned i = 0; i < way->edges; i++)
		join_edge(s, pool, b);
}

static bool was_tried(struct sym_pool *pool, const struct as_damage *d)
{
	uint64_t hash = d->n;

	for (size_t i = 0; i < d->n; i++)
		hash = as_search_mix(hash, d->bytes[i].off << 8 | d->bytes[i].is);
	if (as_table_get(&pool->tried, hash) != AS_TABLE_NONE)
		return true;
	as_table_add(&pool->tried, hash, pool->tried.n);
	return false;
}

int as_search_cross(struct sym_search *s, const struct sym_ground *g, int64_t until,
		    struct as_err *err)
{
	uint32_t base = g->place->base, problems;
	struct sym_pool *pool = &s->pools[base];
	struct as_damage damage = { 0 };
	unsigned misses = 0, done = 0;
	int rc = 0;

	if (g->place->n_fields || !pool->n_grounds)
		return 0;
	while (!rc && misses < MISSES_MAX && pool->hangs < HANGS_MAX &&
	       (done < LEAST || as_now_us() < until)) {
		struct sym_breed b = { 0 };
		bool hangs;

		as_chooser_next(s->chooser);
		make(s, pool, &b);
		if (!b.n || !as_place_damage_of(b.parts, b.n, &s->setup->bases[base], &damage) ||
		    was_tried(pool, &damage)) {
			misses++;
		} else {
			misses = 0;
			done++;
			rc = s->door->judge(s->door->ctx, &damage, &problems, err);
			s->tallies[AS_SEARCH_CROSSED]++;
			hangs = !rc && problems & 1u << AS_FSCK_HANGS;
			pool->hangs += hangs;
			if (!rc && keep_if_new(s, b.parts, b.n) && !hangs)
				rc = as_search_cover(s, b.parts[0].place, &damage, err);
		}
		breed_free(&b);
	}
	as_damage_free(&damage);
	return rc;
}
