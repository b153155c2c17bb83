/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plan: in which order the crash states of a record are looked at, and what may be spent on them.
 *
 * Without a limit, views come one after the other, and cuts in order. With a limit, states come in
 * the order of how much they add to what was looked at before:
 *
 *   1. Round 0 is view 1 at every cut, in order: what a disk leaves that keeps the order of writes.
 *   2. In round 1, each cut gives one state of each other view. Each later round gives twice as
 *      many, halfway between those of the rounds before. In the end all states have been given.
 *   3. In these rounds, the cuts at which something is promised come first, and then the others:
 *      the first, the middle one, those in the middle of the halves, and so on. Cuts within a
 *      program of flash come later than those between programs.
 *   4. If view 1 alone would take more than half of the limit, round 0 has fewer cuts, in the order
 *      of 3; the others are a part of round 1.
 *
 * The order depends on the record and the limit only. So the same seed gives the same states, and a
 * process that resumes passes over what was given before.
 */
#ifndef AS_CUTS_PLAN_H
#define AS_CUTS_PLAN_H

#include "cuts/perm.h"

/* What is spent is counted in parts of a recovery. */
#define AS_COST_LOOK 1u /* making a state, and finding that it need not be recovered */
#define AS_COST_MEMO 4u /* an answer from the memo */
#define AS_COST_CHECK 16u /* a checker's run alone */
#define AS_COST_RECOVERY 64u

/* The ways that were asked for and exist; by default (0), those that have least in common: one that
 * replays the log, one that looks at everything, and the last commit. */
uint32_t as_crash_ways(uint32_t there, uint32_t asked);
/* Those of them that can be judged. replayed: the last commit may be older than what was promised.
 * unsure: the disk may say that it is clean and not be (AS_CRASH_MARK_UNSURE), so only the checker
 * that looks at everything says something, if there is one. */
uint32_t as_crash_ways_left(uint32_t ways, bool replayed, bool unsure);
/* Of recovering a disk by all these ways (1 << enum as_way). A mount that only reads is neither
 * checked nor written to afterwards. */
unsigned as_crash_cost(uint32_t ways);

/* What the plan is of. */
struct as_crash_plan_of {
	const struct as_perm *perm;
	uint32_t views;
	uint64_t limit; /* cost; 0: none */
	unsigned cost; /* of a state of view 1, as expected */
	uint64_t first; /* what of the limit round 0 may take; 0: half */
	/* Whether states without the last write count (as_perm_begin()); whether the cut is left
	 * out. */
	bool (*all)(void *ctx, enum as_view view, size_t cut);
	bool (*skip)(void *ctx, enum as_view view, size_t cut); /* NULL: no cut is */
	void *ctx;
};

/* Some states of a view at a cut. */
struct as_crash_turn {
	uint64_t number; /* from 1 */
	enum as_view view;
	size_t cut;
	bool all, some;
	unsigned part; /* with `some`: of the states, as for as_perm_begin_part() */
	uint64_t count; /* states of this view at this cut, at most */
	bool last; /* no later turn has more of them */
};

struct as_crash_plan;

struct as_crash_plan *as_crash_plan_new(const struct as_crash_plan_of *of);
void as_crash_plan_free(struct as_crash_plan *plan); /* takes NULL */
/* All states, at most: see as_perm_count(). */
uint64_t as_crash_plan_count(const struct as_crash_plan *plan);
/* False: there are no more turns. */
bool as_crash_plan_next(struct as_crash_plan *plan, struct as_crash_turn *turn);

/* Begins with the states of a turn; as_perm_next() gives them. */
void as_crash_turn_begin(const struct as_crash_turn *turn, struct as_perm *perm);
/* After the last of them: how many fewer states the cut has than were counted. */
uint64_t as_crash_turn_missing(const struct as_crash_turn *turn, const struct as_perm *perm);

/* What of a limit is for power cuts during recovery, unless a share says it. */
uint64_t as_crash_plan_again_part(uint64_t limit);
/* What may be spent on power cuts during the recovery of a state; 0: nothing. `all` is for all
 * recoveries. Each recovery may take an eighth of what is left of that, so that many get
 * something. Where this is not enough for every cut of view 1, cuts that lie far from each other
 * get it. */
struct as_flight_spot;
uint64_t as_crash_plan_again(uint64_t all, uint64_t spent_again, uint32_t ways,
			     const struct as_perm *perm, const struct as_flight_spot *state);

#endif
