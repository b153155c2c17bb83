/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search_cross: answers are combined, and the checker as it is judges what comes out.
 *
 * Method. A path has one place unknown, and a repair that is right for each of two damages may be
 * wrong for both of them. Which damages matter is what the paths found: an answer that makes the
 * checker say something new of its disk (fsck/voice.h) is kept for that disk. Of those that are
 * kept, some are put on the disk together, or with an edge (search_edge.c). What says something new
 * is kept, too, so that combinations grow step by step. It is run under the tool, too, if no disk
 * said that before, so that its code is counted: now or in a later turn, since a run under the tool
 * takes as long as some tens of disks. A turn spends some times the time of its paths on all this:
 * natively, that is some hundred disks.
 *
 * Most of these disks say what others said. So where a first run says, line by line, what first
 * runs on that disk said before, the others are done for some of them only, the fewer the more
 * often that was said.
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
#define PARTS_MAX 6u /* answers and edges together */
#define BYTES_MAX 512u /* of one that is kept */
#define DRAWS 3u /* the one that was used least of so many is taken */
#define HANGS_SHARE 8 /* of the time: with more, a turn ends where it hangs */
#define COVER_SHARE 6 /* of the time: runs under the tool */
#define HANGS_FREE_US 10000000 /* that do not count */
#define LEAST 24u /* disks of a turn, even if its time is over: a machine may be busy */
#define MISSES_MAX 64u /* in a row: disks that were tried already */
#define HEARD 3u /* how often all runs are done when a first run says the same */
#define WORTH_ALL 4u /* news for all disks */
#define WORTH_BAD 3u /* news for this one, and something is wrong */
#define WORTH_ONE 1u /* news for this one */

static void breed_free(struct sym_breed *b)
{
	free(b->bytes);
	free(b->words);
}

