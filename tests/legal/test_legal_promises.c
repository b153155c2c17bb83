/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What single types and mount options promise beside their guarantee, more or less than others. In
 * each row the same tree is judged with a promise and without it.
 */
#include "tests/lib/mutate.h"
#include "tests/lib/told.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define P AS_GUARANTEE_PREFIX
#define O AS_GUARANTEE_OBJECT

/* As mount options have it: the row's words are applied to the policy of a type that has none. */
static const struct row {
	const char *name;
	enum as_guarantee guarantee;
	const char *workload;
	size_t state; /* the tree after that many operations ... */
	const char *how; /* ... changed like this */
	const char *with, *without; /* options */
	bool legal_with, legal_without;
} rows[] = {
#define TAKEN                                  \
	"create /f 0644\nsync\nrename /f /g\n" \
	"$0 = open /f O_RDWR|O_CREAT 0600\nfsync $0\n"
	{ "light fsync: the file that had the name", O, TAKEN, 5, "drop /g", "fsync_mode=posix",
	  "fsync_mode=strict", true, false },
	{ "light fsync: the file that was fsynced", O, TAKEN, 3, "", "fsync_mode=posix",
	  "fsync_mode=strict", false, false },
	{ "light fsync: a file whose name nobody took", O,
	  "create /f 0644\nsync\nrename /f /g\n$0 = open /x O_RDWR|O_CREAT 0600\nfsync $0\n", 5,
	  "drop /g", "fsync_mode=posix", "fsync_mode=strict", false, false },
	{ "light fsync: a directory that had the name", O,
	  "mkdir /d 0755\ncreate /d/k 0644\nsync\nrename /d /e\n"
	  "$0 = open /d O_RDWR|O_CREAT 0600\nfsync $0\n",
	  6, "drop /e", "fsync_mode=posix", "fsync_mode=strict", true, false },
	{ "light fsync: a link to the file that had the name", O,
	  "create /f 0644\nhardlink /f /h\nsync\nrename /f /g\n"
	  "$0 = open /f O_RDWR|O_CREAT 0600\nfsync $0\n",
	  6, "drop /g; nlink /h 1", "fsync_mode=posix", "fsync_mode=strict", true, false },
	{ "light fsync: data of a file that is being fsynced", O,
	  TAKEN "pwrite $0 len=100 at=0 fill=1\n", 6, "fill /f 0 100 9", "fsync_mode=posix",
	  "fsync_mode=strict", true, false },
#define WRITTEN                                                                \
	"$0 = open /f O_RDWR|O_CREAT 0644\n$1 = open /x O_RDWR|O_CREAT 0644\n" \
	"sync\npwrite $0 len=4096 at=0 fill=1\nmkdir /d 0755\n"
	{ "flushoncommit: names without data", O, WRITTEN, 5, "size /f 0", "flushoncommit",
	  "noflushoncommit", false, true },
	{ "flushoncommit: data that is written in place", O, WRITTEN, 5, "size /f 0",
	  "flushoncommit", "flushoncommit,nodatacow", false, true },
	{ "flushoncommit: half of the write that is under way next", O,
	  WRITTEN "pwrite $0 len=4096 at=4096 fill=2\n", 6, "size /f 6000", "flushoncommit",
	  "noflushoncommit", true, true },
	{ "flushoncommit: an fsync is no commit", O, WRITTEN "fchmod $1 0600\nfsync $1\n", 7,
	  "size /f 0", "flushoncommit", "noflushoncommit", true, true },
#define REPLACED                                                   \
	"create /f 0644\nsync\n$0 = open /g O_RDWR|O_CREAT 0600\n" \
	"pwrite $0 len=4096 at=0 fill=1\n"
	{ "auto_da_alloc: a file that replaced another is empty", P, REPLACED "rename /g /f\n", 5,
	  "size /f 0", "auto_da_alloc", "noauto_da_alloc", false, true },
	{ "auto_da_alloc: it is whole", P, REPLACED "rename /g /f\n", 5, "", "auto_da_alloc",
	  "noauto_da_alloc", true, true },
	{ "auto_da_alloc: not yet replaced", P, REPLACED "rename /g /f\n", 4, "size /g 0",
	  "auto_da_alloc", "noauto_da_alloc", true, true },
	{ "auto_da_alloc: what is written afterwards", P,
	  REPLACED "rename /g /f\npwrite $0 len=4096 at=4096 fill=2\nmkdir /d 0755\n", 7,
	  "size /f 4096", "auto_da_alloc", "noauto_da_alloc", true, true },
	{ "auto_da_alloc: what is cut off afterwards", P,
	  REPLACED "rename /g /f\nftruncate $0 10\nmkdir /d 0755\n", 7, "", "auto_da_alloc",
	  "noauto_da_alloc", true, true },
	{ "auto_da_alloc: a name that led nowhere", P, REPLACED "rename /g /h\n", 5, "size /h 0",
	  "auto_da_alloc", "noauto_da_alloc", true, true },
	{ "auto_da_alloc: another name of it is moved", P,
	  REPLACED "hardlink /g /h\nrename /h /k\n", 6, "size /g 0; size /k 0", "auto_da_alloc",
	  "noauto_da_alloc", true, true },
	{ "auto_da_alloc: an exchange replaces nothing", P,
	  REPLACED "rename2 /g /f RENAME_EXCHANGE\n", 5, "size /f 0", "auto_da_alloc",
	  "noauto_da_alloc", true, true },
#define EMPTIED                                                              \
	"$0 = open /f O_RDWR|O_CREAT 0600\npwrite $0 len=4096 at=0 fill=1\n" \
	"sync\nftruncate $0 0\n"
#define WRITTEN_AGAIN "pwrite $0 len=4096 at=0 fill=2\n"
	{ "auto_da_alloc: a file that was emptied, written and closed is empty", P,
	  EMPTIED WRITTEN_AGAIN "close $0\nmkdir /d 0755\n", 7, "size /f 0", "auto_da_alloc",
	  "noauto_da_alloc", false, true },
	{ "auto_da_alloc: it is whole, with zeros where its data is not yet written", P,
	  EMPTIED WRITTEN_AGAIN "close $0\nmkdir /d 0755\n", 7, "bytes /f 0 4096 0",
	  "auto_da_alloc", "noauto_da_alloc", true, true },
	{ "auto_da_alloc: emptied by O_TRUNC", P,
	  "$0 = open /f O_RDWR|O_CREAT 0600\npwrite $0 len=4096 at=0 fill=1\nsync\n"
	  "$1 = open /f O_RDWR|O_TRUNC\npwrite $1 len=4096 at=0 fill=2\nclose $1\n"
	  "mkdir /d 0755\n",
	  7, "size /f 100", "auto_da_alloc", "noauto_da_alloc", false, true },
	{ "auto_da_alloc: nothing is seen that came after the close", P,
	  EMPTIED WRITTEN_AGAIN "close $0\nmkdir /d 0755\n", 6, "size /f 0", "auto_da_alloc",
	  "noauto_da_alloc", true, true },
	{ "auto_da_alloc: it was not closed", P, EMPTIED WRITTEN_AGAIN "mkdir /d 0755\n", 6,
	  "size /f 0", "auto_da_alloc", "noauto_da_alloc", true, true },
	{ "auto_da_alloc: another file was closed", P,
	  "$1 = open /g O_RDWR|O_CREAT 0600\n" EMPTIED WRITTEN_AGAIN "close $1\nmkdir /d 0755\n", 8,
	  "size /f 0", "auto_da_alloc", "noauto_da_alloc", true, true },
	{ "auto_da_alloc: it was not emptied", P,
	  "$0 = open /f O_RDWR|O_CREAT 0600\nsync\n" WRITTEN_AGAIN "close $0\nmkdir /d 0755\n", 5,
	  "size /f 0", "auto_da_alloc", "noauto_da_alloc", true, true },
	{ "auto_da_alloc: blocks that fallocate gave it are not delayed", P,
	  EMPTIED "fallocate $0 KEEP_SIZE at=0 len=4096\n" WRITTEN_AGAIN
		  "close $0\nmkdir /d 0755\n",
	  8, "size /f 0", "auto_da_alloc", "noauto_da_alloc", true, true },
	{ "auto_da_alloc: only the first close counts", P,
	  "$1 = open /f O_RDWR|O_CREAT 0600\n" EMPTIED "close $1\n" WRITTEN_AGAIN
	  "close $0\nmkdir /d 0755\n",
	  9, "size /f 0", "auto_da_alloc", "noauto_da_alloc", true, true },
	{ "data=journal: names without data", P, WRITTEN, 5, "size /f 0", "data=journal",
	  "data=ordered", false, true },
};

