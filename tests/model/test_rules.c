/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules one by one: a short workload, and what its last operation must answer. */
#include "tests/lib/model.h"

#include "model/state.h"

#include <errno.h>
#include <stdio.h>

struct row {
	const char *name, *text;
	int want;
};

#define LONG_5 "aaaaa"
#define LONG_25 LONG_5 LONG_5 LONG_5 LONG_5 LONG_5
#define LONG_125 LONG_25 LONG_25 LONG_25 LONG_25 LONG_25
#define LONG_255 LONG_125 LONG_125 LONG_5

static const struct row rows[] = {
	{ "mkdir", "mkdir /a 0755", 0 },
	{ "mkdir twice", "mkdir /a 0755\nmkdir /a 0755", EEXIST },
	{ "mkdir with a slash", "mkdir /a/ 0755", 0 },
	{ "mkdir of the root", "mkdir / 0755", EEXIST },
	{ "mkdir below nothing", "mkdir /a/b 0755", ENOENT },
	{ "mkdir below a file", "create /f 0644\nmkdir /f/b 0755", ENOTDIR },
	{ "mkdir .", "mkdir . 0755", EEXIST },
	{ "mkdir ..", "mkdir .. 0755", EEXIST },
	{ "create with a slash", "create /f/ 0644", EISDIR },
	{ "create over", "create /f 0644\ncreate /f 0644", EEXIST },
	{ "create over a dangling link", "symlink x /l\ncreate /l 0644", EEXIST },
	{ "name of 255", "mkdir /" LONG_255 " 0755", 0 },
	{ "name of 256", "mkdir /" LONG_255 "x 0755", ENAMETOOLONG },
	{ "rename looks at both parents first", "rename /" LONG_255 "x /a/b", ENOENT },
	{ "rename to a long name needs something to rename", "rename /f /" LONG_255 "x", ENOENT },
	{ "rename to a long name", "create /f 0644\nrename /f /" LONG_255 "x", ENAMETOOLONG },
	{ "long name where nothing is", "mkdir /a 0755\nchcwd /a\nrmdir /a\nstat " LONG_255 "x",
	  ENOENT },
	{ "mknod with a slash", "mknod /p/ fifo 0644", ENOENT },
	{ "hardlink", "create /f 0644\nhardlink /f /g", 0 },
	{ "hardlink of a directory", "mkdir /a 0755\nhardlink /a /b", EPERM },
	{ "hardlink over", "create /f 0644\ncreate /g 0644\nhardlink /f /g", EEXIST },
	{ "hardlink of nothing", "hardlink /f /g", ENOENT },
	{ "hardlink to slash", "create /f 0644\nhardlink /f /g/", ENOENT },
	{ "symlink to nothing", "symlink \"\" /l", ENOENT },
	{ "symlink over", "create /f 0644\nsymlink x /f", EEXIST },
	{ "stat through a link", "mkdir /a 0755\nsymlink a /l\nstat /l/", 0 },
	{ "stat of a dangling link", "symlink x /l\nstat /l", ENOENT },
	{ "lstat of a dangling link", "symlink x /l\nstat /l nofollow=1", 0 },
	{ "loop", "symlink l /l\nstat /l", ELOOP },
	{ "loop in the middle", "symlink m /l\nsymlink l /m\nmkdir /l/x 0755", ELOOP },
	{ "absolute link", "mkdir /a 0755\nmkdir /b 0755\nsymlink /a /b/l\nmkdir /b/l/x 0755", 0 },
	{ "relative link",
	  "mkdir /a 0755\nmkdir /a/b 0755\nsymlink ../b /a/b/l\nstat /a/b/l/../b/l", 0 },
	{ "slash on a file", "create /f 0644\nstat /f/", ENOTDIR },
	{ "through a file", "create /f 0644\nstat /f/..", ENOTDIR },
	{ "dots of the root", "stat /../../..", 0 },
	{ "empty path", "stat \"\"", ENOENT },
	{ "rename to itself", "create /f 0644\nrename /f /f", 0 },
	{ "rename of links of one file", "create /f 0644\nhardlink /f /g\nrename /f /g\nstat /f",
	  0 },
	{ "rename of nothing", "rename /f /g", ENOENT },
	{ "rename file over directory", "create /f 0644\nmkdir /a 0755\nrename /f /a", EISDIR },
	{ "rename directory over file", "create /f 0644\nmkdir /a 0755\nrename /a /f", ENOTDIR },
	{ "rename over empty", "mkdir /a 0755\nmkdir /b 0755\nrename /a /b", 0 },
	{ "rename over non-empty", "mkdir /a 0755\nmkdir /b 0755\ncreate /b/f 0644\nrename /a /b",
	  ENOTEMPTY },
	{ "rename into itself", "mkdir /a 0755\nrename /a /a/b", EINVAL },
	{ "rename into below", "mkdir /a 0755\nmkdir /a/b 0755\nrename /a /a/b/c", EINVAL },
	{ "rename over above", "mkdir /a 0755\nmkdir /a/b 0755\nrename /a/b /a", ENOTEMPTY },
	{ "rename of .", "rename . /x", EBUSY },
	{ "rename of the root", "rename / /x", EBUSY },
	{ "rename to ..", "create /f 0644\nrename /f ..", EBUSY },
	{ "rename file to slash", "create /f 0644\nrename /f /g/", ENOTDIR },
	{ "rename directory to slash", "mkdir /a 0755\nrename /a/ /b/", 0 },
	{ "NOREPLACE on something",
	  "create /f 0644\ncreate /g 0644\nrename2 /f /g RENAME_NOREPLACE", EEXIST },
	{ "NOREPLACE on nothing", "create /f 0644\nrename2 /f /g RENAME_NOREPLACE", 0 },
	{ "EXCHANGE with nothing", "create /f 0644\nrename2 /f /g RENAME_EXCHANGE", ENOENT },
	{ "EXCHANGE of kinds",
	  "create /f 0644\nmkdir /a 0755\nrename2 /f /a RENAME_EXCHANGE\nmkdir /f/x 0755", 0 },
	{ "EXCHANGE with above", "mkdir /a 0755\nmkdir /a/b 0755\nrename2 /a /a/b RENAME_EXCHANGE",
	  EINVAL },
	{ "EXCHANGE and NOREPLACE",
	  "create /f 0644\ncreate /g 0644\nrename2 /f /g RENAME_NOREPLACE|RENAME_EXCHANGE",
	  EINVAL },
	{ "WHITEOUT", "create /f 0644\nrename2 /f /g RENAME_WHITEOUT\ncreate /f 0644", EEXIST },
	{ "unlink of a directory", "mkdir /a 0755\nunlink /a", EISDIR },
	{ "unlink with a slash", "create /f 0644\nunlink /f/", ENOTDIR },
	{ "unlink /", "unlink /", EISDIR },
	{ "rmdir of a file", "create /f 0644\nrmdir /f", ENOTDIR },
	{ "rmdir of a link", "mkdir /a 0755\nsymlink a /l\nrmdir /l", ENOTDIR },
	{ "rmdir non-empty", "mkdir /a 0755\ncreate /a/f 0644\nrmdir /a", ENOTEMPTY },
	{ "rmdir .", "rmdir .", EINVAL },
	{ "rmdir ..", "rmdir ..", ENOTEMPTY },
	{ "rmdir /", "rmdir /", EBUSY },
	{ "rmdir of the working directory", "mkdir /a 0755\nchcwd /a\nrmdir /a\nstat .", 0 },
	{ "create where nothing is", "mkdir /a 0755\nchcwd /a\nrmdir /a\ncreate f 0644", ENOENT },
	{ "up from where nothing is", "mkdir /a 0755\nchcwd /a\nrmdir /a\nstat ../a", ENOENT },
	{ "back from where nothing is", "mkdir /a 0755\nchcwd /a\nrmdir /a\nmkdir ../b 0755", 0 },
	{ "list of where nothing is", "mkdir /a 0755\nchcwd /a\nrmdir /a\nreaddir .", 0 },
	{ "cwd follows a rename", "mkdir /a 0755\nchcwd /a\nrename /a /b\ncreate f 0644\nstat /b/f",
	  0 },
	{ "chcwd to a file", "create /f 0644\nchcwd /f", ENOTDIR },
	{ "open of nothing", "$0 = open /f O_RDONLY", ENOENT },
	{ "open creates", "$0 = open /f O_RDWR|O_CREAT 0644", 0 },
	{ "open EXCL", "create /f 0644\n$0 = open /f O_RDWR|O_CREAT|O_EXCL 0644", EEXIST },
	{ "open creates through a link", "symlink g /l\n$0 = open /l O_RDWR|O_CREAT 0644\nstat /g",
	  0 },
	{ "open NOFOLLOW", "create /f 0644\nsymlink f /l\n$0 = open /l O_RDONLY|O_NOFOLLOW",
	  ELOOP },
	{ "open directory for writing", "$0 = open / O_RDWR", EISDIR },
	{ "open directory with O_TRUNC", "$0 = open / O_RDONLY|O_TRUNC", EISDIR },
	{ "open directory with O_CREAT", "$0 = open / O_RDONLY|O_CREAT 0644", EISDIR },
	{ "O_DIRECTORY on a file", "create /f 0644\n$0 = open /f O_RDONLY|O_DIRECTORY", ENOTDIR },
	{ "O_TMPFILE read only", "$0 = open / O_RDONLY|O_TMPFILE 0644", EINVAL },
	{ "O_TMPFILE linked", "$0 = open / O_RDWR|O_TMPFILE 0644\nlink_tmpfile $0 /f\nstat /f", 0 },
	{ "O_TMPFILE with O_EXCL", "$0 = open / O_RDWR|O_TMPFILE|O_EXCL 0644\nlink_tmpfile $0 /f",
	  ENOENT },
	{ "link of a removed file",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nunlink /f\nlink_tmpfile $0 /g", ENOENT },
	{ "O_PATH cannot read", "create /f 0644\n$0 = open /f O_RDONLY|O_PATH\nread $0 len=1",
	  EBADF },
	{ "O_PATH can stat", "create /f 0644\n$0 = open /f O_RDONLY|O_PATH\nfstat $0", 0 },
	{ "closed slot", "create /f 0644\n$0 = open /f O_RDWR\nclose $0\nwrite $0 len=1 fill=1",
	  EBADF },
	{ "never opened", "close $7", EBADF },
	{ "read of write-only", "$0 = open /f O_WRONLY|O_CREAT 0644\nread $0 len=1", EBADF },
	{ "write of read-only", "create /f 0644\n$0 = open /f O_RDONLY\nwrite $0 len=1", EBADF },
	{ "read of a directory", "$0 = open / O_RDONLY\nread $0 len=1", EISDIR },
	{ "negative pread", "pread $0 len=1 at=-1", EINVAL },
	{ "lseek before the start", "$0 = open /f O_RDWR|O_CREAT 0644\nlseek $0 -1 SEEK_SET",
	  EINVAL },
	{ "SEEK_DATA at the end", "$0 = open /f O_RDWR|O_CREAT 0644\nlseek $0 0 SEEK_DATA", ENXIO },
	{ "truncate of a directory", "truncate / 0", EISDIR },
	{ "truncate of a fifo", "mknod /p fifo 0644\ntruncate /p 0", EINVAL },
	{ "truncate too far", "create /f 0644\ntruncate /f 17592186044417", EFBIG },
	{ "ftruncate read-only", "create /f 0644\n$0 = open /f O_RDONLY\nftruncate $0 1", EINVAL },
	{ "punch without keep",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nfallocate $0 PUNCH_HOLE at=0 len=1", EOPNOTSUPP },
	{ "fallocate nothing", "$0 = open /f O_RDWR|O_CREAT 0644\nfallocate $0 0 at=0 len=0",
	  EINVAL },
	{ "collapse unaligned",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nftruncate $0 16384\nfallocate $0 COLLAPSE_RANGE at=1 "
	  "len=4096",
	  EINVAL },
	{ "collapse to the end",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nftruncate $0 8192\nfallocate $0 COLLAPSE_RANGE "
	  "at=4096 "
	  "len=4096",
	  EINVAL },
	{ "fifo is not opened", "mknod /p fifo 0644\n$0 = open /p O_RDWR", ENXIO },
	{ "copy onto itself",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nftruncate $0 100\n"
	  "copy_file_range $0 $0 len=10 at=0 to=5",
	  EINVAL },
	{ "copy of more than a length can say",
	  "$0 = open /f O_RDWR|O_CREAT 0644\ncopy_file_range $0 $0 len=-1 at=0 to=0", 0 },
	{ "copy of a range that wraps",
	  "$0 = open /f O_RDWR|O_CREAT 0644\ncopy_file_range $0 $0 len=16 at=-1 to=0", EINVAL },
	{ "copy to the last byte there is",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nftruncate $0 100\n"
	  "copy_file_range $0 $0 len=16 at=0 to=9223372036854775807",
	  EFBIG },
	{ "mknod of a directory", "mknod /nosuch/a 0x4000 0755", EPERM },
	{ "mknod of no type", "mknod /nosuch/a 0x5000 0644", EINVAL },
	{ "mknod without a type is a file", "mknod /a 0 0644\ntruncate /a 5", 0 },
	{ "xattr missing", "create /f 0644\nread_xattr /f user.a", ENODATA },
	{ "xattr create twice",
	  "create /f 0644\nwrite_xattr /f user.a len=1\nwrite_xattr /f user.a len=1 "
	  "flags=XATTR_CREATE",
	  EEXIST },
	{ "xattr replace nothing",
	  "create /f 0644\nwrite_xattr /f user.a len=1 flags=XATTR_REPLACE", ENODATA },
	{ "xattr on a link", "symlink x /l\nwrite_xattr /l user.a len=1 nofollow=1", EPERM },
	{ "xattr unknown namespace", "create /f 0644\nwrite_xattr /f nobody.a len=1", EOPNOTSUPP },
	{ "xattr empty suffix", "create /f 0644\nwrite_xattr /f user. len=1", EINVAL },
	{ "xattr empty name", "create /f 0644\nwrite_xattr /f \"\" len=1", ERANGE },
	{ "xattr too big", "create /f 0644\nwrite_xattr /f user.a len=65537", E2BIG },
	{ "readlink of a file", "create /f 0644\nreadlink /f", EINVAL },
	{ "remove recursively", "mkdir /a 0755\ndeepen /a 5\nenlarge /a/d 3\nremove /a\nstat /a",
	  ENOENT },
	{ "remove by a link that goes with it",
	  "symlink / /c\ndeepen / 2\nrename /c /d/d/d\nremove /d/d/d/d", ENOENT },
	{ "remove by a path through it", "mkdir /a 0755\nmkdir /a/b 0755\nremove /a/b/../../a",
	  ENOENT },
	{ "remove by a path out of it",
	  "mkdir /a 0755\nmkdir /a/b 0755\nchcwd /a/b\nremove ../../a", 0 },
	{ "remove .", "remove .", EINVAL },
	{ "remove /", "remove /", EBUSY },
	{ "prune keeps the directory", "mkdir /a 0755\nenlarge /a 9\nprune /a\nrmdir /a", 0 },
	{ "prune of a fifo", "mknod /p fifo 0644\nprune /p", EINVAL },
	{ "deepen into a file", "create /d 0644\ndeepen / 3", ENOTDIR },
	{ "umount while open", "$0 = open /f O_RDWR|O_CREAT 0644\numount", EBUSY },
	{ "unmounted", "umount\nstat /", ESHUTDOWN },
	{ "umount twice", "umount\numount", EINVAL },
	{ "mount twice", "mount", EBUSY },
	{ "mount again", "create /f 0644\numount\nmount\nstat /f", 0 },
};

static void test_rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_model *m = as_model_new(&t_full_traits);
		int got = t_apply_text(m, rows[i].text);
		const char *broken = as_model_check(m);

		if (got != rows[i].want)
			fail_msg("%s: %s, want %s", rows[i].name, as_errno_name(got),
				 as_errno_name(rows[i].want));
		if (broken)
			fail_msg("%s: invariant: %s", rows[i].name, broken);
		as_model_free(m);
	}
}

