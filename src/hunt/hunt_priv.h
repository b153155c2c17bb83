/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hunt_priv: what the parts of the process that leads a hunt share. hunt.c and merge.c include
 * it.
 */
#ifndef AS_HUNT_HUNT_PRIV_H
#define AS_HUNT_HUNT_PRIV_H

#include "hunt/worker.h"

struct as_hunt_leader {
	const struct as_hunt *hunt;
	struct as_hunt_state *state;
	struct as_hunt_shared *shared;
	struct as_crew *crew; /* jobs by their numbers, in turns; and the reducer */
	bool *tried; /* by signature: its reduction was begun */
	size_t tried_cap;
	int64_t used_before_us, start_us, saved_us;
	bool changed; /* since the last save */
	bool stopping;
	bool only_reduces; /* the hunt was over when we began */
};

/* When it is known which jobs are over already. */
void as_leader_begin(struct as_hunt_leader *l);
/* Merges the messages whose turn it is into the state; with `rest`, all others, too. */
AS_MUST_CHECK int as_leader_merge(struct as_hunt_leader *l, bool rest, struct as_err *err);
AS_MUST_CHECK int as_leader_reduced(struct as_hunt_leader *l, const char *text, struct as_err *err);

#endif
