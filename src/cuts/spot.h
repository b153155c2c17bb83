/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spot: one crash state as a person or an option names it: view, cut, and which units are on the
 * disk. `units` is as perm.h prints them, with '+' for ',', because a comma ends an option; where
 * that is too long it is "#INDEX".
 */
#ifndef AS_CUTS_SPOT_H
#define AS_CUTS_SPOT_H

#include "cuts/perm.h"

#define AS_CRASH_UNITS_MAX 72

struct as_crash_spot {
	unsigned view; /* 0: none */
	size_t cut;
	char units[AS_CRASH_UNITS_MAX];
};

/* The same in numbers, in shared memory. */
struct as_flight_spot {
	volatile unsigned view; /* 0: none */
	volatile size_t cut;
	volatile uint64_t index;
};

/* The spot of the state that the perm is at. */
void as_spot_of_state(const struct as_perm *perm, const struct as_perm_state *state,
		      struct as_crash_spot *spot);
/* False: there is none. */
bool as_spot_of_flight(const struct as_flight_spot *flight, struct as_crash_spot *spot);
/* Makes the perm's state that of the spot; all: as for as_perm_begin(). False: there is no such
 * state. */
bool as_spot_pick(const struct as_crash_spot *spot, struct as_perm *perm, bool all,
		  struct as_perm_state *state);

#endif
