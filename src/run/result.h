/* SPDX-License-Identifier: GPL-2.0-or-later */
/* result: what runs came to: sums of it, and JSON both ways. */
#ifndef AS_RUN_RESULT_H
#define AS_RUN_RESULT_H

#include "base/json.h"
#include "progress/stats.h"
#include "run/run.h"

struct json_t; /* of jansson */

void as_run_result_add(struct as_run_result *sum, const struct as_run_result *result);
/* Adds what came of `workloads` of them. */
void as_run_stats_add(struct as_run_stats *stats, uint64_t workloads,
		      const struct as_run_result *result);

/* The members, without the braces. The scenario's own counts are left out when all are 0. */
void as_run_result_print(struct as_json *json, const struct as_run_result *result);
/* A member that is missing, or not a number, is 0; one that is too large or too small becomes what
 * is allowed: sums of them never overflow, whatever the object says. */
void as_run_result_parse(const struct json_t *object, struct as_run_result *result);

#endif
