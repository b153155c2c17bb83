/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules of file systems with an ordered log, row by row: a workload, a moment, a tree (a state of
 * the model, changed by hand), and what is to be said of it. NULL: it is legal.
 */
#include "mutate.h"
#include "told.h"

#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

struct row {
	const char *name;
	enum as_data_rule data;
	const char *workload;
	size_t done, begun;
	size_t state; /* the tree after that many operations ... */
	const char *how; /* ... changed like this */
	const char *rule; /* NULL: legal */
	const char *why; /* words that must be in it */
	size_t op; /* blamed */
};

#define NO AS_LEGAL_NO_OP
#define O AS_DATA_ORDERED

#define TWO_FILES            \
	"mkdir /a 0755\n"    \
	"create /a/f 0644\n" \
	"sync\n"             \
	"create /a/g 0644\n" \
	"chmod /a/f 0600\n"

#define FSYNCED                                \
	"mkdir /a 0755\n"                      \
	"create /b 0644\n"                     \
	"$0 = open /a/f O_RDWR|O_CREAT 0644\n" \
	"pwrite $0 len=4096 at=0 fill=7\n"     \
	"fsync $0\n"                           \
	"create /c 0644\n"                     \
	"pwrite $0 len=1024 at=0 fill=8\n"

#define RENAMED              \
	"mkdir /a 0755\n"    \
	"create /a/f 0644\n" \
	"mkdir /b 0755\n"    \
	"sync\n"             \
	"rename /a/f /b/f\n" \
	"create /x 0644\n"

#define UNLINKED           \
	"create /f 0644\n" \
	"create /g 0644\n" \
	"sync\n"           \
	"unlink /f\n"      \
	"sync\n"           \
	"create /h 0644\n"

#define WRITES                                \
	"$0 = open /f O_RDWR|O_CREAT 0644\n"  \
	"pwrite $0 len=4096 at=0 fill=1\n"    \
	"fsync $0\n"                          \
	"pwrite $0 len=4096 at=2048 fill=2\n" \
	"mkdir /d 0755\n"

#define CUT                                  \
	"$0 = open /f O_RDWR|O_CREAT 0644\n" \
	"pwrite $0 len=4096 at=0 fill=1\n"   \
	"sync\n"                             \
	"ftruncate $0 0\n"                   \
	"pwrite $0 len=4096 at=0 fill=2\n"   \
	"mkdir /d 0755\n"

#define RANGE                                \
	"$0 = open /f O_RDWR|O_CREAT 0644\n" \
	"$1 = open /f O_RDWR|O_DSYNC\n"      \
	"pwrite $0 len=4096 at=0 fill=1\n"   \
	"pwrite $1 len=1024 at=8192 fill=2\n"

