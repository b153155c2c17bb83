/* SPDX-License-Identifier: GPL-2.0-or-later */
/* allot: see allot.h. */
#include "swarm/allot.h"

#include <math.h>
#include <stdlib.h>

#define FLOOR 0.1

static bool is_over(const struct as_swarm_tally *tally)
{
	return tally->complete || tally->given_up;
}

double as_allot_worth(const struct as_swarm_cell *cell, const struct as_swarm_tally *tally)
{
	double growth, worth;

	if (is_over(tally))
		return 0;
	if (!tally->slices)
		return (double)cell->block->priority * (FLOOR + 2);
	if (cell->block->command->event)
		growth = tally->states ? (double)tally->new_states / (double)tally->states : 0;
	else
		growth = 1.0 / (double)tally->slices;
	worth = FLOOR + (tally->new_causes ? 1 : 0) + growth;
	return (double)cell->block->priority * worth / (1 + log2(1 + (double)tally->met_since));
}

static uint64_t left(const struct as_ledger *ledger)
{
	const struct as_campaign *c = ledger->campaign;
	uint64_t all = 0, used = 0;

	for (size_t i = 0; i < c->n_cells; i++) {
		all += as_cell_share(c, &c->cells[i]);
		used += c->work ? ledger->tallies[i].work
				: (uint64_t)ledger->tallies[i].used_us / 1000000;
	}
	return all > used ? all - used : 0;
}

static uint64_t own_share(const struct as_campaign *c, const struct as_swarm_cell *cell)
{
	uint64_t share = as_cell_share(c, cell) / c->rounds;

	return share ? share : 1;
}

/* A command without --for is run once, with all of its time as a limit. */
static bool fixed_slice(const struct as_ledger *ledger, size_t i, uint64_t *slice)
{
	const struct as_campaign *c = ledger->campaign;
	const struct as_swarm_tally *tally = &ledger->tallies[i];

	if (is_over(tally)) {
		*slice = 0;
		return true;
	}
	if (c->cells[i].block->command->timed)
		return false;
	*slice = tally->slices && tally->status <= 1 ? 0 : as_cell_share(c, &c->cells[i]);
	return true;
}

size_t as_allot(const struct as_ledger *ledger, uint64_t round, bool even, uint64_t *slices)
{
	const struct as_campaign *c = ledger->campaign;
	uint64_t pot = round > c->rounds ? 0 : left(ledger) / (c->rounds - round + 1);
	double all = 0;
	size_t n = 0;

	for (size_t i = 0; i < c->n_cells; i++)
		if (!fixed_slice(ledger, i, &slices[i]))
			all += as_allot_worth(&c->cells[i], &ledger->tallies[i]);
	for (size_t i = 0; i < c->n_cells; i++) {
		const struct as_swarm_cell *cell = &c->cells[i];
		double share;

		if (fixed_slice(ledger, i, &slices[i])) {
			n += slices[i] > 0;
			continue;
		}
		if (round == 1 || even) {
			slices[i] = round > c->rounds ? 0 : own_share(c, cell);
		} else {
			share = (double)pot * as_allot_worth(cell, &ledger->tallies[i]) / all;
			slices[i] = (uint64_t)share;
			/* In turns: the fraction decides in how many of the rounds. */
			if (!slices[i] && (double)((round + i) % 8) < share * 8)
				slices[i] = 1;
		}
		n += slices[i] > 0;
	}
	return n;
}
