/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stats: what the workloads of a command came to, as its sinks are told at the end. */
#ifndef AS_PROGRESS_STATS_H
#define AS_PROGRESS_STATS_H

#include "progress/raced.h"
#include "progress/shares.h"

#include <stdint.h>

struct as_run_stats {
	uint64_t workloads, ops, findings, skipped;
	uint64_t unjudged, excused, looked, possible, failures; /* as in struct as_run_result */
	struct as_raced raced;
	struct as_shares shares;
	int64_t wall_us;
};

/* A count that was read: no number, or one below 0, is 0, and the largest is 2^40, so that sums of
 * them never overflow. */
uint64_t as_stats_number(const struct json_t *value);

#endif
