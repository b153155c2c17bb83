/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * allot: how the time of a round is divided among the cells.
 *
 * Method. The time that is left to all cells is divided evenly among the rounds that are left.
 * In the first round each cell gets its own share: its time divided by the number of rounds.
 * After that, the pot of a round is divided in proportion to what each cell is worth:
 *
 *	worth = priority x (FLOOR + new + growth) / (1 + log2(1 + repeats))
 *
 *	new      1 if its last slice showed a likely cause (a group of kinds) that no cell had
 *	         shown of that type, else 0. Kinds themselves do not count: one mistake can have
 *	         hundreds
 *	growth   the part of its states that the last slice added, from 0 to 1; for a command that
 *	         counts no states, 1 / the number of its slices
 *	repeats  how often a known cause was met since one was new, in that slice, too: who meets
 *	         one cause eight times in a slice is not likely to meet another in the next one
 *	FLOOR    0.1, so that no cell is left for good
 *
 * So time moves from cells that show the same again and again, or nothing, to those that still
 * grow. A cell that has explored all there is, or that was given up, is worth nothing. With
 * `even`, each cell keeps its own share, as in the first round.
 *
 * Invariants
 *   1. Slices depend on the tallies alone, and not on the clock or on which cell was faster.
 *   2. The slices of a round are at most its pot, but for cells that would get less than a second:
 *      they get one, or none in this round, in turns.
 */
#ifndef AS_SWARM_ALLOT_H
#define AS_SWARM_ALLOT_H

#include "swarm/ledger.h"

/* Seconds for each cell in that round (from 1); 0: none. slices has room for all cells. Returns how
 * many cells have a slice. */
size_t as_allot(const struct as_ledger *ledger, uint64_t round, bool even, uint64_t *slices);
/* What a cell is worth now. */
double as_allot_worth(const struct as_swarm_cell *cell, const struct as_swarm_tally *tally);

#endif