static bool judge(const struct as_policy *policy, const char *workload, size_t state,
		  const char *how, char why[256])
{
	struct as_legal verdict = { 0 };
	struct as_tree *tree, *mutant;
	struct told told;
	bool legal;

	t_told_text(&told, policy, workload);
	tree = as_history_tree(told.history, state);
	mutant = t_mutate(tree, how);
	legal = as_legal_judge(told.history,
			       (struct as_moment){ as_history_len(told.history),
						   as_history_len(told.history), 0 },
			       mutant, &verdict);
	snprintf(why, 256, "%s", as_buf_str(&verdict.why));
	as_tree_put(tree);
	as_tree_put(mutant);
	as_legal_free(&verdict);
	t_told_end(&told);
	return legal;
}

static void test_options(void **state)
{
	int wrong = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int with = 0; with < 2; with++) {
			struct as_policy policy = { .guarantee = rows[i].guarantee,
						    .data = AS_DATA_ORDERED,
						    .fsync_names = true,
						    .fdatasync_names = true,
						    .block_bytes = 1024 };
			bool want = with ? rows[i].legal_with : rows[i].legal_without;
			char why[256];

			as_policy_mount(&policy, with ? rows[i].with : rows[i].without);
			if (judge(&policy, rows[i].workload, rows[i].state, rows[i].how, why) ==
			    want)
				continue;
			print_error("%s, %s: %s\n", rows[i].name,
				    with ? rows[i].with : rows[i].without, why);
			wrong++;
		}
	assert_int_equal(wrong, 0);
}

