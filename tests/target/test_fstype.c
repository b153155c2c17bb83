/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of file system types: every row is whole, and what is read from it is what it says. */
#include "tests/lib/skip.h"

#include "base/buf.h"
#include "target/fstype.h"

#include <string.h>

static const char *const major[] = { "ext3", "ext4",	 "xfs",	 "btrfs",  "f2fs",
				     "jfs",  "reiserfs", "gfs2", "nilfs2", "vfat" };

static size_t count_words(const char *text)
{
	char **words = as_fstype_argv(text, &(struct as_fstype_disks){ "d", "j", 1 });
	size_t n = 0;

	while (words && words[n])
		n++;
	as_fstype_free_words(words);
	return n;
}

static void test_rows(void **state)
{
	const struct as_fstype *type;
	unsigned n = 0;

	(void)state;
	for (; (type = as_fstype_at(n)); n++) {
		print_message("%s\n", type->name);
		assert_ptr_equal(as_fstype_find(type->name), type);
		assert_int_equal(as_fstype_index(type), n);
		assert_true(type->help && type->type && type->modules && type->package);
		assert_true(type->mount && type->draw);
		assert_non_null(strstr(type->mkfs, "{disk}"));
		assert_true(type->impossible || type->min_bytes);
		assert_true(type->default_bytes >= type->min_bytes);
		assert_int_equal(type->default_bytes % 512, 0);
		for (int i = 0; i < AS_CHECK_MODES; i++) {
			enum as_check_mode mode = (enum as_check_mode)i;
			const char *command = as_fstype_check(type, mode)->command;

			/* All or none, by the row that is named. */
			assert_true(!command == !type->checker);
			if (!command)
				continue;
			assert_non_null(strstr(command, "{disk}"));
			assert_ptr_equal(as_checker_find(command), as_fstype_checker(type));
			assert_int_equal(as_fstype_judge(type, mode, 127, ""), AS_CHECK_FAILED);
			assert_int_equal(as_fstype_judge(type, mode, -1, ""), AS_CHECK_FAILED);
		}
	}
	assert_true(n >= 18);
	assert_null(as_fstype_find("ext5"));
	assert_null(as_fstype_find(""));
}

static void test_options_to_draw(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(major) / sizeof(major[0]); i++)
		assert_true(count_words(as_fstype_find(major[i])->draw) >= 10);
}

static void test_words(void **state)
{
	static const struct as_fstype_disks disks = { "/a b", "/j", 4096 };
	char **argv = as_fstype_argv("mkfs  -s {size} x={disk}, -j {journal} {disk}", &disks);
	const char *const want[] = { "mkfs", "-s", "4096", "x=/a b,", "-j", "/j", "/a b" };

	(void)state;
	for (size_t i = 0; i < 7; i++)
		assert_string_equal(argv[i], want[i]);
	assert_null(argv[7]);
	as_fstype_free_words(argv);
	as_fstype_free_words(NULL);
}

static void test_environment(void **state)
{
	char **envp = as_fstype_envp(as_fstype_find("xfs"));
	bool path = false, qa = false;

	(void)state;
	for (size_t i = 0; envp[i]; i++) {
		path = path || !strncmp(envp[i], "PATH=/", 6);
		qa = qa || !strcmp(envp[i], "QA_CHECK_FS=y");
	}
	assert_true(path && qa);
	as_fstype_free_words(envp);
}

static const struct {
	const char *exits;
	int status;
	enum as_check_answer want;
} answers[] = {
	{ "0=clean 1=repaired 4=left", 0, AS_CHECK_CLEAN },
	{ "0=clean 1=repaired 4=left", 1, AS_CHECK_REPAIRED },
	{ "0=clean 1=repaired 4=left", 4, AS_CHECK_LEFT },
	{ "0=clean 1=repaired 4=left", 8, AS_CHECK_FAILED },
	{ "0=clean 5=repaired+left", 5, AS_CHECK_REPAIRED_LEFT },
	{ "0=clean 15=repaired", 1, AS_CHECK_FAILED },
	{ "", 0, AS_CHECK_FAILED },
};

static void test_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		const struct as_checker checker = { .name = "x", .exits = answers[i].exits };

		assert_int_equal(as_checker_answer(&checker, false, answers[i].status, "", NULL),
				 answers[i].want);
	}
}

