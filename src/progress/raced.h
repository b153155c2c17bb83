/* SPDX-License-Identifier: GPL-2.0-or-later */
/* raced: how the calls of races were judged, counted. Part of an answer is left open if another
 * call may have changed what it is about at the same moment. */
#ifndef AS_PROGRESS_RACED_H
#define AS_PROGRESS_RACED_H

#include "base/json.h"

#include <stdint.h>

struct json_t; /* of jansson */

enum as_raced_count {
	AS_RACED_CALLS, /* all of them */
	AS_RACED_LOST, /* in races with too many orders: not judged at all */
	/* Calls that tell bytes, sizes or holes, attributes and names; right after each, those of
	 * them with an open part. */
	AS_RACED_READS,
	AS_RACED_READS_OPEN,
	AS_RACED_SEEKS,
	AS_RACED_SEEKS_OPEN,
	AS_RACED_STATS,
	AS_RACED_STATS_OPEN,
	AS_RACED_LISTS,
	AS_RACED_LISTS_OPEN,
	AS_RACED_COPIES,
	AS_RACED_COPIES_OPEN,
	AS_RACED_COUNTS
};

struct as_raced {
	uint64_t n[AS_RACED_COUNTS];
};

void as_raced_add(struct as_raced *sum, const struct as_raced *raced);
/* Calls of which every part of the answer was judged. */
uint64_t as_raced_full(const struct as_raced *raced);
/* The member "raced"; nothing if there were no calls. */
void as_raced_print(struct as_json *json, const struct as_raced *raced);
/* The member of the object. What is missing, or no number, is 0; what is too large or too small
 * becomes what is allowed, so that sums never overflow. */
void as_raced_parse(const struct json_t *object, struct as_raced *raced);

#endif