void as_search_pools_free(struct sym_search *s)
{
	for (size_t i = 0; s->pools && i < s->setup->places->n_of; i++) {
		for (size_t k = 0; k < s->pools[i].n; k++)
			breed_free(&s->pools[i].items[k]);
		free(s->pools[i].items);
		free(s->pools[i].grounds);
		free(s->pools[i].spots);
		as_table_free(&s->pools[i].voices);
		as_table_free(&s->pools[i].tried);
		as_table_free(&s->pools[i].said);
	}
	free(s->pools);
	as_search_arms_free(s);
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

bool as_search_crosses(const struct sym_search *s, const struct sym_ground *g)
{
	return !g->place->n_fields && s->pools[g->place->base].n_grounds;
}

/* ---- What is new ----------------------------------------------------------------------------- */

/* Whether anything that was said of the disk is new: WORTH_ALL: for all disks. */
static unsigned news_of(struct sym_search *s, struct sym_pool *pool)
{
	unsigned worth = 0;
	uint64_t voice;

	as_buf_clear(&s->heard);
	s->door->hear(s->door->ctx, &s->heard);
	for (size_t i = 0; i + sizeof(voice) <= s->heard.len; i += sizeof(voice)) {
		memcpy(&voice, s->heard.data + i, sizeof(voice));
		if (as_table_get(&pool->voices, voice) != AS_TABLE_NONE)
			continue;
		as_table_add(&pool->voices, voice, pool->voices.n);
		if (!worth)
			worth = WORTH_ONE;
		if (as_table_get(&s->voices, voice) != AS_TABLE_NONE)
			continue;
		as_table_add(&s->voices, voice, s->voices.n);
		worth = WORTH_ALL;
	}
	return worth;
}

static void keep(struct sym_pool *pool, const struct as_damage *d, const struct sym_breed *like,
		 const char *words)
{
	struct sym_breed b = *like;

	if (pool->n == KEPT_MAX || d->n > BYTES_MAX || like->parts > PARTS_MAX)
		return;
	b.bytes = as_xcalloc(d->n + 1, sizeof(*b.bytes));
	memcpy(b.bytes, d->bytes, d->n * sizeof(*b.bytes));
	b.n = d->n;
	b.words = as_xstrdup(words);
	AS_ARRAY_ROOM(pool->items, pool->n, pool->cap);
	pool->items[pool->n++] = b;
}

void as_search_hear(struct sym_search *s, const struct sym_ground *g, const struct sym_candidate *c,
		    const struct as_damage *damage)
{
	const struct as_place *p = g->place;
	struct sym_pool *pool = &s->pools[p->base];
	struct sym_breed b = { .n_seals = p->n_seals, .parts = 1, .bad = c->problems };
	unsigned worth;

	if (!s->door || p->n_fields)
		return;
	memcpy(b.seals, p->seals, sizeof(b.seals));
	pool->hangs += c->problems & 1u << AS_FSCK_HANGS ? 1 : 0;
	worth = news_of(s, pool);
	pool->news += worth == WORTH_ALL;
	if (worth)
		keep(pool, damage, &b, as_buf_str(&p->name));
}

int as_search_as_it_is(struct sym_search *s, uint32_t base, struct as_err *err)
{
	struct as_damage none = { .base = base };
	uint32_t problems;
	int rc;

	as_buf_addf(&none.words, "%s: as it is", s->setup->bases[base].name);
	rc = s->door->judge(s->door->ctx, &none, NULL, &problems, err);
	if (!rc)
		s->pools[base].news += news_of(s, &s->pools[base]) == WORTH_ALL;
	as_damage_free(&none);
	return rc;
}

/* ---- Combining ------------------------------------------------------------------------------- */

static unsigned draw(struct sym_search *s, size_t n)
{
	return as_choose(as_chooser_choice(s->chooser), (unsigned)n);
}

void as_search_add_seal(struct sym_make *m, uint32_t seal)
{
	unsigned k = 0;

	while (k < m->n_seals && m->seals[k] != seal)
		k++;
	if (seal && k == m->n_seals && k < AS_PLACE_SEALS_MAX)
		m->seals[m->n_seals++] = seal;
}

void as_search_add_words(struct sym_make *m, const char *words)
{
	as_buf_addf(&m->words, "%s%s", m->words.len ? " and " : "", words);
	m->parts++;
}

/* Something that was kept; what is wrong is used twice as often. */
static void add_kept(struct sym_search *s, struct sym_pool *pool, struct sym_make *m)
{
	struct sym_breed *best = &pool->items[draw(s, pool->n)];

	for (unsigned i = 1; i < DRAWS; i++) {
		struct sym_breed *b = &pool->items[draw(s, pool->n)];

		if (b->uses < best->uses)
			best = b;
	}
	best->uses += best->bad ? 1 : 2;
	if (m->parts + best->parts > PARTS_MAX)
		return;
	for (size_t i = 0; i < best->n; i++)
		as_place_set_byte(m->disk, best->bytes[i].off, best->bytes[i].is);
	for (unsigned i = 0; i < best->n_seals; i++)
		as_search_add_seal(m, best->seals[i]);
	as_search_add_words(m, best->words);
	m->parts += best->parts - 1;
}

/* How much of what is put together, each as often as it is here. An edge says something new more
 * often than two answers together do (docs/SCORE.md). */
static const struct way {
	unsigned kept, edges;
} ways[] = { { 2, 0 }, { 3, 0 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 1, 2 },
	     { 0, 2 }, { 0, 1 }, { 0, 1 }, { 0, 1 }, { 0, 1 } };

#define WAYS (sizeof(ways) / sizeof(ways[0]))

/* False: it came out as a disk that was tried, or as none. */
static bool make(struct sym_search *s, struct sym_pool *pool, struct sym_make *m,
		 struct as_damage *d)
{
	const struct way *way = &ways[pool->n ? draw(s, WAYS) : WAYS - 1];
	const struct as_fsck_base *base = &s->setup->bases[m->base];
	const struct as_fields *fields = s->setup->places->of[m->base];
	struct as_err ignored;
	uint64_t hash = 0;

	as_damage_clear(d);
	d->base = m->base;
	for (unsigned i = 0; i < way->kept; i++)
		add_kept(s, pool, m);
	for (unsigned i = 0; i < way->edges; i++)
		as_search_edge(s, pool, m);
	for (unsigned i = 0; fields && i < m->n_seals && s->setup->places->seal; i++)
		d->sealed |= !as_fields_seal(fields, m->disk, m->seals[i], &ignored);
	if (!as_damage_diff(d, base->disk, m->disk))
		return false;
	for (size_t i = 0; i < d->n; i++)
		hash = as_search_mix(hash, d->bytes[i].off << 8 | d->bytes[i].is);
	if (as_table_get(&pool->tried, hash) != AS_TABLE_NONE)
		return false;
	as_table_add(&pool->tried, hash, pool->tried.n);
	if (strncmp(as_buf_str(&m->words), base->name, strlen(base->name)))
		as_buf_addf(&d->words, "%s: ", base->name);
	as_place_say(as_buf_str(&m->words), d);
	return true;
}

/* ---- Judging --------------------------------------------------------------------------------- */

struct saying {
	struct sym_search *s;
	struct sym_pool *pool;
};

/* Whether the first run says what is known well enough. */
static bool is_enough(void *ctx, uint64_t said)
{
	struct saying *x = ctx;
	size_t n = as_table_get(&x->pool->said, said);

	if (n == AS_TABLE_NONE) {
		as_table_add(&x->pool->said, said, 1);
		return false;
	}
	as_table_remove(&x->pool->said, said, n);
	as_table_add(&x->pool->said, said, n + 1);
	return n >= HEARD && draw(x->s, n) >= HEARD;
}

/* Judges what was made, and learns from it. */
static int judge(struct sym_search *s, const struct sym_make *m, const struct as_damage *d,
		 struct as_err *err)
{
	struct sym_pool *pool = &s->pools[m->base];
	struct saying saying = { s, pool };
	struct as_fsck_enough enough = { is_enough, &saying };
	struct sym_breed like = { .n_seals = m->n_seals, .parts = m->parts };
	int64_t start = as_now_us(), took;
	uint32_t problems = 0;
	unsigned worth;
	int rc = s->door->judge(s->door->ctx, d, &enough, &problems, err);

	if (rc)
		return rc;
	s->tallies[AS_SEARCH_CROSSED]++;
	took = as_now_us() - start;
	if (problems & 1u << AS_FSCK_HANGS) {
		pool->hangs++;
		s->hung_us += took;
	}
	worth = news_of(s, pool);
	if (worth == WORTH_ONE && problems)
		worth = WORTH_BAD;
	as_search_learn(s, pool, m, worth, took);
	pool->news += worth >= WORTH_BAD;
	like.bad = problems;
	like.uncovered = worth == WORTH_ALL && !(problems & 1u << AS_FSCK_HANGS);
	memcpy(like.seals, m->seals, sizeof(like.seals));
	if (worth)
		keep(pool, d, &like, as_buf_str(&m->words));
	return 0;
}

/* Counts the code of what was kept, the newest first, as long as there is time for it. */
static int cover(struct sym_search *s, const struct sym_ground *g, struct sym_pool *pool,
		 struct as_err *err)
{
	int rc = 0;

	for (size_t i = pool->n; !rc && i-- > 0;) {
		struct sym_breed *b = &pool->items[i];
		struct as_damage d = { .base = g->place->base, .bytes = b->bytes, .n = b->n };
		int64_t start = as_now_us();

		if (!b->uncovered)
			continue;
		if (s->covered_us * COVER_SHARE > s->crossed_us)
			break;
		b->uncovered = false;
		rc = as_search_cover(s, g->place, &d, err);
		s->covered_us += as_now_us() - start;
	}
	return rc;
}

int as_search_cross(struct sym_search *s, const struct sym_ground *g, int64_t until,
		    struct as_err *err)
{
	uint32_t base = g->place->base;
	struct sym_pool *pool = &s->pools[base];
	struct as_damage damage = { 0 };
	int64_t start = as_now_us();
	unsigned misses = 0, done = 0, hangs = pool->hangs;
	int rc = 0;

	if (!as_search_crosses(s, g))
		return 0;
	as_search_find_spots(s, base);
	while (!rc && misses < MISSES_MAX && (done < LEAST || as_now_us() < until) &&
	       (pool->hangs == hangs ||
		(s->hung_us - HANGS_FREE_US) * HANGS_SHARE < s->crossed_us)) {
		struct sym_make m = { .base = base,
				      .disk = as_disk_snapshot(s->setup->bases[base].disk) };

		as_chooser_next(s->chooser);
		if (make(s, pool, &m, &damage)) {
			misses = 0;
			done++;
			rc = judge(s, &m, &damage, err);
		} else {
			misses++;
		}
		as_disk_free(m.disk);
		as_buf_free(&m.words);
	}
	s->crossed_us += as_now_us() - start;
	as_damage_free(&damage);
	return rc ? rc : cover(s, g, pool, err);
}
