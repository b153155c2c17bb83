/* SPDX-License-Identifier: GPL-2.0-or-later */
/* still: what counts as the same failure, for each that asks. */
#include "symptom/still.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct {
	enum as_still how;
	const char *before, *now;
	bool want;
} rows[] = {
	{ AS_STILL_EXACTLY, "state: size; after write", "state: size; after write", true },
	{ AS_STILL_EXACTLY, "state: size; after write", "state: size; after open", false },
	{ AS_STILL_EXACTLY, "fsck: twice; field a", "fsck: twice; field b", false },
	{ AS_STILL_EXACTLY, "state: size", NULL, false },
	{ AS_STILL_SYMPTOM, "state: size; after write", "state: size; after open", true },
	{ AS_STILL_SYMPTOM, "state: size; after write", "state: size", true },
	{ AS_STILL_SYMPTOM, "state: size; after write", "state: sizes; after write", false },
	{ AS_STILL_SYMPTOM, "state: size; after write", "state: mode; after write", false },
	{ AS_STILL_SYMPTOM, "state: size", NULL, false },
	{ AS_STILL_ALONE, "fsck: twice; field a and b", "fsck: twice; field a", true },
	{ AS_STILL_ALONE, "fsck: twice; field a", "fsck: hangs; field a", false },
	{ AS_STILL_ALONE, "fsck: twice; field a", "fsck: twice", false },
	{ AS_STILL_ALONE, "fsck: twice", "fsck: twice", false },
	{ AS_STILL_ALONE, "fsck: twice; field a", NULL, false },
	{ AS_STILL_SOMEHOW, "state: size", "fsck: unclean", true },
	{ AS_STILL_SOMEHOW, "state: size", NULL, false },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (as_still_fails(rows[i].how, rows[i].before, rows[i].now) != rows[i].want)
			fail_msg("row %zu: %s, %s", i, rows[i].before, rows[i].now);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
