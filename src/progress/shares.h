/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shares: what was spent on each kind of crash state, and what it gave. The first rows divide all
 * states among them; the others count again those that came about in a certain way.
 */
#ifndef AS_PROGRESS_SHARES_H
#define AS_PROGRESS_SHARES_H

#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

enum as_share_row {
	AS_SHARE_VIEW_1, /* views are in order */
	AS_SHARE_VIEW_5 = AS_SHARE_VIEW_1 + 4,
	AS_SHARE_AGAIN, /* power cuts during recovery */
	AS_SHARE_DIVIDED, /* so many rows divide all states */
	AS_SHARE_ROUNDS = AS_SHARE_DIVIDED, /* after a power cut and a recovery */
	AS_SHARE_HOLD, /* of workloads with writes that are held */
	AS_SHARE_EARLY, /* of workloads with early writes */
	AS_SHARE_ROWS
};

enum as_share_column {
	AS_SHARE_STATES,
	AS_SHARE_COST, /* in 64ths of a recovery */
	AS_SHARE_DISKS, /* that were not judged before */
	AS_SHARE_TREES, /* that no disk of the workload before was recovered to */
	AS_SHARE_FOUND, /* problems that were not met before */
	AS_SHARE_COLUMNS
};

struct json_t; /* of jansson */

struct as_shares {
	uint64_t n[AS_SHARE_ROWS][AS_SHARE_COLUMNS];
};

extern const char *const as_share_names[AS_SHARE_ROWS];
void as_shares_add(struct as_shares *sum, const struct as_shares *shares);
/* The cost of all rows that divide the states; 0: nothing was spent. */
uint64_t as_shares_cost(const struct as_shares *shares);
/* The member "shares": for each row an object with the columns; nothing if nothing was spent. */
void as_shares_print(struct as_json *json, const struct as_shares *shares);
/* The member of the object, as as_raced_parse() does it. */
void as_shares_parse(const struct json_t *object, struct as_shares *shares);

#endif
