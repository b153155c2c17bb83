/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shares: see shares.h. */
#include "progress/shares.h"

#include "progress/result.h"

#include <jansson.h>

const char *const as_share_names[AS_SHARE_ROWS] = {
	"view 1", "view 2", "view 3", "view 4", "view 5", "recovery", "rounds", "held", "early",
};

static const char *const columns[AS_SHARE_COLUMNS] = {
	"states", "cost", "disks", "trees", "found",
};

void as_shares_add(struct as_shares *sum, const struct as_shares *shares)
{
	for (unsigned r = 0; r < AS_SHARE_ROWS; r++)
		for (unsigned c = 0; c < AS_SHARE_COLUMNS; c++)
			sum->n[r][c] += shares->n[r][c];
}

uint64_t as_shares_cost(const struct as_shares *shares)
{
	uint64_t sum = 0;

	for (unsigned r = 0; r < AS_SHARE_DIVIDED; r++)
		sum += shares->n[r][AS_SHARE_COST];
	return sum;
}

void as_shares_print(struct as_json *json, const struct as_shares *shares)
{
	if (!as_shares_cost(shares))
		return;
	as_json_key(json, "shares");
	as_json_object(json);
	for (unsigned r = 0; r < AS_SHARE_ROWS; r++) {
		as_json_key(json, as_share_names[r]);
		as_json_object(json);
		for (unsigned c = 0; c < AS_SHARE_COLUMNS; c++)
			as_json_kuint(json, columns[c], shares->n[r][c]);
		as_json_end(json);
	}
	as_json_end(json);
}

void as_shares_parse(const json_t *object, struct as_shares *shares)
{
	const json_t *member = json_object_get(object, "shares");

	for (unsigned r = 0; r < AS_SHARE_ROWS; r++) {
		const json_t *row = json_object_get(member, as_share_names[r]);

		for (unsigned c = 0; c < AS_SHARE_COLUMNS; c++)
			shares->n[r][c] = as_count_parse(json_object_get(row, columns[c]));
	}
}
