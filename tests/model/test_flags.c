/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flags of inodes: what the model expects of each operation on what has one, and that it objects to
 * an answer as of a file system that does not ask. */
#include "tests/lib/model.h"

#include "model/mark.h"
#include "model/state.h"

#include <errno.h>

#define FILE_0 "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=5000 at=0 fill=1\n"
#define APPEND FILE_0 "setflags $0 FS_APPEND_FL\n"
#define IMMUTABLE FILE_0 "setflags $0 FS_IMMUTABLE_FL\n"
#define DIR_1 "mkdir /d 0755\ncreate /d/g 0644\nmkdir /d/e 0755\n$1 = open /d O_RDONLY\n"
#define DIR_APPEND DIR_1 "setflags $1 FS_APPEND_FL\n"
#define DIR_IMMUTABLE DIR_1 "setflags $1 FS_IMMUTABLE_FL\n"

/* The last operation must answer `ret`, or -1 with `err`; `wrong` is another answer. */
static const struct {
	const char *name, *text;
	int64_t ret;
	int err, wrong; /* wrong: an errno, 0: success */
} rows[] = {
	{ "no descriptor", "getflags $9", -1, EBADF, 0 },
	{ "a path alone", FILE_0 "$2 = open /f O_RDONLY|O_PATH\nsetflags $2 0", -1, EBADF, 0 },
	{ "none", FILE_0 "getflags $0", 0, 0, ENOTTY },
	{ "those that were set", FILE_0 "setflags $0 FS_APPEND_FL|FS_NODUMP_FL\ngetflags $0", 0x60,
	  0, 0 },
	{ "the last ones", APPEND "setflags $0 FS_NOATIME_FL\ngetflags $0", 0x80, 0, 0 },
	{ "cleared", IMMUTABLE "setflags $0 0\nunlink /f", 0, 0, EPERM },

	{ "append: open to write", APPEND "$2 = open /f O_WRONLY", -1, EPERM, 0 },
	{ "append: open to append", APPEND "$2 = open /f O_WRONLY|O_APPEND", 0, 0, EPERM },
	{ "append: open to truncate", APPEND "$2 = open /f O_WRONLY|O_APPEND|O_TRUNC", -1, EPERM,
	  0 },
	{ "append: open to read", APPEND "$2 = open /f O_RDONLY", 0, 0, EPERM },
	{ "append: truncate", APPEND "truncate /f 6000", -1, EPERM, 0 },
	{ "append: ftruncate", APPEND "ftruncate $0 6000", -1, EPERM, 0 },
	{ "append: unlink", APPEND "unlink /f", -1, EPERM, 0 },
	{ "append: rename", APPEND "rename /f /g", -1, EPERM, 0 },
	{ "append: rename over it", APPEND "create /g 0644\nrename /g /f", -1, EPERM, 0 },
	{ "append: exchange", APPEND "create /g 0644\nrename2 /g /f RENAME_EXCHANGE", -1, EPERM,
	  0 },
	{ "append: link", APPEND "hardlink /f /g", -1, EPERM, 0 },
	{ "append: chmod", APPEND "chmod /f 0600", -1, EPERM, 0 },
	{ "append: fchmod", APPEND "fchmod $0 0600", -1, EPERM, 0 },
	{ "append: chown", APPEND "chown /f 1 -1", -1, EPERM, 0 },
	{ "append: times", APPEND "utimens /f atime=1 mtime=1", -1, EPERM, 0 },
	{ "append: times to now", APPEND "utimens /f", 0, 0, EPERM },
	{ "append: one time to now", APPEND "utimens /f atime=omit", -1, EPERM, 0 },
	{ "append: attribute", APPEND "write_xattr /f user.a len=1", -1, EPERM, 0 },
	{ "append: attribute away",
	  FILE_0 "write_xattr /f user.a len=1\nsetflags $0 FS_APPEND_FL\nremovexattr /f user.a", -1,
	  EPERM, 0 },
	{ "append: attribute read",
	  FILE_0 "write_xattr /f user.a len=1\nsetflags $0 FS_APPEND_FL\nread_xattr /f user.a", 1,
	  0, EPERM },
	{ "append: punch", APPEND "fallocate $0 KEEP_SIZE|PUNCH_HOLE at=0 len=4096", -1, EPERM, 0 },
	{ "append: allocate", APPEND "fallocate $0 0 at=0 len=9000", 0, 0, EPERM },
	{ "append: map", APPEND "mmap_write $0 len=1 at=0", -1, EACCES, 0 },
	{ "append: no appending",
	  APPEND "$2 = open /f O_WRONLY|O_APPEND\npwritev2 $2 len=1 at=0 flags=RWF_NOAPPEND", -1,
	  EPERM, 0 },

	{ "immutable: open to write", IMMUTABLE "$2 = open /f O_WRONLY|O_APPEND", -1, EPERM, 0 },
	{ "immutable: open to read", IMMUTABLE "$2 = open /f O_RDONLY", 0, 0, EPERM },
	{ "immutable: open to read and truncate", IMMUTABLE "$2 = open /f O_RDONLY|O_TRUNC", -1,
	  EPERM, 0 },
	{ "immutable: truncate", IMMUTABLE "truncate /f 6000", -1, EPERM, 0 },
	{ "immutable: unlink", IMMUTABLE "unlink /f", -1, EPERM, 0 },
	{ "immutable: remove", IMMUTABLE "remove /f", -1, EPERM, 0 },
	{ "immutable: prune", IMMUTABLE "prune /f", -1, EPERM, 0 },
	{ "immutable: enlarge", IMMUTABLE "enlarge /f 5", -1, EPERM, 0 },
	{ "immutable: link", IMMUTABLE "hardlink /f /g", -1, EPERM, 0 },
	{ "immutable: chmod", IMMUTABLE "chmod /f 0600", -1, EPERM, 0 },
	{ "immutable: times to now", IMMUTABLE "utimens /f", -1, EPERM, 0 },
	{ "immutable: attribute", IMMUTABLE "write_xattr /f user.a len=1", -1, EPERM, 0 },
	{ "immutable: allocate", IMMUTABLE "fallocate $0 0 at=0 len=9000", -1, EPERM, 0 },
	{ "immutable: copy to it",
	  IMMUTABLE "create /g 0644\n$2 = open /g O_RDONLY\n"
		    "copy_file_range $2 $0 len=10 at=0 to=0",
	  -1, EPERM, 0 },
	{ "immutable: clone to it",
	  IMMUTABLE "$2 = open /g O_RDWR|O_CREAT 0644\npwrite $2 len=9000 at=0\nclone $0 $2", -1,
	  EPERM, 0 },

	{ "append folder: make", DIR_APPEND "create /d/n 0644", 0, 0, EPERM },
	{ "append folder: link into it", DIR_APPEND "hardlink /d/g /d/n", 0, 0, EPERM },
	{ "append folder: unlink", DIR_APPEND "unlink /d/g", -1, EPERM, 0 },
	{ "append folder: rename in it", DIR_APPEND "rename /d/g /d/n", -1, EPERM, 0 },
	{ "append folder: rename into it", DIR_APPEND "create /h 0644\nrename /h /d/n", 0, 0,
	  EPERM },
	{ "immutable folder: make", DIR_IMMUTABLE "create /d/n 0644", -1, EPERM, 0 },
	{ "immutable folder: mkdir", DIR_IMMUTABLE "mkdir /d/n 0755", -1, EPERM, 0 },
	{ "immutable folder: symlink", DIR_IMMUTABLE "symlink x /d/n", -1, EPERM, 0 },
	{ "immutable folder: what is there", DIR_IMMUTABLE "mkdir /d/g 0755", -1, EEXIST, EPERM },
	{ "immutable folder: open to make", DIR_IMMUTABLE "$2 = open /d/n O_RDWR|O_CREAT 0644", -1,
	  EPERM, 0 },
	{ "immutable folder: open what is there",
	  DIR_IMMUTABLE "$2 = open /d/g O_RDWR|O_CREAT 0644", 0, 0, EPERM },
	{ "immutable folder: without a name", DIR_IMMUTABLE "$2 = open /d O_RDWR|O_TMPFILE 0644",
	  -1, EPERM, 0 },
	{ "immutable folder: rmdir in it", DIR_IMMUTABLE "rmdir /d/e", -1, EPERM, 0 },
	{ "immutable folder: rmdir of a file", DIR_IMMUTABLE "rmdir /d/g", -1, EPERM, ENOTDIR },
	{ "immutable folder: rename into it", DIR_IMMUTABLE "create /h 0644\nrename /h /d/n", -1,
	  EPERM, 0 },
	{ "immutable folder: write to a file in it",
	  DIR_IMMUTABLE "$2 = open /d/g O_RDWR\nwrite $2 len=10", 10, 0, EPERM },
	{ "immutable folder: enlarge", DIR_IMMUTABLE "enlarge /d 3", -1, EPERM, 0 },
	{ "immutable folder: deepen", DIR_IMMUTABLE "deepen /d/e 3", 3, 0, EPERM },
};

