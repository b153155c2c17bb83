/* SPDX-License-Identifier: GPL-2.0-or-later */
/* result: what workloads came to, one or many: as a run counts it, as it travels, and as the sinks
 * are told at the end. Sums of it, and JSON both ways. */
#ifndef AS_PROGRESS_RESULT_H
#define AS_PROGRESS_RESULT_H

#include "base/json.h"
#include "progress/raced.h"
#include "progress/shares.h"

#include <stdint.h>

struct json_t; /* of jansson */

#define AS_RUN_COUNTS 17

struct as_run_result {
	/* That are done, whatever the number of their runs. Who sums up sets it; it is no member of
	 * the JSON. */
	uint64_t workloads;
	uint64_t runs, ops, findings;
	uint64_t again; /* findings that an earlier workload showed, too: not in `findings` */
	uint64_t skipped; /* operations this target cannot do */
	uint64_t unfit; /* of the runs: see as_runner_unfit(); not stored */
	uint64_t unjudged; /* runs in several threads with too many orders to be judged */
	uint64_t excused; /* answers that differ between targets, but are known or allowed to */
	uint64_t looked, possible; /* crash states that were looked at, of how many */
	/* Of a sweep: how many failures were tried, and in how many workloads these were all. */
	uint64_t points, swept;
	uint64_t failures; /* inside the kernel, where each operation meets all of them */
	int64_t wall_us;
	struct as_raced raced;
	struct as_shares shares; /* of crash states */
	/* What the scenario counts for itself; crash: struct as_crash_counts. A sum has none. */
	uint64_t counts[AS_RUN_COUNTS];
};

void as_run_result_add(struct as_run_result *sum, const struct as_run_result *result);

/* The members, without the braces. The scenario's own counts are left out when all are 0. */
void as_run_result_print(struct as_json *json, const struct as_run_result *result);
/* A member that is missing, or not a number, is 0; one that is too large or too small becomes what
 * is allowed: sums of them never overflow, whatever the object says. */
void as_run_result_parse(const struct json_t *object, struct as_run_result *result);

/* A count that was read: no number, or one below 0, is 0, and the largest is 2^40. */
uint64_t as_count_parse(const struct json_t *value);

#endif
