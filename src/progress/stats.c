/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stats: see stats.h. */
#include "progress/stats.h"

#include <jansson.h>

#define NUMBER_MAX ((json_int_t)1 << 40)

uint64_t as_stats_number(const json_t *value)
{
	json_int_t n = json_integer_value(value);

	return n < 0 ? 0 : n > NUMBER_MAX ? (uint64_t)NUMBER_MAX : (uint64_t)n;
}
