/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scenario: names are found, with what follows them, and looking leaves no memory behind. */
#include "scenario/scenario.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void look(const char *text, const char *name, const char *params)
{
	const struct as_scenario_ops *ops = NULL;
	const char *rest = NULL;
	struct as_err err = { 0 };
	int rc = as_scenario_find(text, &ops, &rest, &err);

	if (!name) {
		assert_int_equal(rc, AS_EUSE);
		assert_non_null(strstr(err.msg, "unknown scenario"));
		return;
	}
	assert_int_equal(rc, 0);
	assert_string_equal(ops->name, name);
	assert_string_equal(rest, params);
}

static void test_names(void **state)
{
	(void)state;
	for (unsigned i = 0; as_scenario(i); i++)
		look(as_scenario(i)->name, as_scenario(i)->name, "");
	look("diff:lab,ext4:data=journal", "diff", "lab,ext4:data=journal");
	look("race:", "race", "");
	look("rac", NULL, NULL);
	look("", NULL, NULL);
}

/* A sanitizer counts elsewhere, and tells of leaks itself. */
static void test_no_leak(void **state)
{
	size_t before;

	(void)state;
	test_names(NULL);
	before = mallinfo2().uordblks;
	for (int i = 0; i < 1000; i++)
		test_names(NULL);
	assert_int_equal(mallinfo2().uordblks, before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_no_leak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
