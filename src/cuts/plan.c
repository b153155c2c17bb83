/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plan: see plan.h. A turn is a place in nested loops, which as_crash_plan_next() moves on. */
#include "cuts/plan.h"

#include "cuts/spot.h"
#include "recover/recover.h"

#include <stdlib.h>

struct as_crash_plan {
	struct as_crash_plan_of of;
	size_t *order, n; /* cuts, in the order of a round */
	unsigned rounds;
	bool *early; /* by cut: view 1 comes in round 0 */
	unsigned round;
	size_t at;
	unsigned view;
	uint64_t given; /* turns */
};

/* ---- The order of cuts ----------------------------------------------------------------------- */

/* Just before or after something was promised. */
static bool is_promised(const struct as_crash_plan *p, size_t k)
{
	const struct as_crash_plan_of *of = &p->of;

	return (k && of->all(of->ctx, AS_VIEW_SYNC_ATOMIC, k)) ||
	       (k + 1 < p->n && of->all(of->ctx, AS_VIEW_SYNC_ATOMIC, k + 1));
}

/* A program of flash has many steps, and what lies between two programs would be lost among them:
 * so both are halved on their own, and steps are a round later: a third of the looks is for them.
 * Both cuts of a write, issued and stable, are met together. */
static void rank_flash(const struct as_crash_plan *p, unsigned *rank)
{
	size_t n[2] = { 0 }, nth[2] = { 0 };

	for (size_t k = 0; k < p->n; k++) {
		struct as_perm_cut cut = as_perm_cut(p->of.perm, k);

		n[cut.step] += !cut.in_flight;
	}
	for (size_t k = 0; k < p->n; k++) {
		struct as_perm_cut cut = as_perm_cut(p->of.perm, k);

		rank[k] = 1 + cut.step + as_perm_round(nth[cut.step], n[cut.step]);
		nth[cut.step] += !cut.in_flight;
	}
}

static bool has_steps(const struct as_crash_plan *p)
{
	for (size_t k = 0; k < p->n; k++)
		if (as_perm_cut(p->of.perm, k).step)
			return true;
	return false;
}

/* Cuts with the same rank stay in order. */
static void sort_cuts(struct as_crash_plan *p)
{
	unsigned ranks = as_perm_rounds(p->n) + 3, *rank = as_xcalloc(p->n, sizeof(*rank));
	uint64_t first = p->of.first ? p->of.first : p->of.limit / 2;
	size_t n = 0;

	for (size_t k = 0; k < p->n; k++)
		rank[k] = 1 + as_perm_round(k, p->n);
	if (has_steps(p))
		rank_flash(p, rank);
	for (size_t k = 0; k < p->n; k++)
		if (is_promised(p, k))
			rank[k] = 0;
	for (unsigned r = 0; r < ranks; r++)
		for (size_t k = 0; k < p->n; k++)
			if (rank[k] == r)
				p->order[n++] = k;
	free(rank);
	as_assert(n == p->n);
	p->early = as_xcalloc(p->n, sizeof(*p->early));
	for (size_t i = 0; i < p->n && i < first / p->of.cost; i++)
		p->early[p->order[i]] = true;
}

static uint64_t count_of(const struct as_crash_plan *p, enum as_view view, size_t k)
{
	const struct as_crash_plan_of *of = &p->of;

	if (!(of->views >> view & 1) || (of->skip && of->skip(of->ctx, view, k)))
		return 0;
	return as_perm_count(of->perm, view, k, of->all(of->ctx, view, k));
}

struct as_crash_plan *as_crash_plan_new(const struct as_crash_plan_of *of)
{
	struct as_crash_plan *p = as_xcalloc(1, sizeof(*p));

	p->of = *of;
	p->n = as_perm_cuts(of->perm);
	p->order = as_xcalloc(p->n, sizeof(*p->order));
	for (size_t k = 0; k < p->n; k++)
		p->order[k] = k;
	p->view = 1;
	if (!of->limit)
		return p;
	sort_cuts(p);
	for (unsigned v = 1; v < AS_VIEWS; v++)
		for (size_t k = 0; k < p->n; k++) {
			unsigned r = as_perm_rounds(count_of(p, (enum as_view)v, k)) + 2;

			p->rounds = r > p->rounds ? r : p->rounds;
		}
	return p;
}

void as_crash_plan_free(struct as_crash_plan *p)
{
	if (!p)
		return;
	free(p->order);
	free(p->early);
	free(p);
}

uint64_t as_crash_plan_count(const struct as_crash_plan *p)
{
	uint64_t sum = 0;

	for (unsigned v = 1; v < AS_VIEWS; v++)
		for (size_t k = 0; k < p->n; k++)
			sum += count_of(p, (enum as_view)v, k);
	return sum;
}

