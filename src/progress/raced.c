/* SPDX-License-Identifier: GPL-2.0-or-later */
/* raced: see raced.h. */
#include "progress/raced.h"

#include "progress/result.h"

#include <jansson.h>

static const char *const names[AS_RACED_COUNTS] = {
	[AS_RACED_CALLS] = "calls",   [AS_RACED_LOST] = "lost",
	[AS_RACED_READS] = "reads",   [AS_RACED_READS_OPEN] = "reads_open",
	[AS_RACED_SEEKS] = "seeks",   [AS_RACED_SEEKS_OPEN] = "seeks_open",
	[AS_RACED_STATS] = "stats",   [AS_RACED_STATS_OPEN] = "stats_open",
	[AS_RACED_LISTS] = "lists",   [AS_RACED_LISTS_OPEN] = "lists_open",
	[AS_RACED_COPIES] = "copies", [AS_RACED_COPIES_OPEN] = "copies_open",
};

void as_raced_add(struct as_raced *sum, const struct as_raced *raced)
{
	for (size_t i = 0; i < AS_RACED_COUNTS; i++)
		sum->n[i] += raced->n[i];
}

uint64_t as_raced_full(const struct as_raced *raced)
{
	const uint64_t *n = raced->n;
	uint64_t rest = n[AS_RACED_LOST] + n[AS_RACED_READS_OPEN] + n[AS_RACED_SEEKS_OPEN] +
			n[AS_RACED_STATS_OPEN] + n[AS_RACED_LISTS_OPEN] + n[AS_RACED_COPIES_OPEN];

	return n[AS_RACED_CALLS] > rest ? n[AS_RACED_CALLS] - rest : 0;
}

void as_raced_print(struct as_json *json, const struct as_raced *raced)
{
	if (!raced->n[AS_RACED_CALLS])
		return;
	as_json_key(json, "raced");
	as_json_object(json);
	for (size_t i = 0; i < AS_RACED_COUNTS; i++)
		as_json_kuint(json, names[i], raced->n[i]);
	as_json_end(json);
}

void as_raced_parse(const json_t *object, struct as_raced *raced)
{
	const json_t *member = json_object_get(object, "raced");

	for (size_t i = 0; i < AS_RACED_COUNTS; i++)
		raced->n[i] = as_count_parse(json_object_get(member, names[i]));
}
