/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hunt_priv: what the parts of the process that leads a hunt share. hunt.c and merge.c include
 * it.
 */
#ifndef AS_HUNT_HUNT_PRIV_H
#define AS_HUNT_HUNT_PRIV_H

#include "hunt/worker.h"

/* What a job said and is not taken into the state yet. */
struct as_hunt_lines {
	char **lines;
	size_t n, cap;
	bool over; /* the last of them is the job's last */
};

struct as_hunt_leader {
	const struct as_hunt *hunt;
	struct as_hunt_state *state;
	struct as_hunt_shared *shared;
	struct as_worker *jobs, reducer;
	struct as_hunt_lines *queues; /* by job */
	bool *tried; /* by signature: its reduction was begun */
	size_t tried_cap;
	int64_t used_before_us, start_us, saved_us;
	bool changed; /* since the last save */
	bool stopping;
	bool only_reduces; /* the hunt was over when we began */
};

/* Takes the line over. */
AS_MUST_CHECK int as_leading_queue(struct as_hunt_leader *l, size_t job, char *line,
				   struct as_err *err);
/* Takes what has its turn into the state; with `rest`, also what would have to wait. */
AS_MUST_CHECK int as_leading_merge(struct as_hunt_leader *l, bool rest, struct as_err *err);
AS_MUST_CHECK int as_leading_reduced(struct as_hunt_leader *l, char *line, struct as_err *err);
void as_leading_free(struct as_hunt_leader *l); /* the queues */

#endif