/* Attributes after a workload. */
static const struct {
	const char *name, *text, *path;
	uint32_t mode, nlink;
	uint64_t size;
} stats[] = {
	{ "directory links", "mkdir /a 0755\nmkdir /a/b 0755\nmkdir /a/c 0755", "/a", 040755, 4,
	  0 },
	{ "file links", "create /f 0640\nhardlink /f /g\nhardlink /g /h\nunlink /f", "/h", 0100640,
	  2, 0 },
	{ "append",
	  "$0 = open /f O_WRONLY|O_APPEND|O_CREAT 0644\nwrite $0 len=10\npwrite $0 len=5 at=0",
	  "/f", 0100644, 1, 15 },
	{ "offset moves", "$0 = open /f O_RDWR|O_CREAT 0644\nwrite $0 len=3\nwrite $0 len=4", "/f",
	  0100644, 1, 7 },
	{ "keep size", "$0 = open /f O_RDWR|O_CREAT 0644\nfallocate $0 KEEP_SIZE at=0 len=99", "/f",
	  0100644, 1, 0 },
	{ "zero range grows",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nfallocate $0 ZERO_RANGE at=9 len=90", "/f", 0100644, 1,
	  99 },
	{ "insert",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nftruncate $0 4097\nfallocate $0 INSERT_RANGE "
	  "at=4096 len=8192",
	  "/f", 0100644, 1, 12289 },
	{ "mkdir ignores setuid", "mkdir /a 07777", "/a", 041777, 2, 0 },
	{ "setgid is inherited", "mkdir /a 0755\nchmod /a 02755\nmkdir /a/b 0700", "/a/b", 042700,
	  2, 0 },
	{ "chown drops setuid", "create /f 06755\nchown /f 1 1", "/f", 0100755, 1, 0 },
	{ "rename moves a directory's links",
	  "mkdir /a 0755\nmkdir /b 0755\nmkdir /a/c 0755\n"
	  "rename /a/c /b/c",
	  "/b", 040755, 3, 0 },
	{ "exchange moves a directory's links",
	  "mkdir /a 0755\nmkdir /a/c 0755\ncreate /f 0644\nrename2 /a/c /f RENAME_EXCHANGE", "/a",
	  040755, 2, 0 },
	{ "enlarge a file", "create /f 0644\nenlarge /f 7\nenlarge /f 3", "/f", 0100644, 1, 10 },
	{ "enlarge skips what is there", "mkdir /a 0755\nmkdir /a/e1 0755\nenlarge /a 2", "/a",
	  040755, 5, 0 },
	{ "deepen goes on", "deepen / 3\ndeepen / 2", "/d/d/d/d", 040755, 3, 0 },
};

