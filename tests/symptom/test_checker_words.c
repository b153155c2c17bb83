/* SPDX-License-Identifier: GPL-2.0-or-later */
/* checker_words: the problem that a checker names, and which problems are the same. */
#include "symptom/checker_words.h"

#include "target/checkers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static const struct {
	const char *command, *output, *problem, *sign;
} said[] = {
	{ "e2fsck -f -y {disk}",
	  "e2fsck 1.47.0 (5-Feb-2023)\n"
	  "Pass 1: Checking inodes, blocks, and sizes\n"
	  "Pass 2: Checking directory structure\n"
	  "Entry 'x y' in / (2) has deleted/unused inode 13.  Clear? yes\n\n"
	  "Block bitmap differences:  -(12--15)\nFix? yes\n\n"
	  "disk: ***** FILE SYSTEM WAS MODIFIED *****\n"
	  "disk: 11/128 files (0.0% non-contiguous), 58/1024 blocks\n",
	  "Entry 'x y' in / (2) has deleted/unused inode 13.",
	  "Entry NAME in PATH (#) has deleted/unused inode #." },
	/* What only follows counts when nothing else is said. */
	{ "/sbin/e2fsck -p {disk}",
	  "Pass 5: Checking group summary information\n"
	  "Free blocks count wrong (12, counted=14).\nFix? yes\n",
	  "Free blocks count wrong (12, counted=14).", "Free blocks count wrong (#, counted=#)." },
	/* That a lost+found is made again is worth less than what follows. */
	{ "e2fsck -f -y {disk}",
	  "Pass 3: Checking directory connectivity\n/lost+found not found.  Create? yes\n\n"
	  "Pass 5: Checking group summary information\n"
	  "Free blocks count wrong (12, counted=14).\nFix? yes\n",
	  "Free blocks count wrong (12, counted=14).", "Free blocks count wrong (#, counted=#)." },
	{ "e2fsck -f -y {disk}",
	  "Inode 12 extent tree (at level 1) could be shorter.  Optimize? yes\n"
	  "/lost+found not found.  Create? yes\n"
	  "Unattached inode 13\nConnect to /lost+found? yes\n",
	  "Unattached inode 13", "Unattached inode #" },
	{ "e2fsck -f -y {disk}",
	  "/lost+found not found.  Create? yes\nCannot allocate space for /lost+found.\n"
	  "Place lost files in root directory instead? yes\n"
	  "Insufficient space to recover lost files!\n"
	  "Move data off the filesystem and re-run e2fsck.\nUnattached inode 13\n",
	  "Unattached inode 13", "Unattached inode #" },
	{ "e2fsck -p {disk}", "/lost+found not found.  CREATED.\n",
	  "/lost+found not found.  CREATED.", "PATH not found.  CREATED." },
	{ "xfs_repair -n {disk}",
	  "Phase 1 - find and verify superblock...\n"
	  "        - scan filesystem freespace and inode maps...\n"
	  "sb_fdblocks 12, counted 14\n"
	  "entry f12 in directory inode 128 points to free inode 131\n",
	  "entry f12 in directory inode 128 points to free inode 131",
	  "entry NAME in directory inode # points to free inode #" },
	{ "xfs_repair -e -o force_geometry {disk}",
	  "Cannot get host filesystem geometry.\n"
	  "Repair may fail if there is a sector size mismatch between\n"
	  "the image and the host filesystem.\nPhase 1 - find and verify superblock...\n"
	  "bad uuid for agf 2\ndone\n",
	  "bad uuid for agf 2", "bad uuid for agf #" },
	{ "reiserfsck -y -q --fix-fixable {disk}",
	  "reiserfsck 3.6.27\n\nWill check consistency of the filesystem on disk\n"
	  "and will fix what can be fixed without --rebuild-tree\n"
	  "Replaying journal: No transactions found\nComparing bitmaps..finished\n"
	  "Checking Semantic tree:\nvpf-10680: The file has the wrong block count\nfinished\n",
	  "vpf-10680: The file has the wrong block count",
	  "vpf-#: The file has the wrong block count" },
	{ "jfs_fsck -f -p {disk}",
	  "jfs_fsck version 1.1.15, 04-Mar-2011\n**Phase 2 - Count links\n"
	  "Incorrect link counts have been detected. Will correct.\n"
	  "    16384 kilobytes total disk space.\nFilesystem is clean.\n",
	  "Incorrect link counts have been detected. Will correct.",
	  "Incorrect link counts have been detected. Will correct." },
	{ "btrfs check --readonly {disk}",
	  "Opening filesystem to check...\nChecking filesystem on disk\n"
	  "UUID: 1b4e28ba-2fa1-11d2-883f-0016d3cca427\n[1/7] checking root items\n"
	  "root 5 inode 257 errors 2000, link count wrong\n"
	  "\tunresolved ref dir 256 index 2 namelen 3 name foo filetype 1 errors 4\n"
	  "ERROR: errors found in fs roots\nfound 147456 bytes used, error(s) found\n",
	  "root 5 inode 257 errors 2000, link count wrong",
	  "root # inode # errors #, link count wrong" },
	{ "fsck.minix -f {disk}",
	  "Forcing filesystem check on disk.\nZone 12: marked in use, no file uses it.\n"
	  "Inode 5 (mode = 0100644), i_nlinks=1, counted=2.\n",
	  "Inode 5 (mode = 0100644), i_nlinks=1, counted=2.",
	  "Inode # (mode = #), i_nlinks=#, counted=#." },
	/* The size of the disk is no problem. */
	{ "fsck.fat -a -w -V {disk}",
	  "fsck.fat 4.2 (2021-01-31)\n"
	  "Warning: Filesystem is FAT32 according to fat_length and fat32_length fields,\n"
	  "  but has only 8034 clusters, less than the required minimum of 65525.\n"
	  "  This may lead to problems on some systems.\n"
	  "/a\n  Contains a free cluster (3). Assuming EOF.\n",
	  "Contains a free cluster (3). Assuming EOF.",
	  "Contains a free cluster (#). Assuming EOF." },
	/* That a check was asked for is no problem, and the assertion that it dies of is one. */
	{ "fsck.ocfs2 -f -y {disk}",
	  "fsck.ocfs2 1.8.7\nChecking OCFS2 filesystem in /dev/loop1:\n"
	  "  Number of slots:    1\n\n/dev/loop1 was run with -f, check forced.\n"
	  "Pass 1: Checking inodes and blocks\n"
	  "fsck.ocfs2: refcount.c:446: refcount_extent_insert: Assertion `0' failed.\n"
	  "the checker died of SIGABRT\n",
	  "fsck.ocfs2: refcount.c:446: refcount_extent_insert: Assertion `0' failed.",
	  "fsck.ocfs#: refcount.c:#: refcount_extent_insert: Assertion NAME failed." },
	{ "fsck.gfs2 -f -y {disk}",
	  "Initializing fsck\nValidating resource group index.\n"
	  "Level 1 resource group check: Checking if all rgrp and rindex values are good.\n"
	  "(level 1 passed)\nRecovering journals (this may take a while)\n\n"
	  "Journal recovery complete.\nStarting pass1\nReconciling bitmaps.\n"
	  "reconcile_bitmaps completed in 0.000s\npass1 completed in 0.000s\n"
	  "Starting check_statfs\nThe statfs file is wrong:\n\nCurrent statfs values:\n"
	  "blocks:  4076 (0xfec)\nfree:    1741 (0x6cd)\ndinodes: 16 (0x10)\n\n"
	  "The statfs file was fixed.\ncheck_statfs completed in 0.000s\n"
	  "Writing changes to disk\nfsck.gfs2 complete\n",
	  "The statfs file is wrong:", "The statfs file is wrong:" },
	{ "reiserfsck -y -q --check {disk}",
	  "reiserfsck 3.6.27\n\nWill put log info to 'stdout'\n###########\n"
	  "Replaying journal: Replaying journal: Done.\n"
	  "Reiserfs journal '/dev/x' in blocks [18..531]: 0 transactions replayed\n"
	  "Checking Semantic tree:\nfinished\n"
	  "3 found corruptions can be fixed when running with --fix-fixable\n"
	  "vpf-10670: The file [2 4] has the wrong size in the StatData (0), should be (8192)\n",
	  "vpf-10670: The file [2 4] has the wrong size in the StatData (0), should be (8192)",
	  "vpf-#: The file [#] has the wrong size in the StatData (#), should be (#)" },
	/* An inode that is freed late is not what is wrong. */
	{ "fsck.gfs2 -f -y {disk}",
	  "Initializing fsck\n"
	  "RGs: Consistent: 1   Cleaned: 1   Inconsistent: 0   Fixed: 0   Total: 2\n"
	  "2 blocks may need to be freed in pass 5 due to the cleaned resource groups.\n"
	  "Journal block 1387 (0x56b): sequence no. 0x7 out of order.\nFixed.\n",
	  "Journal block 1387 (0x56b): sequence no. 0x7 out of order.",
	  "Journal block #): sequence no. # out of order." },
	{ "fsck.fat -n {disk}",
	  "fsck.fat 4.2 (2021-01-31)\n/F1.TXT\n"
	  "  File size is 12 bytes, cluster chain length is 0\n",
	  "File size is 12 bytes, cluster chain length is 0",
	  "File size is # bytes, cluster chain length is #" },
	/* labfs names its problems. */
	{ "",
	  "[501 BLOCK_BITMAP] block 12 is free but in use: set\n"
	  "[303 UNCONNECTED] inode 12 is in no directory: connected\n",
	  "[303 UNCONNECTED] inode 12 is in no directory: connected", "UNCONNECTED" },
	/* A checker that nobody knows. */
	{ "fsck.new {disk}", "\n---\nObject 12 is \"bad\"\n", "Object 12 is \"bad\"",
	  "Object # is NAME" },
};

