/* SPDX-License-Identifier: GPL-2.0-or-later */
/* signature: what belongs to one run is left out, and what tells mistakes apart is kept. */
#include "base/finding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static const struct {
	const char *text, *want;
} texts[] = {
	/* e2fsck */
	{ "Entry 'f12' in /a b (12) has deleted/unused inode 13.",
	  "Entry NAME in PATH (#) has deleted/unused inode #." },
	{ "Entry 'it's' in /lost+found (11) has an incorrect filetype (was 2, should be 1).",
	  "Entry NAME in PATH (#) has an incorrect filetype (was #, should be #)." },
	{ "Inode 12, i_blocks is 8, should be 16.", "Inode #, i_blocks is #, should be #." },
	{ "Block bitmap differences:  +(12--15) -20 +(33--40)", "Block bitmap differences:  +(#)" },
	{ "Superblock last mount time (Mon Nov  6 02:54:48 2026,",
	  "Superblock last mount time (TIME," },
	/* A place in a program is not one of many numbers; a kernel's is told by its function. */
	{ "died of SIGSEGV in e2fsck+0x12ab < e2fsck+0x99",
	  "died of SIGSEGV in e#fsck+0x12ab < e#fsck+0x99" },
	{ "RIP: ext4_get+0x12/0x34", "RIP: ext#_get+#/#" },
	{ "/dev/loop0: clean, 11/128 files", "PATH: clean, #/# files" },
	/* xfs_repair, btrfs, fsck.f2fs */
	{ "bad magic # 0x58414746 in inode deadbeef", "bad magic # in inode #" },
	{ "uuid 1b4e28ba-2fa1-11d2-883f-0016d3cca427 is old", "uuid UUID is old" },
	{ "root 5 inode 257 errors 200, dir isize wrong",
	  "root # inode # errors #, dir isize wrong" },
	{ "[ASSERT] (sanity_check_nid: 345)  --> nid[0x5] ino[0x1f]",
	  "[ASSERT] (sanity_check_nid: #)  --> nid[#] ino[#]" },
	/* Words that look like others. */
	{ "doesn't match the files' name", "doesn't match the files' name" },
	{ "loop3, ext4 and f12", "loop#, ext# and f#" },
	{ "a decade faded", "a decade faded" },
	{ "took 0.25 s at 2026-11-16 02:54:48.123, read 1,234 of 5%",
	  "took # s at TIME, read # of #%" },
	/* Other languages: the same places. */
	{ "Eintrag \xc2\xab"
	  "f 1\xc2\xbb in /tmp/\xc3\xa4: 7 Bl\xc3\xb6"
	  "cke",
	  "Eintrag NAME in PATH: # Bl\xc3\xb6"
	  "cke" },
	{ "two\nlines\there", "two lines here" },
};

static void test_texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct as_buf once = { 0 }, twice = { 0 };

		as_signature_add(&once, texts[i].text);
		assert_string_equal(as_buf_str(&once), texts[i].want);
		as_signature_add(&twice, as_buf_str(&once));
		assert_string_equal(as_buf_str(&twice), as_buf_str(&once));
		as_buf_free(&once);
		as_buf_free(&twice);
	}
}

static void test_symptom(void **state)
{
	(void)state;
	assert_true(as_signature_same_symptom("a; after write", "a; after open O_TRUNC"));
	assert_true(as_signature_same_symptom("a", "a; after write"));
	assert_false(as_signature_same_symptom("a", "ab"));
	assert_false(as_signature_same_symptom("a; after write", "b; after write"));
}

static const struct {
	const char *signature, *want;
} groups[] = {
	{ "state: size of a file; after pwrite", "state: size of a file; after write" },
	{ "state: layout of a file; after ftruncate", "state: size of a file; after truncate" },
	{ "state: size of a file; after pwrite O_APPEND",
	  "state: data of a file; after write O_APPEND" },
	{ "state: lost bytes of a file; after open O_TRUNC",
	  "state: data of a file; after open O_TRUNC" },
	{ "state: lost bytes of a file; after fallocate PUNCH_HOLE",
	  "state: lost bytes of a file; after fallocate PUNCH_HOLE" },
	{ "state: mode of a directory; after fchmod", "state: mode of a file; after chmod" },
	{ "signal: pwrite: SIGSEGV", "signal: write: SIGSEGV" },
	/* A word that only begins like one of the table. */
	{ "checker: writeback_created", "checker: writeback_created" },
};

static void test_groups(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		struct as_buf group = { 0 };

		as_signature_group(&group, groups[i].signature);
		assert_string_equal(as_buf_str(&group), groups[i].want);
		as_buf_free(&group);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_symptom),
		cmocka_unit_test(test_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