static const struct {
	int status;
	const char *output;
	enum as_check_answer want;
} judged[] = {
	{ 0, "", AS_CHECK_CLEAN },
	{ 1, "", AS_CHECK_REPAIRED },
	{ 1, "Pass 3\n/lost+found not found.  Create? yes\nPass 4\n", AS_CHECK_CLEAN },
	{ 1, "/lost+found not found.  Create? yes\nInode 12 is a zero. Fix? yes\n",
	  AS_CHECK_REPAIRED },
	{ 1, "/lost+found not found.  CREATED.\nFree blocks count wrong.  FIXED.\n",
	  AS_CHECK_REPAIRED },
	{ 4, "/lost+found not found.  Create? yes\n", AS_CHECK_LEFT },
	/* The disk is full. */
	{ 1,
	  "/lost+found not found.  Create? yes\nCannot allocate space for /lost+found.\n"
	  "Place lost files in root directory instead? yes\n",
	  AS_CHECK_CLEAN },
	{ 1,
	  "Cannot allocate space for /lost+found.\n"
	  "Place lost files in root directory instead? yes\n",
	  AS_CHECK_REPAIRED },
	/* What was made is charged to somebody. */
	{ 1, "/lost+found not found.  Create? yes\nUpdate quota info for quota type 0? yes\n",
	  AS_CHECK_CLEAN },
	{ 1, "Update quota info for quota type 0? yes\n/lost+found not found.  Create? yes\n",
	  AS_CHECK_REPAIRED },
	{ 1, "Update quota info for quota type 0? yes\n", AS_CHECK_REPAIRED },
	{ 1,
	  "Inode 20 extent tree (at level 1) could be shorter.  Optimize? yes\n"
	  "Update quota info for quota type 1? yes\n",
	  AS_CHECK_CLEAN },
	{ 1, "Superblock hint for external superblock should be 0x703.  Fix? yes\n\nPass 1\n",
	  AS_CHECK_CLEAN },
	{ 1, "Pass 1E\nInode 12 extent tree (at level 1) could be shorter.  Optimize? yes\n",
	  AS_CHECK_CLEAN },
	{ 1,
	  "Inode 12 extent tree (at level 1) could be narrower.  Optimize? yes\n"
	  "/lost+found not found.  Create? yes\n",
	  AS_CHECK_CLEAN },
	{ 1,
	  "Inode 12 extent tree (at level 1) could be narrower.  Optimize? yes\n"
	  "Inode 12, i_blocks is 6, should be 4.  Fix? yes\n",
	  AS_CHECK_REPAIRED },
	{ 1, "Inode 12 is a zero.  Fix? yes\n", AS_CHECK_REPAIRED },
};

static void test_judged(void **state)
{
	const struct as_fstype *type = as_fstype_find("ext4");

	(void)state;
	for (size_t i = 0; i < sizeof(judged) / sizeof(judged[0]); i++)
		assert_int_equal(as_fstype_judge(type, AS_CHECK_FULL, judged[i].status,
						 judged[i].output),
				 judged[i].want);
}

/* What cannot be mounted says why. */
static void test_impossible(void **state)
{
	struct as_buf why = { 0 };

	(void)state;
	assert_true(as_fstype_lacks_tools(as_fstype_find("ubifs"), &why));
	assert_non_null(strstr(as_buf_str(&why), "UBI"));
	as_buf_free(&why);
}

/* Of xfs_repair, every line that is not one of progress tells of a repair. */
static void test_judged_by_progress(void **state)
{
	const struct as_fstype *type = as_fstype_find("xfs");
	static const char flags[] = "Phase 4 - check for duplicate blocks...\n        - agno = 0\n"
				    "clearing reflink flag on inodes when possible\n\ndone\n";
	static const char worse[] = "Phase 2 - using internal log\nbad magic number\n"
				    "clearing reflink flag on inodes when possible\ndone\n";

	(void)state;
	assert_int_equal(as_fstype_judge(type, AS_CHECK_FULL, 4, flags), AS_CHECK_CLEAN);
	assert_int_equal(as_fstype_judge(type, AS_CHECK_FULL, 4, worse), AS_CHECK_REPAIRED);
	assert_int_equal(as_fstype_judge(type, AS_CHECK_FULL, 4, "Phase 1\ndone\n"),
			 AS_CHECK_REPAIRED);
	assert_int_equal(as_fstype_judge(type, AS_CHECK_FULL, 0, flags), AS_CHECK_CLEAN);
}

