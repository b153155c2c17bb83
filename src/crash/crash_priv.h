/* SPDX-License-Identifier: GPL-2.0-or-later */
/* crash_priv: what the parent's side of crash runs shares (crash.c, tracks.c). */
#ifndef AS_CRASH_CRASH_PRIV_H
#define AS_CRASH_CRASH_PRIV_H

#include "crash/child.h"

struct as_crasher {
	const struct as_target *target;
	struct as_run_options run;
	struct as_crash_options options;
	struct as_sink *sinks;
	struct as_runner *runner;
	struct as_dedup *dedup;
	struct as_crash_shared *shared;
	int disk_fd;
	struct as_plan *plan; /* of run.faults; NULL: none */
	struct as_shares so_far; /* what workloads came to */
	bool frozen; /* what the next ones come to is not added to that */
	unsigned race_run; /* of a workload that is run several times: which run it is */
	bool quiet; /* findings are counted, but the sinks are not told */
};

/* Tells the sinks what the last run found, which is in shared memory. faults: what failed in that
 * run; "": nothing. */
void as_crasher_tell(struct as_crasher *crasher, const struct as_seq *seq, const char *name,
		     const char *faults);

#endif
