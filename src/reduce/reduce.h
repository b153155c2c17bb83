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

/* Time is up: what is best then is confirmed. Interrupted: no workload is run any more. */
enum as_reduce_stop { AS_REDUCE_GO_ON, AS_REDUCE_TIME_UP, AS_REDUCE_INTERRUPTED };

struct as_reducer {
	/* 1: the same failure, 0: none or another, negative: an error of ours (ends all). */
	int (*fails)(void *ctx, const struct as_seq *seq, struct as_err *err);
	enum as_reduce_stop (*stop)(void *ctx); /* may be NULL */
	/* Something better was found, in this phase; may be NULL. */
	void (*better)(void *ctx, const struct as_seq *best, const char *phase);
	void *ctx;
	long op_index; /* of the operation that failed; -1: not known, or after the last */
	unsigned runs; /* to confirm the end by; 0: AS_REDUCE_RUNS */
	size_t max_executions; /* 0: as many as it takes; those that confirm are not counted */
};

struct as_reduced {
	size_t ops_before, ops_after;
	size_t executions; /* all of them, those that confirm included */
	size_t known; /* candidates that had been run before, and were not run again */
	unsigned runs, failed; /* the end: `failed` of `runs` runs; runs 0: not confirmed */
	bool flaky; /* it did not fail every time, at the beginning or at the end */
	bool complete; /* nothing was left to try, and the end is confirmed */
};

/* *best is the caller's, also when nothing could be reduced. A workload that does not fail at all
 * is *best NULL and 0. On an error of ours *best is what was reached before, or NULL. */
AS_MUST_CHECK int as_reduce(const struct as_seq *seq, const struct as_reducer *reducer,
			    struct as_seq **best, struct as_reduced *result, struct as_err *err);

#endif