static void test_problems(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++) {
		struct as_buf problem = { 0 }, sign = { 0 };

		assert_true(as_checker_problem(said[i].command, said[i].output, &problem));
		assert_string_equal(as_buf_str(&problem), said[i].problem);
		as_checker_problem_sign(said[i].command, as_buf_str(&problem), &sign);
		assert_string_equal(as_buf_str(&sign), said[i].sign);
		as_buf_free(&problem);
		as_buf_free(&sign);
	}
}

static void test_nothing(void **state)
{
	struct as_buf problem = { 0 };

	(void)state;
	assert_false(
		as_checker_problem("e2fsck -f -y {disk}", "Pass 1: Checking inodes\n\n", &problem));
	assert_false(as_checker_problem("", "", &problem));
	assert_int_equal(problem.len, 0);
	as_buf_free(&problem);
}

/* What a row calls harmless never names a finding where something else is said. */
static void test_harmless(void **state)
{
	const struct as_checker *checker;
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; (checker = as_checker_at(i)); i++)
		for (const struct as_checker_line *row = checker->lines; row->text; row++) {
			struct as_buf output = { 0 }, problem = { 0 };
			const char *before = strchr(row->text, '>'),
				   *after = strchr(row->text, '<');

			if (row->meaning != AS_LINE_HARMLESS)
				continue;
			as_buf_addf(&output, "%.*s\n%s\nInode 5 is bad\n",
				    after ? (int)(after - row->text) : 200,
				    before ? before + 1 : row->text, after ? after + 1 : "");
			assert_true(
				as_checker_problem(checker->name, as_buf_str(&output), &problem));
			assert_string_equal(as_buf_str(&problem), "Inode 5 is bad");
			as_buf_free(&output);
			as_buf_free(&problem);
			n++;
		}
	assert_true(n > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_problems),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
