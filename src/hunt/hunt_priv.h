/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hunt_priv: what the parts of the process that leads a hunt share. hunt.c and merge.c include
 * it.
 */
#ifndef AS_HUNT_HUNT_PRIV_H
#define AS_HUNT_HUNT_PRIV_H

#include "hunt/worker.h"

/* Lines of a job that are not merged into the state yet. */
struct as_hunt_lines {
	char **lines;
	size_t n, cap;
	bool over; /* the last of them is the last of the job */
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

/* Takes ownership of the line. */
AS_MUST_CHECK int as_leader_queue(struct as_hunt_leader *l, size_t job, char *line,
				  struct as_err *err);
/* Merges the lines whose turn it is into the state; with `rest`, all others, too. */
AS_MUST_CHECK int as_leader_merge(struct as_hunt_leader *l, bool rest, struct as_err *err);
AS_MUST_CHECK int as_leader_reduced(struct as_hunt_leader *l, char *line, struct as_err *err);
void as_leader_free(struct as_hunt_leader *l); /* the queues */

#endif