/* What a row draws is taken by the type; these were refused, changed what is read, or did not keep
 * what they promise. */
static void test_options_not_drawn(void **state)
{
	static const struct {
		const char *type, *option;
	} never[] = {
		{ "vfat", "time_offset" }, { "ocfs2", "data=writeback" }, { "fuse2fs", "bsddf" },
		{ "fuse2fs", "acl" },	   { "overlay", "sync" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		assert_null(strstr(as_fstype_find(never[i].type)->draw, never[i].option));
}

/* What fsck.fat 4.2 prints of a disk of FAT32 that was not unmounted. */
#define FAT_SMALL                                                                         \
	"Warning: Filesystem is FAT32 according to fat_length and fat32_length fields,\n" \
	"  but has only 1984 clusters, less than the required minimum of 65525.\n"        \
	"  This may lead to problems on some systems.\n"
#define FAT_DIFFERENT(bytes)                                                            \
	"fsck.fat 4.2 (2021-01-31)\n"                                                   \
	"There are differences between boot sector and its backup.\n"                   \
	"This is mostly harmless. Differences: (offset:original/backup)\n  " bytes "\n" \
	"  Not automatically fixing this.\nStarting check/repair pass.\n"
#define FAT_DIRTY                                                                         \
	"Dirty bit is set. Fs was not properly unmounted and some data may be corrupt.\n" \
	" Automatically removing dirty bit.\n"
#define FAT_SUM "Starting verification pass.\n/dev/x: 0 files, 1/1984 clusters\n"
#define FAT_CHANGED "\n*** Filesystem was changed ***\nWriting changes.\n"

static void test_judged_dirty(void **state)
{
	static const struct {
		const char *output;
		enum as_check_answer want;
	} rows[] = {
		{ "fsck.fat 4.2 (2021-01-31)\n"
		  "Cannot initialize conversion from codepage 850 to X: Y\n" FAT_DIRTY FAT_SUM,
		  AS_CHECK_CLEAN },
		{ FAT_DIRTY FAT_CHANGED FAT_SUM, AS_CHECK_CLEAN },
		{ "Dirty bit is set.\n/A\n  Contains a free cluster.\n" FAT_SUM,
		  AS_CHECK_REPAIRED },
		/* The mark is in one of two boot sectors. */
		{ FAT_DIFFERENT("65:01/00") FAT_DIRTY FAT_SUM, AS_CHECK_CLEAN },
		{ FAT_SMALL FAT_DIFFERENT("65:01/00") FAT_DIRTY FAT_SUM, AS_CHECK_CLEAN },
		{ FAT_DIFFERENT("65:00/01") FAT_DIRTY FAT_SUM, AS_CHECK_CLEAN },
		{ FAT_DIFFERENT("65:03/02") FAT_DIRTY FAT_SUM, AS_CHECK_CLEAN },
		/* Something else is different, too, or instead. */
		{ FAT_DIFFERENT("65:01/00, 71:4e/00") FAT_DIRTY FAT_SUM, AS_CHECK_REPAIRED },
		{ FAT_DIFFERENT("65:01/00, 71:41/20") FAT_DIRTY FAT_SUM, AS_CHECK_REPAIRED },
		{ FAT_DIFFERENT("165:01/00") FAT_DIRTY FAT_SUM, AS_CHECK_REPAIRED },
		{ FAT_DIFFERENT("65:02/00") FAT_DIRTY FAT_SUM, AS_CHECK_REPAIRED },
		{ FAT_DIFFERENT("65:01/00") FAT_DIRTY "/A\n  Contains a free cluster.\n" FAT_SUM,
		  AS_CHECK_REPAIRED },
		/* It died, which it tells by the same status. */
		{ FAT_DIFFERENT("65:01/00") "Got 0 bytes instead of 8192 at 512\n",
		  AS_CHECK_FAILED },
		{ "Logical sector size is zero.\n", AS_CHECK_FAILED },
	};
	const struct as_fstype *type = as_fstype_find("vfat");

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(as_fstype_judge(type, AS_CHECK_FULL, 1, rows[i].output),
				 rows[i].want);
}

static void test_judged_minix(void **state)
{
	const struct as_fstype *type = as_fstype_find("minix");
	static const char mode[] = "Forcing filesystem check.\nInode 3 mode not cleared.\n---\n"
				   "FILE SYSTEM HAS BEEN CHANGED\n---\n",
			  more[] = "Inode 3 mode not cleared.\nZone 9: marked in use.\n";

	(void)state;
	assert_int_equal(as_fstype_judge(type, AS_CHECK_FULL, 3, mode), AS_CHECK_CLEAN);
	assert_int_equal(as_fstype_judge(type, AS_CHECK_FULL, 3, more), AS_CHECK_REPAIRED);
}

/* An inode that was removed while it was open is freed first, and then what it had. */
static void test_judged_gfs2(void **state)
{
	const struct as_fstype *type = as_fstype_find("gfs2");
#define CLEANED "RGs: Consistent: 1   Cleaned: 1   Inconsistent: 0   Fixed: 0   Total: 2\n"
#define FREED                                                                     \
	"Block 2341 (0x925) bitmap says 1 (data) but FSCK saw 0 (free)\nFixed.\n" \
	"RG #2074 (0x81a) free count inconsistent: is 1753 should be 1755\n"
#define STATFS "The statfs file is wrong:\n\nCurrent statfs values:\nfree:    17 (0x11)\n"
	static const struct {
		const char *output;
		enum as_check_answer want;
	} rows[] = {
		{ "Initializing fsck\n" CLEANED "Starting pass1\n" FREED STATFS, AS_CHECK_CLEAN },
		{ CLEANED "2 blocks may need to be freed in pass 5 due to the cleaned resource "
			  "groups.\n" FREED,
		  AS_CHECK_CLEAN },
		{ "Initializing fsck\nStarting pass1\n" FREED STATFS, AS_CHECK_REPAIRED },
		{ FREED CLEANED, AS_CHECK_REPAIRED },
		{ CLEANED "Block 9 (0x9) bitmap says 0 (free) but FSCK saw 1 (data)\n",
		  AS_CHECK_REPAIRED },
		{ CLEANED "Journal block 1387 (0x56b): sequence no. 0x7 out of order.\n",
		  AS_CHECK_REPAIRED },
		{ "RGs: Consistent: 0   Cleaned: 1   Inconsistent: 1   Fixed: 1   Total: 2\n" FREED,
		  AS_CHECK_REPAIRED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(as_fstype_judge(type, AS_CHECK_FULL, 1, rows[i].output),
				 rows[i].want);
}

/* What only a checker makes whole needs one; without, nothing is promised. */
static void test_repaired(void **state)
{
	const struct as_fstype *type;

	(void)state;
	for (unsigned i = 0; (type = as_fstype_at(i)); i++)
		if (type->guarantee == AS_GUARANTEE_REPAIR && !type->impossible &&
		    !as_fstype_check(type, AS_CHECK_FULL)->command &&
		    !(type->crash & AS_CRASH_NOTHING))
			fail_msg("%s: nothing repairs it", type->name);
}

/* A type on top of another one is recovered by the checker of that one, which may write maps of
 * blocks anew. */
static void test_maps_below(void **state)
{
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; as_fstype_at(i); i++) {
		const struct as_fstype *type = as_fstype_at(i), *below;

		if (!type->over)
			continue;
		below = as_fstype_find(type->over);
		assert_non_null(below);
		assert_int_equal(type->crash & AS_CRASH_MAP_ANEW, below->crash & AS_CRASH_MAP_ANEW);
		n++;
	}
	assert_true(n > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_options_to_draw),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_impossible),
		cmocka_unit_test(test_judged),
		cmocka_unit_test(test_judged_by_progress),
		cmocka_unit_test(test_options_not_drawn),
		cmocka_unit_test(test_repaired),
		cmocka_unit_test(test_judged_dirty),
		cmocka_unit_test(test_judged_minix),
		cmocka_unit_test(test_judged_gfs2),
		cmocka_unit_test(test_maps_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
