/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reduce_priv: what the phases of a reduction share (reduce.c, reduce_args.c). */
#ifndef AS_REDUCE_REDUCE_PRIV_H
#define AS_REDUCE_REDUCE_PRIV_H

#include "base/table.h"
#include "reduce/reduce.h"

struct as_tried;

struct as_reducing {
	const struct as_reducer *with;
	struct as_seq *best; /* always one that was seen to fail */
	struct as_tried *tried; /* candidates that were run, and what came of it */
	size_t n_tried, cap_tried;
	struct as_table by_digest; /* entries of `tried` */
	struct as_reduced *result;
	const char *phase;
	unsigned tries; /* runs of one candidate: more than one if the failure is flaky */
	bool over; /* no more workloads are run */
	int rc;
	struct as_err *err;
};

/* Takes ownership of the candidate; if it fails in the same way, it is the new best. */
bool as_reducing_try(struct as_reducing *x, struct as_seq *candidate);

/* Fewer operations that do the same. */
void as_reduce_merge(struct as_reducing *x);
/* Simpler arguments, shorter names. */
void as_reduce_args(struct as_reducing *x);

#endif
