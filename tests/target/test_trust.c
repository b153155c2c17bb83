/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trust: which targets reach outside, and what a user typed before. */
#include "target/trust.h"

#include "target/fstype.h"
#include "target/target.h"
#include "tests/lib/tmpdir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct {
	const char *spec;
	bool boxed, reaches;
	const char *what; /* a part of it; NULL: any */
} rows[] = {
	{ "lab", false, false, NULL },
	{ "lab:bug=3", false, false, NULL },
	{ "plugin:./x.so", false, true, "run the plugin ./x.so" },
	{ "plugin:", false, true, NULL },
	{ "plugin:\033[31m.so", true, true, "run the plugin \\x1b[31m.so" },
	{ "fuse:rm -rf {mnt} {src}", false, true, "start the command rm -rf" },
	{ "fuse:x", true, true, NULL },
	{ "dir:/", false, true, "files in the directory /" },
	{ "ext4", true, false, NULL },
	{ "ext4", false, false, NULL },
	{ "ext4:journal_dev=0x801", true, false, NULL },
	{ "ext4:journal_dev=0x801", false, true, "the options journal_dev=0x801" },
	{ "ext4:data=journal", false, false, NULL },
	{ "ext4:data=journal,noatime,ro", false, false, NULL },
	{ "ext4:data=journal,journal_path=/dev/sda", false, true, NULL },
	{ "ext4:,,", false, false, NULL },
	{ "btrfs:device=/dev/sda", false, true, NULL },
	{ "xfs:logdev=/dev/sda", false, true, NULL },
	{ "fuse2fs", false, false, NULL },
	{ "fuse2fs:modules=../x", false, true, NULL },
	{ "nosuch", false, false, NULL }, /* it cannot be opened */
	{ "", false, false, NULL },
};

static void test_reaches(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_buf what = { 0 };

		if (as_trust_reaches(rows[i].spec, rows[i].boxed, &what) != rows[i].reaches)
			fail_msg("%s: expected %d", rows[i].spec, rows[i].reaches);
		assert_int_equal(what.len != 0, rows[i].reaches);
		if (rows[i].what && !strstr(as_buf_str(&what), rows[i].what))
			fail_msg("%s: says %s", rows[i].spec, as_buf_str(&what));
		as_buf_free(&what);
	}
}

/* A kind that is added has to say whether it reaches outside. lab alone does not. */
static void test_kinds(void **state)
{
	(void)state;
	for (unsigned i = 0; as_target_kind(i); i++)
		assert_int_equal(!as_target_kind(i)->does, !strcmp(as_target_kind(i)->name, "lab"));
	/* Nor does a type of the kernel, as its row has it. */
	for (unsigned i = 0; as_fstype_at(i); i++)
		assert_false(as_trust_reaches(as_fstype_at(i)->name, false, NULL));
}

static void test_typed(void **state)
{
	const char *folder = t_tmpdir();
	char long_text[5000];
	char *before = getcwd(NULL, 0);

	(void)state;
	assert_int_equal(chdir(folder), 0);
	assert_false(as_trust_remembers("plugin:./x.so"));
	as_trust_remember("plugin:./x.so");
	if (!as_trust_remembers("plugin:./x.so")) {
		print_message("no folder for a cache here: nothing is remembered\n");
		goto out;
	}
	/* Only the same, whole, in the same place. */
	assert_false(as_trust_remembers("plugin:./x.so:y"));
	assert_false(as_trust_remembers("plugin:./x.s"));
	assert_false(as_trust_remembers("x.so"));
	assert_false(as_trust_remembers(""));
	as_trust_remember("fuse:a \n\\x0a");
	assert_true(as_trust_remembers("fuse:a \n\\x0a"));
	assert_false(as_trust_remembers("fuse:a \\x0a\n"));
	assert_false(as_trust_remembers("fuse:a \n\n"));
	memset(long_text, 'x', sizeof(long_text));
	long_text[sizeof(long_text) - 1] = '\0';
	as_trust_remember(long_text);
	assert_true(as_trust_remembers(long_text));
	assert_int_equal(chdir("/"), 0);
	assert_false(as_trust_remembers("plugin:./x.so"));
out:
	assert_int_equal(chdir(before), 0);
	assert_int_equal(rmdir(folder), 0); /* nothing was written there */
	free(before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reaches),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_typed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
