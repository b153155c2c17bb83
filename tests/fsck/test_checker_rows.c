/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the rows of types say of a checker's exit statuses, and what the rows of tested checkers say
 * of the same ones: there is one truth. Every contradiction is told. */
#include "fsck/subject.h"
#include "target/fstype.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STATUSES 256

static bool same_program(const char *a, const char *b)
{
	size_t len = strcspn(a, " ");

	return len == strcspn(b, " ") && !memcmp(a, b, len);
}

static bool looks(const char *command)
{
	static const char *const words[] = { " -n ", " --check ", " --readonly ", " --no-action " };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(command, words[i]))
			return true;
	return false;
}

static unsigned compare(const struct as_fstype *type, unsigned mode,
			const struct as_subject_row *row)
{
	const struct as_checker *checker = &type->check[mode];
	const char *exits =
		looks(checker->command) && row->check_exits ? row->check_exits : row->exits;
	unsigned wrong = 0;

	for (int status = 0; status < STATUSES; status++) {
		enum as_check_answer one = as_fstype_answer(checker, status), other;

		as_exits_find(exits, status, &other);
		if (one == other)
			continue;
		print_error("%s, `%s`: %d is %s in one row and %s in the other (%s)\n", type->name,
			    checker->command, status, as_check_answer_name(one),
			    as_check_answer_name(other), row->name);
		wrong++;
	}
	if (row->done) {
		print_error("%s, `%s`: in one row alone it has to say \"%s\" (%s)\n", type->name,
			    checker->command, row->done, row->name);
		wrong++;
	}
	return wrong;
}

static void test_one_truth(void **state)
{
	unsigned wrong = 0;

	(void)state;
	for (unsigned i = 0; as_fstype_at(i); i++)
		for (unsigned mode = 0; mode < AS_CHECK_MODES; mode++)
			for (unsigned k = 0; as_subject_row(k); k++) {
				const struct as_fstype *type = as_fstype_at(i);
				const char *command = type->check[mode].command;

				if (command && same_program(command, as_subject_row(k)->repair))
					wrong += compare(type, mode, as_subject_row(k));
			}
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_truth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
