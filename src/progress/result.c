/* SPDX-License-Identifier: GPL-2.0-or-later */
/* result: see result.h. The numbers are rows of one table. */
#include "progress/result.h"

#include <jansson.h>
#include <stddef.h>
#include <string.h>

static const struct {
	const char *key;
	size_t at;
} rows[] = {
#define ROW(name)                                           \
	{                                                   \
#name, offsetof(struct as_run_result, name) \
	}
	ROW(runs),     ROW(ops),   ROW(skipped),  ROW(unjudged), ROW(excused),
	ROW(findings), ROW(again), ROW(wall_us),  ROW(looked),	 ROW(possible),
	ROW(points),   ROW(swept), ROW(failures),
#undef ROW
};

#define NROWS (sizeof(rows) / sizeof(rows[0]))
_Static_assert(sizeof(int64_t) == sizeof(uint64_t), "wall_us is read as the others are");

#define NUMBER_MAX ((json_int_t)1 << 40)

uint64_t as_count_parse(const json_t *value)
{
	json_int_t n = json_integer_value(value);

	return n < 0 ? 0 : n > NUMBER_MAX ? (uint64_t)NUMBER_MAX : (uint64_t)n;
}

static uint64_t *number_at(struct as_run_result *r, size_t row)
{
	return (uint64_t *)(void *)((char *)r + rows[row].at);
}

void as_run_result_add(struct as_run_result *sum, const struct as_run_result *result)
{
	for (size_t i = 0; i < NROWS; i++)
		*number_at(sum, i) += *number_at((struct as_run_result *)result, i);
	sum->workloads += result->workloads;
	sum->unfit += result->unfit;
	as_raced_add(&sum->raced, &result->raced);
	as_shares_add(&sum->shares, &result->shares);
}

void as_run_result_print(struct as_json *json, const struct as_run_result *r)
{
	static const uint64_t none[AS_RUN_COUNTS];

	for (size_t i = 0; i < NROWS; i++)
		as_json_kint(json, rows[i].key, (int64_t)*number_at((struct as_run_result *)r, i));
	as_raced_print(json, &r->raced);
	as_shares_print(json, &r->shares);
	if (!memcmp(r->counts, none, sizeof(none)))
		return;
	as_json_key(json, "counts");
	as_json_array(json);
	for (size_t i = 0; i < AS_RUN_COUNTS; i++)
		as_json_uint(json, r->counts[i]);
	as_json_end(json);
}

void as_run_result_parse(const struct json_t *object, struct as_run_result *r)
{
	const json_t *counts = json_object_get(object, "counts");

	*r = (struct as_run_result){ 0 };
	for (size_t i = 0; i < NROWS; i++)
		*number_at(r, i) = as_count_parse(json_object_get(object, rows[i].key));
	as_raced_parse(object, &r->raced);
	as_shares_parse(object, &r->shares);
	for (size_t i = 0; i < AS_RUN_COUNTS; i++)
		r->counts[i] = as_count_parse(json_array_get(counts, i));
}