static void test_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int wrong = rows[i].wrong;

		if (!t_judges(&t_full_traits, rows[i].text, rows[i].ret, rows[i].err))
			fail_msg("%s: the right answer is refused", rows[i].name);
		if ((wrong || rows[i].ret) &&
		    t_judges(&t_full_traits, rows[i].text, wrong ? -1 : 0, wrong))
			fail_msg("%s: a wrong answer is accepted", rows[i].name);
	}
}

/* By a descriptor that is older than the flag, some types write and others do not. */
static void test_either(void **state)
{
	(void)state;
	assert_true(t_judges(&t_full_traits, IMMUTABLE "pwrite $0 len=9 at=0", 9, 0));
	assert_true(t_judges(&t_full_traits, IMMUTABLE "pwrite $0 len=9 at=0", -1, EPERM));
	assert_true(t_judges(&t_full_traits, IMMUTABLE "ftruncate $0 9", 0, 0));
	assert_true(t_judges(&t_full_traits, IMMUTABLE "ftruncate $0 9", -1, EPERM));
	assert_false(t_judges(&t_full_traits, FILE_0 "pwrite $0 len=9 at=0", -1, EPERM));
	assert_false(t_judges(&t_full_traits, APPEND "pwrite $0 len=9 at=0", -1, EPERM));
}

