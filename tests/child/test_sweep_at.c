/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places in a sweep, and the rules for failures inside a kernel. */
#include "child/options.h"
#include "host/medium.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_plans(void **state)
{
	static const struct {
		enum as_sweep sweep;
		struct as_sweep_at at;
		const char *want;
	} rows[] = {
		{ AS_SWEEP_READ, { .n = 3 }, "read:3:eio" },
		{ AS_SWEEP_KALLOC, { .n = 4 }, "kalloc:mount:4" },
		{ AS_SWEEP_KIO, { .op = 2, .n = 5 }, "kio:2:5" },
		{ AS_SWEEP_KPAGE, { .n = 1, .op2 = 3, .n2 = 7 }, "kpage:mount:1 kpage:3:7" },
		{ AS_SWEEP_KIO, { .op = 1, .n = 2, .op2 = 3, .n2 = 4 }, "kio:1:2 kio:3:4" },
	};
	struct as_plan *plan;
	struct as_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_buf back = { 0 };
		char text[128];

		as_sweep_plan(rows[i].sweep, &rows[i].at, text, sizeof(text));
		assert_string_equal(text, rows[i].want);
		assert_int_equal(as_plan_parse(text, &plan, &err), 0);
		as_plan_print(plan, &back);
		assert_string_equal(as_buf_str(&back), rows[i].want);
		as_plan_free(plan);
		as_buf_free(&back);
	}
}

/* In the order of a sweep: operations, the mount, then pairs. */
static void test_order(void **state)
{
	static const struct as_sweep_at rows[] = {
		{ 0 },
		{ .op = 1, .n = 1 },
		{ .op = 1, .n = 2 },
		{ .op = 2, .n = 1 },
		{ .op = 0, .n = 1 },
		{ .op = 0, .n = 2 },
		{ .op = 0, .n = 1, .op2 = 1, .n2 = 1 },
		{ .op = 0, .n = 1, .op2 = 1, .n2 = 2 },
		{ .op = 0, .n = 1, .op2 = 2, .n2 = 1 },
		{ .op = 0, .n = 2, .op2 = 1, .n2 = 1 },
		{ .op = 1, .n = 1, .op2 = 2, .n2 = 1 },
	};
	size_t n = sizeof(rows) / sizeof(rows[0]);

	(void)state;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			assert_int_equal(as_sweep_before(&rows[i], &rows[j]), i < j);
}

static void test_refused(void **state)
{
	static const char *const rows[] = {
		"kalloc:1:1 kalloc:1:2", /* in one operation */
		"kalloc:1:1 kio:2:1", /* of two kinds */
		"kalloc:1:1 kalloc:2:1 kalloc:3:1", /* three */
		"kalloc:1:0",
		"kalloc:0:1",
		"kalloc:1",
		"kalloc::1",
		"kalloc:mount:x",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_plan *plan = NULL;
		struct as_err err;

		assert_int_equal(as_plan_parse(rows[i], &plan, &err), AS_EUSE);
		assert_null(plan);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plans),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
