/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reduce: a shorter and simpler workload that fails in the same way. The caller runs workloads and
 * says whether it was the same failure; this room only decides which to try.
 */
#ifndef AS_REDUCE_REDUCE_H
#define AS_REDUCE_REDUCE_H

#include "base/err.h"
#include "work/seq.h"

#define AS_REDUCE_RUNS 3

/* Time is up: the best so far is confirmed. Interrupted: no more workloads are run. */
enum as_reduce_stop { AS_REDUCE_GO_ON, AS_REDUCE_TIME_UP, AS_REDUCE_INTERRUPTED };

struct as_reducer {
	/* 1: the same failure, 0: none or another, negative: an error of ours (ends all). */
	int (*fails)(void *ctx, const struct as_seq *seq, struct as_err *err);
	enum as_reduce_stop (*stop)(void *ctx); /* may be NULL */
	/* Something better was found, in this phase; may be NULL. */
	void (*better)(void *ctx, const struct as_seq *best, const char *phase);
	void *ctx;
	long op_index; /* of the operation that failed; -1: not known, or after the last */
	unsigned runs; /* runs that confirm the result; 0: AS_REDUCE_RUNS */
	size_t max_executions; /* 0: as many as it takes; those that confirm are not counted */
};

struct as_reduced {
	size_t ops_before, ops_after;
	size_t executions; /* all runs, including those that confirm */
	size_t known; /* candidates that had been run before, and were not run again */
	unsigned runs, failed; /* the result failed in `failed` of `runs` runs; 0: not confirmed */
	bool flaky; /* it did not fail every time, at the beginning or at the end */
	bool complete; /* nothing was left to try, and the end is confirmed */
};

/* The caller frees *best, also if nothing could be reduced. If the workload does not fail at all,
 * *best is NULL and the result is 0. After an error of ours *best is the best so far, or NULL. */
AS_MUST_CHECK int as_reduce(const struct as_seq *seq, const struct as_reducer *reducer,
			    struct as_seq **best, struct as_reduced *result, struct as_err *err);

#endif
