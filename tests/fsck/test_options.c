/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of a checker, as words in the options of a finding: what is printed is read back. */
#include "fsck/subject.h"
#include "target/fstype.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COMMAND "checker:/bin/sh {disk}"

static void check_round(const struct as_subject_setup *setup)
{
	struct as_subject_setup got = { .spec = setup->spec };
	struct as_fsck_subject *subject = NULL;
	struct as_buf text = { 0 };
	struct as_err err = { 0 };
	char **own;

	as_buf_adds(&text, "fsck=twice model=bits disk=healthy");
	assert_int_equal(as_subject_open(setup, &subject, &err), 0);
	as_subject_options(subject, &text);
	as_subject_options_read(as_buf_str(&text), &got, &own);
	assert_string_equal(got.type ? got.type : "-", setup->type ? setup->type : "-");
	assert_string_equal(got.exits ? got.exits : "-", setup->exits ? setup->exits : "-");
	assert_string_equal(got.check ? got.check : "-", setup->check ? setup->check : "-");
	assert_int_equal(got.deadline_ms, setup->deadline_ms);
	as_fstype_free_words(own);
	as_subject_free(subject);
	as_buf_free(&text);
}

static void test_round(void **state)
{
	static const struct as_subject_setup setups[] = {
		{ .spec = COMMAND },
		{ .spec = COMMAND, .type = "ext4" },
		{ .spec = COMMAND, .exits = "0=clean 1-3=repaired 8=failed", .deadline_ms = 9000 },
		{ .spec = COMMAND, .type = "lab", .check = "/bin/sh -c 'a %27 b' {disk}" },
		{ .spec = COMMAND, .check = "/bin/sh deadline=3 ' type=' {disk}", .type = "minix" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(setups) / sizeof(setups[0]); i++)
		check_round(&setups[i]);
}

/* What somebody else wrote need not make sense. */
static void test_odd(void **state)
{
	static const char *const texts[] = { "",	   "type='",	     "check='%2",
					     "deadline=x", "deadline=99999", "exits='a' check=" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct as_subject_setup got = { 0 };
		char **own;

		as_subject_options_read(texts[i], &got, &own);
		assert_int_equal(got.deadline_ms, 0);
		as_fstype_free_words(own);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round),
		cmocka_unit_test(test_odd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