static const struct row rows[] = {
	/* Prefix. */
	{ "as it is", O, TWO_FILES, 5, 5, 5, "", NULL, NULL, NO },
	{ "all since the sync is lost", O, TWO_FILES, 5, 5, 3, "", NULL, NULL, NO },
	{ "the last is lost", O, TWO_FILES, 5, 5, 4, "", NULL, NULL, NO },
	{ "an operation under way has happened", O, TWO_FILES, 4, 5, 5, "", NULL, NULL, NO },
	{ "an operation to come", O, TWO_FILES, 4, 4, 5, "", "persisted",
	  "after sync at op 2, /a/f must have mode 0644; recovered tree has 0600", 2 },
	{ "from before the sync", O, TWO_FILES, 5, 5, 1, "", "persisted",
	  "after sync at op 2, /a/f must exist; recovered tree has no /a/f", 2 },
	{ "nothing at all", O, TWO_FILES, 5, 5, 0, "", "persisted",
	  "after sync at op 2, /a must exist; recovered tree has no /a", 2 },
	{ "not in order", O, TWO_FILES, 5, 5, 3, "mode /a/f 0600", "prefix",
	  "no one moment since sync at op 2", NO },
	{ "a name from nowhere", O, TWO_FILES, 5, 5, 5, "file /zz 0644", "prefix",
	  "no operation ever made it", NO },
	{ "a mode from nowhere", O, TWO_FILES, 5, 5, 5, "mode /a 0700", "persisted",
	  "after sync at op 2, /a must have mode 0755; recovered tree has 0700", 2 },
	{ "an owner from nowhere", O, TWO_FILES, 5, 5, 5, "uid /a/g 7", "prefix",
	  "/a/g must belong to 0:0", NO },
	/* fsync of a file brings its name and all before it. */
	{ "after fsync", O, FSYNCED, 5, 5, 5, "", NULL, NULL, NO },
	{ "the fsynced file is gone", O, FSYNCED, 5, 5, 2, "", "persisted",
	  "after fsync of /a/f at op 4, /a/f must exist; recovered tree has no /a/f", 4 },
	{ "the directory above it is gone", O, FSYNCED, 5, 5, 0, "", "persisted",
	  "after fsync of /a/f at op 4, /a/f must exist; recovered tree has no /a", 4 },
	{ "fsync under way promises nothing", O, FSYNCED, 4, 5, 0, "", NULL, NULL, NO },
	{ "what came before the file is gone", O, FSYNCED, 5, 5, 5, "drop /b", "persisted",
	  "/b must exist", 4 },
	{ "what came later may be gone", O, FSYNCED, 7, 7, 5, "", NULL, NULL, NO },
	{ "a file nobody touched promises nothing", O,
	  "create /f 0644\nsync\nmkdir /d 0755\n$0 = open /f O_RDWR\nfsync $0\n", 5, 5, 2, "", NULL,
	  NULL, NO },
	{ "fsync of a directory", O,
	  "mkdir /a 0755\n$0 = open /a O_RDONLY|O_DIRECTORY\ncreate /a/f 0644\nfsync $0\n", 4, 4, 1,
	  "", "persisted",
	  "after fsync of /a at op 3, /a must have \"f\"; recovered tree has it not", 3 },
	{ "fdatasync brings no mode", O,
	  "$0 = open /f O_RDWR|O_CREAT 0644\nsync\nchmod /f 0600\nfdatasync $0\n", 4, 4, 2, "",
	  NULL, NULL, NO },
	{ "fsync brings the mode", O,
	  "$0 = open /f O_RDWR|O_CREAT 0644\nsync\nchmod /f 0600\nfsync $0\n", 4, 4, 2, "",
	  "persisted", "after fsync of /f at op 3, /f must have mode 0600; recovered tree has 0644",
	  3 },
	{ "fsync brings attributes", O,
	  "$0 = open /f O_RDWR|O_CREAT 0644\nsync\nwrite_xattr /f user.x len=10 fill=3\nfsync $0\n",
	  4, 4, 2, "", "persisted", "/f must have the attribute user.x; recovered tree has not",
	  3 },
	{ "fsync brings a second name", O,
	  "$0 = open /f O_RDWR|O_CREAT 0644\nsync\nhardlink /f /g\nfsync $0\n", 4, 4, 2, "",
	  "persisted", "after fsync of /f at op 3, /f must have 2 links; recovered tree has 1", 3 },
	{ "fsync brings a rename", O,
	  "$0 = open /f O_RDWR|O_CREAT 0644\nsync\nrename /f /g\nfsync $0\n", 4, 4, 2, "",
	  "persisted", "after fsync of /g at op 3, /g must exist; recovered tree has no /g", 3 },
	{ "a failed fsync brings nothing", O, "create /f 0644\nfsync $3\n", 2, 2, 0, "", NULL, NULL,
	  NO },
	{ "sync_file_range brings nothing", O,
	  "$0 = open /f O_RDWR|O_CREAT 0644\nsync_file_range $0 at=0 len=0 flags=SYNC_FILE_RANGE_WAIT_BEFORE|SYNC_FILE_RANGE_WRITE|SYNC_FILE_RANGE_WAIT_AFTER\n",
	  2, 2, 0, "", NULL, NULL, NO },
	/* Renames. */
	{ "renamed", O, RENAMED, 5, 5, 5, "", NULL, NULL, NO },
	{ "not renamed", O, RENAMED, 5, 5, 4, "", NULL, NULL, NO },
	{ "neither name", O, RENAMED, 6, 6, 4, "drop /a/f", "rename", "has neither /a/f nor /b/f",
	  4 },
	{ "both names", O, RENAMED, 6, 6, 4, "link /a/f /b/f", "rename",
	  "the same file as /a/f and as /b/f", 4 },
	{ "both names, counted", O, RENAMED, 6, 6, 4, "link /a/f /b/f; nlink /a/f 2; nlink /b/f 2",
	  "rename", "the same file", 4 },
	/* Links. */
	{ "a count too high", O, TWO_FILES, 5, 5, 5, "nlink /a/f 2", "links",
	  "/a/f has link count 2, but 1 names", NO },
	{ "a directory's count", O, TWO_FILES, 5, 5, 5, "nlink /a 3", "links",
	  "/a has link count 3, but 2 directories", NO },
	{ "a second name without a count", O, "create /f 0644\nsync\nhardlink /f /g\n", 3, 3, 2,
	  "link /f /g", "links", "link count 1, but 2 names", NO },
	{ "two files for two links", O, "create /f 0644\nhardlink /f /g\n", 2, 2, 2,
	  "drop /g; file /g 0644; nlink /g 2", "links", "link count 2, but 1 names", NO },
	/* Resurrection. */
	{ "a removed file is back", O, UNLINKED, 6, 6, 6, "file /f 0644", "resurrected",
	  "after sync at op 4, /f is removed for good; recovered tree has it again", 4 },
	{ "removed, not yet for good", O, UNLINKED, 4, 4, 3, "", NULL, NULL, NO },
	/* One operation, half. */
	{ "half an exchange", O,
	  "create /a 0600\ncreate /b 0644\nsync\nrename2 /a /b RENAME_EXCHANGE\n", 4, 4, 3,
	  "mode /a 0644", "atomic", "op 3 (rename2 /a /b RENAME_EXCHANGE) is half done", 3 },
	/* Operations of many calls. */
	{ "half of enlarge", O, "mkdir /a 0755\nsync\nenlarge /a 4\n", 3, 3, 2,
	  "dir /a/e0 0755; dir /a/e1 0755", NULL, NULL, NO },
	{ "enlarge out of order", O, "mkdir /a 0755\nsync\nenlarge /a 4\n", 3, 3, 2,
	  "dir /a/e0 0755; dir /a/e2 0755", "prefix", "", NO },
	{ "half of deepen", O, "mkdir /a 0755\nsync\ndeepen /a 3\n", 2, 3, 2,
	  "dir /a/d 0755; dir /a/d/d 0755", NULL, NULL, NO },
	{ "half of remove", O,
	  "mkdir /a 0755\ncreate /a/f 0644\ncreate /a/g 0644\nsync\nremove /a\n", 5, 5, 4,
	  "drop /a/f", NULL, NULL, NO },
	{ "remove out of order", O,
	  "mkdir /a 0755\ncreate /a/f 0644\ncreate /a/g 0644\nsync\nremove /a\n", 5, 5, 4,
	  "drop /a/g", "persisted", "/a/g must exist", 3 },
	/* Data. */
	{ "overwritten in part, in any order", O, WRITES, 5, 5, 5, "fill /f 3000 1000 1", NULL,
	  NULL, NO },
	{ "new data lost, size and all", O, WRITES, 5, 5, 5, "size /f 4096; fill /f 2048 2048 1",
	  NULL, NULL, NO },
	{ "on the way to the new size", O, WRITES, 5, 5, 5, "size /f 5000; bytes /f 4096 904 0",
	  NULL, NULL, NO },
	{ "zeros behind the old end", O, WRITES, 5, 5, 5, "bytes /f 4096 2048 0", NULL, NULL, NO },
	{ "zeros over old data", O, WRITES, 5, 5, 5, "bytes /f 1024 512 0", "data",
	  "after fsync of /f at op 2, byte 1024 of /f must be what it was then or became since; recovered tree has zeros",
	  2 },
	{ "shorter than it was made stable", O, WRITES, 5, 5, 5, "size /f 4095", "size",
	  "after fsync of /f at op 2, /f must have at least 4096 bytes; recovered tree has 4095",
	  2 },
	{ "longer than ever", O, WRITES, 5, 5, 5, "size /f 6145", "size",
	  "/f can have 6144 bytes at most; recovered tree has 6145", 2 },
	{ "not yet written so far", O, WRITES, 3, 3, 3, "size /f 6144; fill /f 2048 4096 2", "size",
	  "can have 4096 bytes at most", 2 },
	{ "bytes nobody wrote", O, WRITES, 5, 5, 5, "bytes /f 5000 100 0xaa", "foreign",
	  "bytes that no operation wrote", 2 },
	{ "one wrong byte", O, WRITES, 5, 5, 5, "bytes /f 17 1 0xaa", "foreign", "byte 17 of /f",
	  2 },
	{ "data of another file", O,
	  "$0 = open /f O_RDWR|O_CREAT 0644\n$1 = open /g O_RDWR|O_CREAT 0644\npwrite $0 len=4096 at=0 fill=1\n"
	  "pwrite $1 len=4096 at=0 fill=2\n",
	  4, 4, 4, "fill /f 0 1024 2", "foreign", "recovered tree has data of /g", NO },
	{ "data of a removed file", O,
	  "$0 = open /f O_RDWR|O_CREAT 0644\n$1 = open /g O_RDWR|O_CREAT 0644\npwrite $0 len=4096 at=0 fill=1\n"
	  "unlink /f\nclose $0\npwrite $1 len=4096 at=0 fill=2\n",
	  6, 6, 6, "fill /g 0 1024 1", "foreign", "data of a file that was removed", NO },
	{ "stale data is allowed with writeback", AS_DATA_WRITEBACK,
	  "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=4096 at=0 fill=1\n", 2, 2, 2,
	  "bytes /f 0 1024 0x55", NULL, NULL, NO },
	{ "but not where it was made stable", AS_DATA_WRITEBACK,
	  "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=4096 at=0 fill=1\nfsync $0\n", 3, 3, 3,
	  "bytes /f 0 1024 0x55", "foreign", "", 2 },
	{ "cut, and nothing later", O, CUT, 6, 6, 6, "drop /d", NULL, NULL, NO },
	{ "not cut yet", O, CUT, 6, 6, 3, "", NULL, NULL, NO },
	{ "cut, with what came later", O, CUT, 6, 6, 6, "size /f 0", NULL, NULL, NO },
	{ "the truncate is missing, what came later is there", O, CUT, 6, 6, 6, "fill /f 0 4096 1",
	  "data", "what was there before", 2 },
	{ "the size before the truncate", O,
	  "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=4096 at=0 fill=1\nsync\nftruncate $0 100\nmkdir /d 0755\n",
	  5, 5, 5, "size /f 4096", "size", "/f can have 100 bytes at most; recovered tree has 4096",
	  2 },
	{ "data is part of the journal", AS_DATA_JOURNAL, WRITES, 5, 5, 5, "", NULL, NULL, NO },
	{ "data of another moment", AS_DATA_JOURNAL, WRITES, 5, 5, 5,
	  "size /f 4096; fill /f 2048 2048 1", "size", "", 2 },
	{ "a write under way, in part", AS_DATA_JOURNAL, WRITES, 3, 4, 4, "size /f 5120", NULL,
	  NULL, NO },
	/* Ranges. */
	{ "a write with O_DSYNC", O, RANGE, 4, 4, 4, "bytes /f 0 4096 0", NULL, NULL, NO },
	{ "a write with O_DSYNC is lost", O, RANGE, 4, 4, 4, "bytes /f 8192 1024 0", "data",
	  "after pwrite with O_DSYNC to /f at op 3, byte 8192 of /f", 3 },
	{ "its size is lost", O, RANGE, 4, 4, 4, "size /f 4096", "size", "at least 9216 bytes", 3 },
	{ "its file is lost", O, RANGE, 4, 4, 0, "", "persisted",
	  "after pwrite with O_DSYNC to /f at op 3, /f must exist", 3 },
	{ "a write with O_SYNC", O,
	  "$0 = open /f O_RDWR|O_CREAT|O_SYNC 0644\npwrite $0 len=10 at=0 fill=1\n", 2, 2, 0, "",
	  "persisted", "after pwrite with O_SYNC to /f at op 1, /f must exist", 1 },
	{ "msync", O,
	  "$0 = open /f O_RDWR|O_CREAT 0644\nftruncate $0 8192\nsync\nmmap_write $0 len=4096 at=0 fill=4 flags=MS_SYNC\n",
	  4, 4, 3, "", "data", "after mmap_write with MS_SYNC to /f at op 3", 3 },
	{ "msync, not waited for", O,
	  "$0 = open /f O_RDWR|O_CREAT 0644\nftruncate $0 8192\nsync\nmmap_write $0 len=4096 at=0 fill=4 flags=MS_ASYNC\n",
	  4, 4, 3, "", NULL, NULL, NO },
	{ "collapsed, on the way", O,
	  "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=4096 at=0 fill=1\nsync\nfallocate $0 COLLAPSE_RANGE at=1024 len=1024\n",
	  4, 4, 4, "bytes /f 1024 1024 0", NULL, NULL, NO },
	{ "copied data stands elsewhere", O,
	  "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=4096 at=0 fill=1\n$1 = open /g O_RDWR|O_CREAT 0644\n"
	  "copy_file_range $0 $1 len=1000 at=1003 to=24\nfsync $1\n",
	  5, 5, 5, "", NULL, NULL, NO },
	/* Mount options. */
	{ "dirsync", O, "remount opts=dirsync\nmkdir /a 0755\n", 2, 2, 1, "", "persisted",
	  "/a must exist", 1 },
	{ "mounted with sync, a write", O,
	  "$0 = open /f O_RDWR|O_CREAT 0644\nremount opts=sync\npwrite $0 len=100 at=0 fill=1\n", 3,
	  3, 3, "size /f 0", "size", "", 2 },
	{ "without barriers nothing is promised", O,
	  "mkdir /a 0755\nremount opts=nobarrier\nsync\nmkdir /b 0755\n", 3, 3, 0, "", NULL, NULL,
	  NO },
	{ "unmounted", O, "mkdir /a 0755\numount\n", 2, 2, 0, "", "persisted",
	  "after umount at op 1, /a must exist", 1 },
	{ "a crash in the middle", O, "mkdir /a 0755\ncrash\n", 2, 2, 0, "", NULL, NULL, NO },
	{ "a crash behind a sync", O, "mkdir /a 0755\nsync\ncrash\n", 3, 3, 0, "", "persisted", "",
	  1 },
};

