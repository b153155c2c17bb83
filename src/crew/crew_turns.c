/* SPDX-License-Identifier: GPL-2.0-or-later */
/* crew_turns: what mates say, in an order that does not depend on who was faster (crew.h). All of
 * them are heard before a message is taken, so that none waits for the turn of another. */
#include "crew/crew_priv.h"

#include <stdlib.h>

void as_crew_in_turns(struct as_crew *c, const struct as_crew_lanes *lanes)
{
	as_assert(!c->turns && (lanes->of || lanes->n <= c->n));
	c->lanes = *lanes;
	c->turns = as_turns_new(lanes->n);
}

void as_crew_turns_free(struct as_crew *c)
{
	as_turns_free(c->turns);
	free(c->taken);
}

void as_crew_set_turn(struct as_crew *c, size_t lane, uint64_t turn)
{
	as_turns_set(c->turns, lane, turn);
	if (turn == AS_CREW_NO_TURN)
		as_turns_end(c->turns, lane);
}

void as_crew_recall(struct as_crew *c, size_t lane, const void *data, size_t len)
{
	as_turns_drop(c->turns, lane);
	as_turns_put(c->turns, lane, data, len);
}

bool as_crew_waits(const struct as_crew *c, size_t lane)
{
	return as_turns_has(c->turns, lane);
}

static int hear(struct as_crew *c, unsigned seat, struct as_err *err)
{
	size_t lane = seat, len;
	const char *data;
	int rc = 0;

	while (!rc && (data = as_crew_next(c, seat, &len))) {
		if (c->lanes.of)
			rc = c->lanes.of(c->lanes.ctx, data, len, &lane, err);
		if (!rc)
			as_turns_put(c->turns, lane, data, len);
	}
	return rc;
}

int as_crew_take(struct as_crew *c, bool rest, size_t *lane, const char **data, size_t *len,
		 struct as_err *err)
{
	unsigned seats = c->lanes.of ? c->n : (unsigned)c->lanes.n;
	int rc = 0;

	*data = NULL;
	for (unsigned i = 0; i < seats && !rc; i++)
		rc = hear(c, i, err);
	if (rc || !as_turns_next(c->turns, rest, lane))
		return rc;
	free(c->taken);
	*data = c->taken = as_turns_take(c->turns, *lane, len);
	return 0;
}
