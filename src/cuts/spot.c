/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spot: see spot.h. */
#include "cuts/spot.h"

#include <stdio.h>
#include <stdlib.h>

static void exchange(char *s, char from, char to)
{
	for (; *s; s++)
		if (*s == from)
			*s = to;
}

static void set_index(struct as_crash_spot *spot, uint64_t index)
{
	snprintf(spot->units, sizeof(spot->units), "#%llu", (unsigned long long)index);
}

void as_spot_of_state(const struct as_perm *perm, const struct as_perm_state *state,
		      struct as_crash_spot *spot)
{
	struct as_buf units = { 0 };

	spot->view = state->view;
	spot->cut = state->cut;
	as_perm_print_units(perm, &units);
	if (units.len < sizeof(spot->units)) {
		snprintf(spot->units, sizeof(spot->units), "%s", as_buf_str(&units));
		exchange(spot->units, ',', '+');
	} else {
		set_index(spot, state->index);
	}
	as_buf_free(&units);
}

bool as_spot_of_flight(const struct as_flight_spot *flight, struct as_crash_spot *spot)
{
	spot->view = flight->view;
	spot->cut = flight->cut;
	set_index(spot, flight->index);
	return spot->view && spot->view < AS_VIEWS;
}

bool as_spot_pick(const struct as_crash_spot *spot, struct as_perm *perm, bool all,
		  struct as_perm_state *state)
{
	struct as_crash_spot with_commas = *spot;
	uint64_t index;

	exchange(with_commas.units, '+', ',');
	if (*spot->units != '#')
		return as_perm_pick(perm, (enum as_view)spot->view, spot->cut, with_commas.units,
				    state);
	if (spot->cut >= as_perm_cuts(perm))
		return false;
	index = strtoull(spot->units + 1, NULL, 10);
	as_perm_begin(perm, (enum as_view)spot->view, spot->cut, all);
	while (as_perm_next(perm, state))
		if (state->index == index)
			return true;
	return false;
}