static void test_types(void **state)
{
	struct as_traits none = t_full_traits, maybe, user = t_full_traits;

	(void)state;
	none.features &= ~(uint64_t)AS_FEAT_FLAGS;
	maybe = none;
	maybe.maybe |= AS_FEAT_FLAGS;
	user.features |= AS_FEAT_UNPRIVILEGED;
	assert_true(t_judges(&none, FILE_0 "setflags $0 0", -1, ENOTTY));
	assert_true(t_judges(&none, FILE_0 "setflags $0 0", -1, EOPNOTSUPP));
	assert_true(t_judges(&none, FILE_0 "setflags $0 0", -1, EINVAL)); /* such as gfs2 */
	assert_false(t_judges(&none, FILE_0 "setflags $0 0", -1, EIO));
	assert_true(t_judges(&maybe, FILE_0 "setflags $0 0", -1, ENOTTY));
	assert_true(t_judges(&maybe, FILE_0 "setflags $0 0", 0, 0));
	assert_false(t_judges(&t_full_traits, FILE_0 "setflags $0 0", -1, ENOTTY));
	assert_true(t_judges(&user, FILE_0 "setflags $0 FS_APPEND_FL", -1, EPERM));
	assert_true(t_judges(&user, FILE_0 "setflags $0 FS_NODUMP_FL", 0, 0));
	assert_false(t_judges(&t_full_traits, FILE_0 "setflags $0 FS_APPEND_FL", -1, EPERM));
}