/* Of xfs: "sync" of a remount is for data alone. */
static void test_late_sync(void **state)
{
	static const struct {
		const char *workload, *how;
		size_t state;
		bool late, legal;
	} late[] = {
		{ "remount opts=sync\nmkdir /a 0755\n", "", 1, true, true },
		{ "remount opts=sync\nmkdir /a 0755\n", "", 1, false, false },
		{ "umount\nmount opts=sync\nmkdir /a 0755\n", "", 2, true, false },
		{ "$0 = open /f O_RDWR|O_CREAT 0644\nremount opts=sync\n"
		  "pwrite $0 len=9 at=0 fill=1\n",
		  "size /f 0", 3, true, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(late) / sizeof(late[0]); i++) {
		struct as_policy policy = { .guarantee = P,
					    .data = AS_DATA_ORDERED,
					    .fsync_names = true,
					    .late_sync = late[i].late,
					    .block_bytes = 1024 };
		char why[256];

		if (judge(&policy, late[i].workload, late[i].state, late[i].how, why) !=
		    late[i].legal)
			fail_msg("%zu: %s", i, why);
	}
}

static const struct {
	const char *name;
	enum as_guarantee guarantee;
	const char *workload;
	size_t state;
	bool legal_with, legal_without; /* fdatasync_names */
} fdatasyncs[] = {
	{ "a new empty file", P, "$0 = open /f O_RDWR|O_CREAT 0644\nfdatasync $0\n", 0, false,
	  true },
	{ "a new file with data", P,
	  "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=9 at=0 fill=1\nfdatasync $0\n", 0, false,
	  false },
	{ "a new empty file", O, "$0 = open /f O_RDWR|O_CREAT 0644\nfdatasync $0\n", 0, false,
	  true },
	{ "a new file with data", O,
	  "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=9 at=0 fill=1\nfdatasync $0\n", 0, false,
	  false },
	{ "a new name", O, "$0 = open /f O_RDWR|O_CREAT 0644\nsync\nrename /f /g\nfdatasync $0\n",
	  2, false, true },
	{ "fsync of the same", O,
	  "$0 = open /f O_RDWR|O_CREAT 0644\nsync\nrename /f /g\nfsync $0\n", 2, false, false },
	/* ext4 need not commit for a file that grew and was cut again (ext4_do_update_inode()). */
	{ "grown and cut to the old size", P,
	  "$0 = open /f O_RDWR|O_CREAT 0644\nsync\npwrite $0 len=9 at=0 fill=1\nmkdir /d 0755\n"
	  "ftruncate $0 0\nfdatasync $0\n",
	  2, true, true },
	{ "cut to another size", P,
	  "$0 = open /f O_RDWR|O_CREAT 0644\nsync\npwrite $0 len=9 at=0 fill=1\nmkdir /d 0755\n"
	  "ftruncate $0 5\nfdatasync $0\n",
	  2, false, false },
	{ "grown, made stable, and cut", P,
	  "$0 = open /f O_RDWR|O_CREAT 0644\nsync\npwrite $0 len=9 at=0 fill=1\nsync\n"
	  "mkdir /d 0755\nftruncate $0 0\nfdatasync $0\n",
	  4, false, false },
};

static void test_fdatasync(void **state)
{
	int wrong = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(fdatasyncs) / sizeof(fdatasyncs[0]); i++)
		for (int with = 0; with < 2; with++) {
			struct as_policy policy = { .guarantee = fdatasyncs[i].guarantee,
						    .data = AS_DATA_ORDERED,
						    .fsync_names = true,
						    .fdatasync_names = with,
						    .block_bytes = 1024 };
			char why[256];

			if (judge(&policy, fdatasyncs[i].workload, fdatasyncs[i].state, "", why) ==
			    (with ? fdatasyncs[i].legal_with : fdatasyncs[i].legal_without))
				continue;
			print_error("%s, %s names: %s\n", fdatasyncs[i].name,
				    with ? "with" : "without", why);
			wrong++;
		}
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_late_sync),
		cmocka_unit_test(test_fdatasync),
	};

	return cmocka_run_group_tests_name("legal promises", tests, NULL, NULL);
}
