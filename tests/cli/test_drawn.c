/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The disk that a sandbox has ready: the smallest one for power cuts, unless a size was typed. */
#include "cli/drawn.h"
#include "target/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define MIB ((uint64_t)1 << 20)

static const struct {
	const char *target, *scenario;
	uint64_t typed, want; /* bytes; 0: as the target has it */
} rows[] = {
	{ "ext4", "sequential", 0, 0 },
	{ "ext4", "race:threads=3", 0, 0 },
	{ "ext4", "diff", 0, 0 },
	{ "ext4", "crash", 0, 2 * MIB },
	{ "ext4", "crash:view=1", 0, 2 * MIB },
	{ "xfs", "crash", 0, 16 * MIB },
	/* A journal with larger blocks wants more. */
	{ "ext4:mkfs=4k,data=journal", "crash", 0, 8 * MIB },
	/* What was typed counts, also if it is larger or smaller. */
	{ "ext4", "sequential", 5 * MIB, 5 * MIB },
	{ "ext4", "crash", 64 * MIB, 64 * MIB },
	{ "ext4", "crash", MIB, MIB },
};

static void test_box_bytes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_run_options run = { .size_bytes = rows[i].typed };
		struct as_target *target = NULL;
		struct as_err err = { 0 };
		uint64_t got;

		snprintf(run.scenario, sizeof(run.scenario), "%s", rows[i].scenario);
		if (as_target_open(rows[i].target, &target, &err))
			fail_msg("%s: %s", rows[i].target, err.msg);
		got = as_cli_box_bytes(target, &run);
		as_target_free(target);
		if (got != rows[i].want)
			fail_msg("%s, %s, %llu typed: %llu, not %llu", rows[i].target,
				 rows[i].scenario, (unsigned long long)rows[i].typed,
				 (unsigned long long)got, (unsigned long long)rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_box_bytes) };

	return cmocka_run_group_tests_name("drawn", tests, NULL, NULL);
}
