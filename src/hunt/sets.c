/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sets: see sets.h. */
#include "hunt/sets.h"

#include "hunt/worker.h"

#include <string.h>

/* Workloads on one set before the next comes, in whole batches: a disk has to be made and a
 * box to be started for each. Small batches are of workloads that take long. Where a set costs
 * nothing it is one batch, so that a short hunt comes to every set. */
#define STAY 64
#define STAY_LONG 8
#define BATCH_LONG 8
#define SMALL_ONE_IN 4
#define SMALL_TURN 1

size_t as_sets_at(const struct as_hunt *hunt, const struct as_hunt_state *state, unsigned job,
		  uint64_t position)
{
	uint64_t batch = as_worker_batch(hunt), stay = batch < BATCH_LONG ? STAY_LONG : STAY;
	uint64_t turn = position / (hunt->cheap_sets ? batch : (stay + batch - 1) / batch * batch);

	if (state->n_sets < 2 || !(turn % 2))
		return 0;
	return 1 + (turn / 2 * state->n_jobs + job) % (state->n_sets - 1);
}

uint64_t as_sets_bytes(const struct as_hunt *hunt, uint64_t position)
{
	if (!hunt->small_bytes || position / as_worker_batch(hunt) % SMALL_ONE_IN != SMALL_TURN)
		return hunt->run.size_bytes;
	return hunt->small_bytes;
}

size_t as_sets_find(const struct as_hunt_state *state, const char *target)
{
	for (size_t i = 1; i < state->n_sets; i++)
		if (!strcmp(state->sets[i].target, target))
			return i;
	return 0;
}

int as_sets_use(struct as_hunt *hunt, size_t set, struct as_err *err)
{
	return set ? hunt->open_set(hunt->ctx, set, hunt, err) : 0;
}