static void test_stats(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(stats) / sizeof(stats[0]); i++) {
		struct as_model *m = as_model_new(&t_full_traits);
		struct as_stat st;

		(void)t_apply_text(m, stats[i].text);
		if (!as_model_stat(m, stats[i].path, true, &st))
			fail_msg("%s: %s is not there", stats[i].name, stats[i].path);
		if (st.mode != stats[i].mode || st.nlink != stats[i].nlink ||
		    st.size != stats[i].size)
			fail_msg("%s: mode %o nlink %u size %llu", stats[i].name, st.mode, st.nlink,
				 (unsigned long long)st.size);
		as_model_free(m);
	}
}

/* Whoever is not root loses the set-user-id bit of what is truncated, by open, too. */
static void test_set_id_lost(void **state)
{
	static const char *const ways[] = {
		"create /f 04755\n$0 = open /f O_WRONLY|O_TRUNC",
		"create /f 04755\ntruncate /f 5",
	};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct as_traits traits = t_full_traits;
		struct as_model *m;
		struct as_stat st;

		if (i & 1)
			traits.features |= AS_FEAT_UNPRIVILEGED;
		m = as_model_new(&traits);
		assert_int_equal(t_apply_text(m, ways[i / 2]), 0);
		assert_true(as_model_stat(m, "/f", true, &st));
		assert_int_equal(st.mode, i & 1 ? 0100755 : 0104755);
		as_model_free(m);
	}
}

