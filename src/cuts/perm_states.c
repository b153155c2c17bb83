/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perm_states: which subsets of a cut's units are tried; see perm.h. */
#include "cuts/perm_priv.h"

#include <stdlib.h>

/* ---- The states of a cut --------------------------------------------------------------------- */

/* From the sectors involved, so that the trials are the same every time. */
static uint64_t seed_of(const struct as_perm *p)
{
	uint64_t seed = p->n_units;

	for (size_t u = 0; u < p->n_units; u++)
		seed = as_mix64(seed ^ p->units[u].off) + p->units[u].len;
	return seed;
}

static bool is_torn(const struct as_perm *p, enum as_view view, size_t k)
{
	return (view == AS_VIEW_SYNC_LEFT || view == AS_VIEW_SYNC_SECTORS) && k &&
	       !p->cuts[k].flushed;
}

/* Subsets with some of the last units only, unless all count. */
static uint64_t count_subsets(const struct as_perm *p, size_t n, size_t last, bool all)
{
	if (n <= p->options.t)
		return ((uint64_t)1 << n) - (all ? 0 : (uint64_t)1 << (n - last));
	return (all ? n + 1 : last) + (n - 1) + p->options.trials;
}

uint64_t as_perm_count(const struct as_perm *p, enum as_view view, size_t k, bool all)
{
	const struct as_perm_window *cut = &p->cuts[k];
	size_t n, last;

	as_assert(k < p->n_cuts && view >= 1 && view < AS_VIEWS);
	if (is_torn(p, view, k)) {
		n = p->units_at[cut->end] - p->units_at[cut->end - 1];
		return view == AS_VIEW_SYNC_LEFT ? n : count_subsets(p, n, n, false);
	}
	if (view == AS_VIEW_SYNC_LEFT || view == AS_VIEW_SYNC_SECTORS)
		return 0;
	if (k && cut->flushed && !all)
		return 0;
	if (view == AS_VIEW_SYNC_ATOMIC || cut->end == cut->first)
		return 1;
	n = cut->n_pending;
	last = 1;
	if (view == AS_VIEW_SECTORS) {
		n = cut->n_sectors;
		last = p->units_at[cut->end] - p->units_at[cut->end - 1];
	}
	return count_subsets(p, n, last, all);
}

unsigned as_perm_rounds(uint64_t n)
{
	return n > 1 ? 64 - (unsigned)__builtin_clzll(n - 1) : 0;
}

unsigned as_perm_round(uint64_t i, uint64_t n)
{
	return i ? as_perm_rounds(n) - (unsigned)__builtin_ctzll(i) : 0;
}

uint64_t as_perm_passed(const struct as_perm *p)
{
	return p->index;
}

void as_perm_begin_part(struct as_perm *p, enum as_view view, size_t k, bool all, unsigned part,
			uint64_t count)
{
	as_perm_begin(p, view, k, all);
	p->part = part;
	p->count = count;
	p->turned = p->stage != STAGE_SEVERAL || view == AS_VIEW_SYNC_LEFT ? 0
		    : as_perm_is_synchronous(view)			   ? p->n_units
		    : all						   ? p->n_units + 1
			  : p->n_units - p->last_first;
}

void as_perm_begin(struct as_perm *p, enum as_view view, size_t k, bool all)
{
	as_assert(k < p->n_cuts && view >= 1 && view < AS_VIEWS);
	as_perm_make_units(p, view, k);
	p->all = all;
	p->step = p->index = p->count = 0;
	if (view == AS_VIEW_SYNC_LEFT)
		p->stage = p->n_units ? STAGE_SEVERAL : STAGE_END;
	else if (view == AS_VIEW_SYNC_SECTORS && !p->n_units)
		p->stage = STAGE_END;
	else
		p->stage = p->n_units <= p->options.t ? STAGE_MASKS : STAGE_SEVERAL;
}

/* Whether the subset was not a state of an earlier cut. */
static bool is_new(const struct as_perm *p)
{
	if (as_perm_is_synchronous(p->view) && p->n_units) {
		/* Without any part of the last write it is a state of the cut before. */
		for (size_t u = 0; u < p->n_units; u++)
			if (p->keep[u])
				return true;
		return false;
	}
	if (p->all)
		return true;
	if (!p->cut || p->cuts[p->cut].flushed)
		return !p->cut;
	if (!p->n_units)
		return true;
	for (size_t u = p->last_first; u < p->n_units; u++)
		if (p->keep[u])
			return true;
	return false;
}

static bool next_mask(struct as_perm *p)
{
	uint64_t mask = p->step++;

	if (mask >> p->n_units) {
		p->stage = STAGE_END;
		return false;
	}
	for (size_t u = 0; u < p->n_units; u++)
		p->keep[u] = mask >> u & 1;
	return true;
}

/* Steps 0..n are the prefixes, from the empty to the full one. Then come all but one unit; without
 * the last unit it is a prefix. */
static bool next_several(struct as_perm *p)
{
	uint64_t n = p->n_units, step = p->step++;

	if (step > n && p->view == AS_VIEW_SYNC_LEFT) {
		p->stage = STAGE_END;
		return false;
	}
	if (step >= 2 * n) {
		p->stage = STAGE_TRIALS;
		p->step = 0;
		as_chooser_free(p->chooser);
		p->chooser = as_chooser_seeded(seed_of(p));
		return false;
	}
	for (size_t u = 0; u < n; u++)
		p->keep[u] = step <= n ? u < step : u != step - n - 1;
	return true;
}

/* A random subset of a random size. */
static bool next_trial(struct as_perm *p)
{
	struct as_choice *choice = as_chooser_choice(p->chooser);
	size_t n = p->n_units, left;

	if (p->step++ >= p->options.trials) {
		p->stage = STAGE_END;
		return false;
	}
	left = 1 + as_choose(choice, (unsigned)n - 1);
	for (size_t u = 0; u < n; u++) {
		p->keep[u] = as_choose(choice, (unsigned)(n - u)) < left;
		left -= p->keep[u];
	}
	return true;
}

/* Prefixes come last: most are states of an easier view. So all but the first unit is the first
 * state: it shows a flush that is missing. */
static bool is_wanted(const struct as_perm *p)
{
	uint64_t i = p->index < p->turned ? p->index + p->count : p->index;

	return !p->count || as_perm_round(i - p->turned, p->count) == p->part;
}

/* Passes over a step whose state is not wanted: it takes long to make one of thousands of units. */
static bool pass_several(struct as_perm *p)
{
	uint64_t n = p->n_units, step = p->step;
	bool new = step > n || p->all || step > p->last_first;

	if (!p->count || step >= 2 * n || (step > n && p->view == AS_VIEW_SYNC_LEFT))
		return false;
	if (as_perm_is_synchronous(p->view))
		new = step > 0;
	if (new &&is_wanted(p))
		return false;
	p->step++;
	p->index += new;
	return true;
}

bool as_perm_next(struct as_perm *p, struct as_perm_state *state)
{
	while (p->stage != STAGE_END) {
		bool made;

		if (p->stage == STAGE_SEVERAL && pass_several(p))
			continue;
		made = p->stage == STAGE_MASKS	   ? next_mask(p)
		       : p->stage == STAGE_SEVERAL ? next_several(p)
						   : next_trial(p);

		if (!made || !is_new(p))
			continue;
		if (!is_wanted(p)) {
			p->index++;
			continue;
		}
		as_perm_fill_state(p, state);
		p->index++;
		return true;
	}
	return false;
}