/* ---- Turns ----------------------------------------------------------------------------------- */

static bool fill(const struct as_crash_plan *p, enum as_view view, size_t k,
		 struct as_crash_turn *turn)
{
	uint64_t count = count_of(p, view, k);

	if (!count)
		return false;
	*turn = (struct as_crash_turn){ .number = p->given + 1,
					.view = view,
					.cut = k,
					.all = p->of.all(p->of.ctx, view, k),
					.count = count,
					.last = true };
	return true;
}

/* Views, and in each the cuts in order. */
static bool next_plain(struct as_crash_plan *p, struct as_crash_turn *turn)
{
	for (; p->view < AS_VIEWS; p->view++, p->at = 0)
		while (p->at < p->n)
			if (fill(p, (enum as_view)p->view, p->at++, turn))
				return true;
	return false;
}

/* Whether a view has states at a cut in this round. */
static bool fill_some(const struct as_crash_plan *p, enum as_view view, size_t k,
		      struct as_crash_turn *turn)
{
	bool own = view == AS_VIEW_SYNC_ATOMIC;

	if (own ? p->round != !p->early[k] : !p->round)
		return false;
	if (!fill(p, view, k, turn))
		return false;
	if (own)
		return true;
	turn->some = true;
	turn->part = p->round - 1;
	turn->last = turn->part == as_perm_rounds(turn->count);
	return turn->part <= as_perm_rounds(turn->count);
}

static bool next_some(struct as_crash_plan *p, struct as_crash_turn *turn)
{
	for (; p->round < p->rounds; p->round++, p->at = 0)
		for (; p->at < p->n; p->at++, p->view = 1)
			while (p->view < AS_VIEWS) {
				/* Round 0 keeps the order of the record. */
				size_t k = p->round ? p->order[p->at] : p->at;

				if (fill_some(p, (enum as_view)p->view++, k, turn))
					return true;
			}
	return false;
}

bool as_crash_plan_next(struct as_crash_plan *p, struct as_crash_turn *turn)
{
	bool more = p->of.limit ? next_some(p, turn) : next_plain(p, turn);

	p->given += more;
	return more;
}

void as_crash_turn_begin(const struct as_crash_turn *turn, struct as_perm *perm)
{
	if (turn->some)
		as_perm_begin_part(perm, turn->view, turn->cut, turn->all, turn->part, turn->count);
	else
		as_perm_begin(perm, turn->view, turn->cut, turn->all);
}

uint64_t as_crash_turn_missing(const struct as_crash_turn *turn, const struct as_perm *perm)
{
	return turn->last ? turn->count - as_perm_passed(perm) : 0;
}

uint32_t as_crash_ways(uint32_t there, uint32_t asked)
{
	uint32_t usual = there & (1u << AS_WAY_MOUNT | 1u << AS_WAY_FULL | 1u << AS_WAY_COMMIT);
	uint32_t replays = 1u << (there >> AS_WAY_MOUNT & 1 ? AS_WAY_MOUNT : AS_WAY_DEFAULT);

	if (asked)
		return there & asked;
	usual |= there & replays;
	return usual ? usual : there;
}

uint32_t as_crash_ways_left(uint32_t ways, bool replayed, bool unsure)
{
	if (unsure && ways >> AS_WAY_FULL & 1)
		return 1u << AS_WAY_FULL;
	return replayed ? ways & ~(1u << AS_WAY_COMMIT) : ways;
}

unsigned as_crash_cost(uint32_t ways)
{
	unsigned recoveries = (unsigned)__builtin_popcount(ways & ~(1u << AS_WAY_COMMIT));

	return recoveries * AS_COST_RECOVERY + (ways >> AS_WAY_COMMIT & 1) * AS_COST_CHECK;
}

/* ---- Power cuts during recovery -------------------------------------------------------------- */

#define AGAIN_PART 3u
#define AGAIN_SHARE 8u
#define AGAIN_LEAST (uint64_t)(8 * AS_COST_RECOVERY)

uint64_t as_crash_plan_again_part(uint64_t limit)
{
	return limit / AGAIN_PART;
}

uint64_t as_crash_plan_again(uint64_t all, uint64_t spent, uint32_t ways,
			     const struct as_perm *perm, const struct as_flight_spot *state)
{
	uint64_t share = spent < all ? (all - spent) / AGAIN_SHARE : 0;
	uint64_t shares = all / AGAIN_LEAST / (unsigned)__builtin_popcount(ways);
	size_t cuts = as_perm_cuts(perm);

	if (spent >= all)
		return 0;
	if (state->view == AS_VIEW_SYNC_ATOMIC && shares < cuts &&
	    as_perm_round(state->cut, cuts) > as_perm_rounds(shares + 1))
		return 0;
	return share > AGAIN_LEAST ? share : AGAIN_LEAST;
}