/* Forty links are followed, forty-one are not. */
static void test_forty_links(void **state)
{
	struct as_model *m = as_model_new(&t_full_traits);
	struct as_op op = as_op_make(AS_OP_SYMLINK);
	char from[16], to[16];

	(void)state;
	(void)t_apply_text(m, "create /l0 0644");
	for (int i = 1; i <= 41; i++) {
		snprintf(from, sizeof(from), "l%d", i - 1);
		snprintf(to, sizeof(to), "/l%d", i);
		op.path = from;
		op.path2 = to;
		assert_int_equal(as_model_apply(m, &op), 0);
	}
	assert_int_equal(t_apply_text(m, "stat /l40"), 0);
	assert_int_equal(t_apply_text(m, "stat /l41"), ELOOP);
	assert_int_equal(t_apply_text(m, "$0 = open /l41 O_RDWR|O_CREAT 0644"), ELOOP);
	as_model_free(m);
}

/* What may be refused of a transfer with O_DIRECT, by the alignment that a type promises. */
static void test_direct_alignment(void **state)
{
	static const struct {
		const char *op;
		uint32_t align;
		bool refused; /* EINVAL is allowed */
	} cases[] = {
		{ "pwrite $0 len=512 at=1024 fill=1", 512, false },
		{ "pwrite $0 len=512 at=1024 fill=1", 4096, true },
		{ "pwrite $0 len=513 at=1024 fill=1", 512, true },
		{ "pwrite $0 len=512 at=1025 fill=1", 512, true },
		{ "pwrite $0 len=512 at=1024 fill=1 mem=512", 512, false },
		{ "pwrite $0 len=512 at=1024 fill=1 mem=1", 512, true },
		{ "pread $0 len=4096 at=0 mem=8", 4096, true },
		{ "pread $0 len=4096 at=0", 4096, false },
		{ "read $0 len=7", 1, false },
		{ "read $0 len=4096", 0, true }, /* no promise */
		{ "pwrite $1 len=7 at=1 fill=1 mem=1", 512, false }, /* not direct */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct as_traits traits = t_full_traits;
		struct as_outcome refused = { .ret = -1, .err = EINVAL };
		struct as_verdict verdict = { 0 };
		struct as_seq *seq = t_parse(cases[i].op);
		struct as_model *m;
		struct as_stat st;

		traits.dio_align = cases[i].align;
		m = as_model_new(&traits);
		assert_int_equal(t_apply_text(m, "$0 = open /f O_RDWR|O_CREAT|O_DIRECT 0644\n"
						 "$1 = open /f O_RDWR"),
				 0);
		if (as_model_judge(m, &seq->ops[0], &refused, &verdict) != cases[i].refused)
			fail_msg("%s with %u", cases[i].op, cases[i].align);
		assert_true(as_model_stat(m, "/f", true, &st));
		assert_int_equal(st.size, 0);
		as_verdict_free(&verdict);
		as_seq_free(seq);
		as_model_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_stats),
		cmocka_unit_test(test_set_id_lost),
		cmocka_unit_test(test_forty_links),
		cmocka_unit_test(test_direct_alignment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
