/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * local: a campaign on this machine. N processes run slices, each on a core of its own. A slice that
 * dies or fails is run again in the same round, until its cell has failed three times in a row. The
 * ledgers are the only state: whoever is killed goes on with the rounds that are not over.
 */
#ifndef AS_SWARM_LOCAL_H
#define AS_SWARM_LOCAL_H

#include "swarm/slice.h"

struct as_swarm_options {
	unsigned jobs;
	bool even; /* --static */
	const volatile int *stop;
	/* Called when a slice has ended. */
	void (*ended)(void *ctx, const struct as_ledger *ledger, size_t cell,
		      const struct as_slice *slice);
	/* Called when a round begins with so many cells. */
	void (*began)(void *ctx, uint64_t round, size_t cells, uint64_t seconds);
	void *ctx;
};

/* AS_ESTOP: a signal came. */
AS_MUST_CHECK int as_swarm_local(struct as_ledger *ledger, const struct as_swarm_options *options,
				 struct as_err *err);

#endif
