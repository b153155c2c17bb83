/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search_turn: who comes next, and what a turn consists of: paths of one place, and then
 * combinations on its disk (search_cross.c).
 *
 * Method. Each disk has a short turn first. Then the disk comes next whose last turns had the most
 * news for their time: things that a checker said of no disk before, and new code. On a disk, the
 * places take turns; one that found new code comes sooner.
 */
#include "sym/search_priv.h"

#include "os/spawn.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TURN_US 400000
#define TURN_MANY_US 200000 /* where there are several disks */
#define CROSS_TIMES 2 /* what paths of a turn took, for combining their answers */
#define CROSS_MANY_TIMES 4 /* where there are several disks */
#define FADES 0.75 /* what earlier turns of a disk gave counts less each time */
#define UNIT_S 0.5 /* of time on a disk */
#define LATER ((uint64_t)1 << 62)
#define WAIT_US 10000 /* for the leader, when nothing is left to do */

/* What the next turn on a disk promises: news of its last turns for the time that they took. Each
 * disk has a turn before any has another one. */
static double promise(const struct sym_search *s, uint32_t base)
{
	const struct sym_pool *pool = &s->pools[base];

	return s->visits[base] ? (pool->gain + 1) / (pool->spent + UNIT_S) : 1e9;
}

static bool has_paths(const struct sym_ground *g)
{
	return g->n && !g->cut;
}

/* Whether what it has left can wait for all others. */
static bool is_last(const struct sym_ground *g)
{
	return g->heap[0].class == SYM_CLASS_LAST;
}

/* Of the places of a disk, the one that comes next; NULL: none has anything left. */
static struct sym_ground *next_of(const struct sym_pool *pool)
{
	struct sym_ground *best = NULL;
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < pool->n_grounds; i++) {
		struct sym_ground *g = pool->grounds[i];
		/* New code is worth two turns. */
		uint64_t cost = 4 * g->turns + (g->gain ? 0 : 8) + (g->place->later ? LATER : 0);

		if (!has_paths(g))
			continue;
		cost += is_last(g) ? 2 * LATER : 0;
		if (best && cost >= least)
			continue;
		best = g;
		least = cost;
	}
	return best;
}

/* Whether any place has a path left that need not wait for others; *any: a path at all. */
static bool has_early(const struct sym_search *s, bool *any)
{
	*any = false;
	for (size_t i = 0; i < s->n; i++) {
		if (!has_paths(&s->grounds[i]))
			continue;
		*any = true;
		if (!s->grounds[i].place->later && !is_last(&s->grounds[i]))
			return true;
	}
	return false;
}

/*
 * The place whose turn it is; NULL: all are done. A disk whose paths are all done, or are of places
 * that wait for others, still has its turns for combining.
 */
static struct sym_ground *choose(struct sym_search *s)
{
	struct sym_ground *best = NULL;
	double most = 0;
	bool any, early = has_early(s, &any);

	for (uint32_t i = 0; any && i < s->setup->places->n_of; i++) {
		struct sym_ground *g = s->pools[i].n_grounds ? next_of(&s->pools[i]) : NULL;
		double p = promise(s, i);

		if (g && g->place->later && early && !as_search_crosses(s, g))
			g = NULL;
		if (!g && s->pools[i].n_grounds && as_search_crosses(s, s->pools[i].grounds[0]))
			g = s->pools[i].grounds[0];
		if (!g || (best && (p < most ||
				    (p == most && s->visits[i] >= s->visits[best->place->base]))))
			continue;
		best = g;
		most = p;
	}
	if (best)
		s->visits[best->place->base]++;
	return best;
}

/* For some time after the paths of the turn, which took `took`. Where there are several disks, one
 * whose paths are done has as much as others. */
static int cross(struct sym_search *s, const struct sym_ground *g, int64_t took, bool first,
		 struct as_err *err)
{
	int64_t now = as_now_us(), times = CROSS_TIMES;
	int rc;

	if (s->setup->places->n_of > 1) {
		times = first ? 0 : CROSS_MANY_TIMES;
		took = TURN_MANY_US;
	}
	memcpy(s->note.tallies, s->tallies, sizeof(s->note.tallies));
	rc = as_search_cross(s, g, now + times * (took < TURN_US ? took : TURN_US), err);
	as_search_count_live(s);
	return rc;
}

/* What the turn gave, for who comes next. */
static void sum_up(struct sym_search *s, const struct sym_ground *g, int64_t start)
{
	struct sym_pool *pool = &s->pools[g->place->base];
	double gain = g->gain ? 1 : 0;

	for (uint64_t news = pool->news; news; news /= 2)
		gain++;
	pool->gain = FADES * pool->gain + gain;
	pool->spent = FADES * pool->spent + (double)(as_now_us() - start) / 1e6;
}

static int turn(void *own, const struct as_fsck_door *door, bool *more,
		uint64_t tallies[AS_FSCK_TALLIES], struct as_err *err)
{
	struct sym_search *s = own;
	struct sym_ground *g = choose(s);
	struct sym_candidate c;
	int64_t start;
	bool first, many;
	int rc = 0;

	/* When the leader has told what was found up to here, it may be remembered as done. */
	if (door->told) {
		rc = as_keep_write(s->setup->keep, s->worker, &s->ready, err);
		as_buf_clear(&s->ready);
	}
	tallies[AS_SEARCH_CUT] += s->cut;
	__atomic_fetch_add(&s->setup->shared->tallies[AS_SEARCH_CUT], s->cut, __ATOMIC_RELAXED);
	s->cut = 0;
	*more = g || !door->told;
	if (!g && !door->told)
		usleep(WAIT_US);
	if (!g || rc)
		return rc;
	s->tallies = tallies;
	s->door = door;
	start = as_now_us();
	/* The first turn of a disk among many is short, so that each has one soon. */
	many = s->setup->places->n_of > 1;
	first = many && s->visits[g->place->base] == 1;
	s->pools[g->place->base].news = 0;
	g->turns++;
	g->gain = 0;
	if (s->visits[g->place->base] == 1 && s->setup->suite)
		rc = as_search_as_it_is(s, g->place->base, err);
	s->until = as_now_us() + (first ? 1 : many ? TURN_MANY_US : TURN_US);
	for (bool any = false;
	     !rc && !g->cut && (!any || as_now_us() < s->until) && as_heap_pop(s, g, &c);) {
		any = true;
		rc = as_search_explore(s, g, &c, err);
		free(c.values);
	}
	if (!rc)
		rc = cross(s, g, as_now_us() - start, first, err);
	sum_up(s, g, start);
	s->tallies = NULL;
	s->door = NULL;
	return rc ? rc : as_solver_recorded(s->solver, err);
}

const struct as_fsck_source as_search_source = {
	.open = as_search_open,
	.turn = turn,
	.close = as_search_close,
};