static int64_t flags_of(const struct as_traits *traits, const char *text, int32_t slot)
{
	struct as_model *m = as_model_new(traits);
	int64_t flags;

	assert_int_equal(t_apply_text(m, text), 0);
	assert_null(as_model_check(m));
	flags = as_inode_flags(inode_at(m, as_file_at(m, slot)->ino));
	as_model_free(m);
	return flags;
}

/* What is new takes some flags from its directory where the type says so. */
static void test_handed_on(void **state)
{
	const char *file = "mkdir /d 0755\n$1 = open /d O_RDONLY\n"
			   "setflags $1 FS_NODUMP_FL|FS_APPEND_FL\n"
			   "$2 = open /d/n O_RDWR|O_CREAT 0644",
		   *dir = "mkdir /d 0755\n$1 = open /d O_RDONLY\nsetflags $1 FS_NODUMP_FL\n"
			  "mkdir /d/n 0755\n$2 = open /d/n O_RDONLY",
		   *tmp = "mkdir /d 0755\n$1 = open /d O_RDONLY\nsetflags $1 FS_NODUMP_FL\n"
			  "$2 = open /d O_RDWR|O_TMPFILE 0644";
	struct as_traits heirs = t_full_traits;

	(void)state;
	heirs.flags_handed_on = AS_FS_NODUMP_FL;
	assert_int_equal(flags_of(&heirs, file, 2), AS_FS_NODUMP_FL);
	assert_int_equal(flags_of(&heirs, dir, 2), AS_FS_NODUMP_FL);
	assert_int_equal(flags_of(&heirs, tmp, 2), AS_FS_NODUMP_FL);
	assert_int_equal(flags_of(&t_full_traits, file, 2), 0);
}

/* A removal that meets what has a flag has removed what comes before it. */
static void test_part(void **state)
{
	static const char text[] = "mkdir /d 0755\ncreate /d/a 0644\n"
				   "$0 = open /d/b O_RDWR|O_CREAT 0644\ncreate /d/c 0644\n"
				   "setflags $0 FS_IMMUTABLE_FL\n";
	struct as_model *m = as_model_new(&t_full_traits);
	struct as_seq *seq = t_parse("remove /d");
	struct as_outcome got = { .ret = -1, .err = EPERM, .done = 1 };
	struct as_verdict verdict = { 0 };
	struct as_stat st;

	(void)state;
	assert_int_equal(t_apply_text(m, text), 0);
	assert_true(as_model_judge(m, &seq->ops[0], &got, &verdict));
	assert_false(as_model_stat(m, "/d/a", true, &st));
	assert_true(as_model_stat(m, "/d/b", true, &st));
	assert_true(as_model_stat(m, "/d/c", true, &st));
	got = (struct as_outcome){ .ret = 0, .done = 3 };
	assert_false(as_model_judge(m, &seq->ops[0], &got, &verdict));
	as_verdict_free(&verdict);
	as_seq_free(seq);
	as_model_free(m);
}

/* ext4 refuses what stays immutable if it has flags that cannot be set; others do not. */
static void test_immutable_again(void **state)
{
	(void)state;
	assert_true(t_judges(&t_full_traits, IMMUTABLE "setflags $0 FS_IMMUTABLE_FL", -1, EPERM));
	assert_true(t_judges(&t_full_traits, IMMUTABLE "setflags $0 FS_IMMUTABLE_FL", 0, 0));
	assert_false(t_judges(&t_full_traits, IMMUTABLE "setflags $0 0", -1, EPERM));
	assert_false(t_judges(&t_full_traits, APPEND "setflags $0 FS_IMMUTABLE_FL", -1, EPERM));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers), cmocka_unit_test(test_either),
		cmocka_unit_test(test_types),	cmocka_unit_test(test_handed_on),
		cmocka_unit_test(test_part),	cmocka_unit_test(test_immutable_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