/* What is wrong is printed, and how much of it returned. */
static int complain(const struct row *row, const struct as_legal *verdict, const char *what)
{
	print_error("%s: %s (%s, op %zd: %s)\n", row->name, what,
		    verdict->legal ? "legal" : as_rule_name(verdict->rule), verdict->op,
		    as_buf_str(&verdict->why));
	return 1;
}

static int check_verdict(const struct row *row, const struct as_legal *verdict)
{
	if (verdict->legal != !row->rule)
		return complain(row, verdict, "wrong verdict");
	if (verdict->legal)
		return 0;
	if (strcmp(as_rule_name(verdict->rule), row->rule) != 0)
		return complain(row, verdict, "another rule");
	if (!strstr(as_buf_str(&verdict->why), row->why))
		return complain(row, verdict, "other words");
	if (verdict->op != row->op)
		return complain(row, verdict, "blames another operation");
	if (strpbrk(as_buf_str(&verdict->signature), "013456789/"))
		return complain(row, verdict, as_buf_str(&verdict->signature));
	return 0;
}

static int check_row(const struct row *row)
{
	struct as_policy policy = {
		.guarantee = AS_GUARANTEE_PREFIX,
		.data = row->data,
		.fsync_names = true,
		.block_bytes = 1024,
	};
	struct as_legal verdict = { 0 };
	struct as_tree *tree, *mutant;
	struct told told;
	int wrong = 0;

	told_text(&told, &policy, row->workload);
	tree = as_history_tree(told.history, row->state);
	mutant = mutate(tree, row->how);
	/* Twice: the second time from memory. */
	for (int again = 0; again < 2 && !wrong; again++) {
		(void)as_legal_judge(told.history, (struct as_moment){ row->done, row->begun },
				     mutant, &verdict);
		wrong = check_verdict(row, &verdict);
	}
	as_tree_put(tree);
	as_tree_put(mutant);
	as_legal_free(&verdict);
	told_end(&told);
	return wrong;
}

static void test_rows(void **state)
{
	int wrong = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		wrong += check_row(&rows[i]);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows) };

	return cmocka_run_group_tests_name("legal prefix", tests, NULL, NULL);
}
