/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * worker: the processes of a hunt besides the leading one. Each reports its results as messages in
 * JSON (crew/crew.h), and keeps its findings in a folder of its own (hunt/job-N), from which the
 * leader moves them. They die with the leader.
 */
#ifndef AS_HUNT_WORKER_H
#define AS_HUNT_WORKER_H

#include "crew/crew.h"
#include "hunt/hunt.h"

/* In shared memory. */
struct as_hunt_shared {
	volatile int stop; /* workers are to end */
	volatile uint64_t ops[AS_HUNT_JOBS_MAX]; /* since the start, for the line of progress */
};

/* The seat of a job is its number; the one after them is the reducer's. */
#define AS_HUNT_REDUCER(state) ((unsigned)(state)->n_jobs)

/*
 * The share of a job: from its position in the state to `end` (a number of its stream; UINT64_MAX:
 * forever). A message for each batch:
 *   {"position":n,"over":b,"workloads":n, ...,		members as of progress/result.h
 *    "found":[{"number":n,"ops":n, ...}],		and as of base/finding_json.h
 *    "met_again":[{"signature":s,"count":n}],
 *    "set":n,						the one they ran on (sets.h)
 *    "refused":n,"why":s}				a set that was to be used, and could not
 */
AS_MUST_CHECK int as_worker_start_job(const struct as_hunt *hunt, const struct as_hunt_state *state,
				      unsigned job, uint64_t end, struct as_hunt_shared *shared,
				      struct as_crew *crew, struct as_err *err);
/* Reduces the finding of a signature; one message:
 *   {"signature":s,"cause":s,"steps":s,"reduced":s,"ops":n,"runs":n,"failed":n,"executions":n,
 *    "seconds":x} */
AS_MUST_CHECK int as_worker_start_reducer(const struct as_hunt *hunt,
					  const struct as_hunt_state *state,
					  const struct as_hunt_sign *sign,
					  struct as_hunt_shared *shared, struct as_crew *crew,
					  struct as_err *err);
/* Workloads of a batch; those of a job begin at multiples of it, wherever the job begins. */
size_t as_worker_batch(const struct as_hunt *hunt);

#endif
