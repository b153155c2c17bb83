/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Access control lists: how permission bits and lists follow each other, what is handed on, what is
 * refused, and that the model objects to an answer as of a file system that does not ask. */
#include "tests/lib/model.h"

#include "model/acl.h"

#include <errno.h>

#define FILE_F "create /f 0644\n"
#define FULL "u::rw-,u:1:rwx,g::r--,m::rw-,o::--x"
#define LISTED FILE_F "setacl /f " FULL "\n"
#define DIR_D "mkdir /d 0755\n"
#define DEFAULT DIR_D "setacl /d u::rwx,u:1:r-x,g::r-x,m::rwx,o::r-x default=1\n"

/* The last operation must answer `ret`, or -1 with `err`; `wrong` is another answer. */
static const struct {
	const char *name, *text;
	int64_t ret;
	int err, wrong; /* wrong: an errno, 0: success */
} rows[] = {
	{ "nothing there", "setacl /f " FULL, -1, ENOENT, 0 },
	{ "no list at all", FILE_F "setacl /f rw-", -1, EINVAL, 0 },
	{ "set", FILE_F "setacl /f " FULL, 0, 0, EINVAL },
	{ "none to read", FILE_F "getacl /f", -1, ENODATA, 0 },
	{ "read", LISTED "getacl /f", 44, 0, ENODATA },
	{ "read as an attribute", LISTED "read_xattr /f system.posix_acl_access", 44, 0, ENODATA },
	{ "no default", LISTED "getacl /f default=1", -1, ENODATA, 0 },
	{ "as bits", LISTED "setacl /f u::rwx,g::r-x,o::---\ngetacl /f", -1, ENODATA, 0 },
	{ "removed", LISTED "setacl /f none\ngetacl /f", -1, ENODATA, 0 },
	{ "removed as an attribute", LISTED "removexattr /f system.posix_acl_access\ngetacl /f", -1,
	  ENODATA, 0 },
	{ "removed twice", FILE_F "setacl /f none", 0, 0, ENODATA },
	{ "a pattern", LISTED "write_xattr /f system.posix_acl_access len=44 fill=1", -1,
	  EOPNOTSUPP, 0 },
	{ "no owner", FILE_F "setacl /f g::r--,o::---", -1, EINVAL, 0 },
	{ "no others", FILE_F "setacl /f u::rwx,g::r--", -1, EINVAL, 0 },
	{ "no mask", FILE_F "setacl /f u::rwx,g::r--,g:1:r--,o::---", -1, EINVAL, 0 },
	{ "a mask alone", FILE_F "setacl /f u::rwx,g::r--,m::rwx,o::---", 0, 0, EINVAL },
	{ "out of order", FILE_F "setacl /f u::rwx,g::r--,u:1:r--,m::r--,o::---", -1, EINVAL, 0 },
	{ "twice", FILE_F "setacl /f u::rwx,g::r--,o::---,o::---", -1, EINVAL, 0 },
	{ "an id twice", FILE_F "setacl /f u::rwx,u:1:rwx,u:1:r--,g::r--,m::r--,o::---", 0, 0,
	  EINVAL },
	{ "default of a file", FILE_F "setacl /f u::rwx,g::r--,o::--- default=1", -1, EACCES, 0 },
	{ "no default of a file", FILE_F "setacl /f none default=1", 0, 0, EACCES },
	{ "default as bits is kept",
	  DIR_D "setacl /d u::rwx,g::r--,o::--- default=1\n"
		"getacl /d default=1",
	  28, 0, ENODATA },
	{ "a link", "symlink x /l\nsetacl /l " FULL " nofollow=1", -1, EOPNOTSUPP, 0 },
	{ "of a link", "symlink x /l\ngetacl /l nofollow=1", -1, EOPNOTSUPP, ENODATA },
	{ "through a link", FILE_F "symlink /f /l\nsetacl /l " FULL "\ngetacl /f", 44, 0, ENODATA },
	{ "immutable", FILE_F "$0 = open /f O_RDWR\nsetflags $0 FS_IMMUTABLE_FL\nsetacl /f " FULL,
	  -1, EPERM, 0 },
	{ "inherited", DEFAULT "create /d/g 0644\ngetacl /d/g", 44, 0, ENODATA },
	{ "not by a file", DEFAULT "create /d/g 0644\ngetacl /d/g default=1", -1, ENODATA, 0 },
	{ "by a directory", DEFAULT "mkdir /d/e 0700\ngetacl /d/e default=1", 44, 0, ENODATA },
	{ "by what is deeper", DEFAULT "deepen /d 3\ngetacl /d/d/d/d", 44, 0, ENODATA },
	{ "by a fifo", DEFAULT "mknod /d/p fifo 0666\ngetacl /d/p", 44, 0, ENODATA },
	{ "by a file without a name",
	  DEFAULT "$0 = open /d O_RDWR|O_TMPFILE 0666\n"
		  "link_tmpfile $0 /t\ngetacl /t",
	  44, 0, ENODATA },
	{ "by a whiteout",
	  DEFAULT "create /d/g 0644\nrename2 /d/g /h RENAME_WHITEOUT\n"
		  "getacl /d/g",
	  44, 0, ENODATA },
	{ "not by a link", DEFAULT "symlink x /d/l\ngetacl /d/l nofollow=1", -1, EOPNOTSUPP, 0 },
	{ "kept by rename and link", LISTED "rename /f /g\nhardlink /g /h\ngetacl /h", 44, 0,
	  ENODATA },
	{ "kept by a mount", LISTED "umount\nmount\ngetacl /f", 44, 0, ENODATA },
	{ "off", LISTED "umount\nmount opts=noatime,noacl\ngetacl /f", -1, EOPNOTSUPP, ENODATA },
	{ "on again", LISTED "umount\nmount opts=noacl\numount\nmount\ngetacl /f", 44, 0, ENODATA },
	{ "not followed while off",
	  LISTED "umount\nmount opts=noacl\nchmod /f 0\numount\nmount\ngetacl /f", 44, 0, 0 },
};

static void test_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!t_judges(&t_full_traits, rows[i].text, rows[i].ret, rows[i].err))
			fail_msg("%s: the right answer is refused", rows[i].name);
		if (rows[i].ret < 0 && !rows[i].wrong
			    ? t_judges(&t_full_traits, rows[i].text, 0, 0)
			    : rows[i].wrong &&
				      t_judges(&t_full_traits, rows[i].text, -1, rows[i].wrong))
			fail_msg("%s: a wrong answer passes", rows[i].name);
	}
}

/* Mode and list of what a workload leaves at a path. */
static const struct {
	const char *text, *path;
	uint32_t mode;
	const char *access, *deflt;
} ends[] = {
	{ FILE_F, "/f", 0644, "none", "none" },
	{ LISTED, "/f", 0661, FULL, "none" },
	{ LISTED "chmod /f 04705\n", "/f", 04705, "u::rwx,u:1:rwx,g::r--,m::---,o::r-x", "none" },
	{ LISTED "$0 = open /f O_RDWR\nfchmod $0 0070\n", "/f", 0070,
	  "u::---,u:1:rwx,g::r--,m::rwx,o::---", "none" },
	{ LISTED "setacl /f none\n", "/f", 0661, "none", "none" },
	{ FILE_F "chmod /f 06644\nsetacl /f u::rwx,g::r-x,o::--x\n", "/f", 06751, "none", "none" },
	{ FILE_F "setacl /f u::rwx,g::r-x,m::-w-,o::--x\n", "/f", 0721,
	  "u::rwx,g::r-x,m::-w-,o::--x", "none" },
	{ LISTED "chown /f 3 4\n", "/f", 0661, FULL, "none" },
	{ DEFAULT, "/d", 0755, "none", "u::rwx,u:1:r-x,g::r-x,m::rwx,o::r-x" },
	{ DEFAULT "create /d/g 04666\n", "/d/g", 04664, "u::rw-,u:1:r-x,g::r-x,m::rw-,o::r--",
	  "none" },
	{ DEFAULT "mkdir /d/e 0750\n", "/d/e", 0750, "u::rwx,u:1:r-x,g::r-x,m::r-x,o::---",
	  "u::rwx,u:1:r-x,g::r-x,m::rwx,o::r-x" },
	{ DEFAULT "create /d/g 0640\nrename2 /d/g /h RENAME_WHITEOUT\n", "/d/g", 0,
	  "u::---,u:1:r-x,g::r-x,m::---,o::---", "none" },
	{ DIR_D "setacl /d u::rwx,g::-w-,o::--- default=1\ncreate /d/g 0666\n", "/d/g", 0620,
	  "none", "none" },
	{ DIR_D "chmod /d 02755\nsetacl /d u::rwx,g::-w-,o::--- default=1\nmkdir /d/e 0777\n",
	  "/d/e", 02720, "none", "u::rwx,g::-w-,o::---" },
	{ LISTED "umount\nmount opts=noacl\nchmod /f 0\n", "/f", 0, FULL, "none" },
};

static void check_list(const struct as_model *m, uint32_t ino, bool is_default, const char *want)
{
	struct as_buf text = { 0 };
	struct as_acl acl;

	(void)as_inode_acl(inode_at(m, ino), is_default, &acl);
	as_acl_print(&acl, &text);
	assert_string_equal(as_buf_str(&text), want);
	as_buf_free(&text);
}

static void test_ends(void **state)
{
	struct as_stat st;

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct as_model *m = as_model_new(&t_full_traits);

		assert_int_equal(t_apply_text(m, ends[i].text), 0);
		assert_null(as_model_check(m));
		assert_true(as_model_stat(m, ends[i].path, true, &st));
		assert_int_equal(st.mode & 07777, ends[i].mode);
		check_list(m, (uint32_t)st.ino, false, ends[i].access);
		check_list(m, (uint32_t)st.ino, true, ends[i].deflt);
		as_model_free(m);
	}
}

/* A list is told byte by byte. */
static void test_told(void **state)
{
	struct as_model *m = as_model_new(&t_full_traits);
	struct as_seq *seq = t_parse("getacl /f");
	struct as_verdict verdict = { 0 };
	uint8_t bytes[AS_ACL_BYTES];
	struct as_outcome got = { .payload = AS_PAYLOAD_BYTES, .data = bytes };
	struct as_acl acl;

	(void)state;
	assert_int_equal(t_apply_text(m, LISTED), 0);
	assert_true(as_acl_parse(FULL, &acl));
	got.len = as_acl_encode(&acl, bytes);
	got.ret = (int64_t)got.len;
	assert_true(as_model_judge(m, &seq->ops[0], &got, &verdict));
	for (size_t i = 0; i < got.len; i++) {
		bytes[i] ^= 1;
		assert_false(as_model_judge(m, &seq->ops[0], &got, &verdict));
		bytes[i] ^= 1;
	}
	as_verdict_free(&verdict);
	as_seq_free(seq);
	as_model_free(m);
}

/* listxattr names them as the kernel does, in its order. */
static void test_listed(void **state)
{
	static const char right[] = "system.posix_acl_access\0user.a", less[] = "user.a",
			  more[] = "system.posix_acl_access\0system.posix_acl_default\0user.a";
	static const struct {
		const char *list;
		size_t len;
		bool ok;
	} said[] = { { right, sizeof(right), true },
		     { less, sizeof(less), false },
		     { more, sizeof(more), false } };
	struct as_model *m = as_model_new(&t_full_traits);
	struct as_seq *seq = t_parse("listxattr /f");
	struct as_verdict verdict = { 0 };

	(void)state;
	assert_int_equal(t_apply_text(m, LISTED "write_xattr /f user.a len=1\n"), 0);
	for (size_t i = 0; i < 3; i++) {
		struct as_outcome got = { .payload = AS_PAYLOAD_NAMES,
					  .data = said[i].list,
					  .len = said[i].len,
					  .ret = 2 };

		assert_int_equal(as_model_judge(m, &seq->ops[0], &got, &verdict), said[i].ok);
	}
	as_verdict_free(&verdict);
	as_seq_free(seq);
	as_model_free(m);
}

static void test_types(void **state)
{
	struct as_traits none = t_full_traits, maybe, xfs = t_full_traits;

	(void)state;
	none.features &= ~(uint64_t)AS_FEAT_ACL;
	maybe = none;
	maybe.maybe |= AS_FEAT_ACL;
	xfs.quirks |= AS_QUIRK_WHITEOUT_NO_ACL;
	assert_true(t_judges(&none, FILE_F "setacl /f " FULL, -1, EOPNOTSUPP));
	assert_true(t_judges(&none, FILE_F "setacl /f " FULL, 0, 0)); /* nothing is said later */
	assert_false(t_judges(&none, FILE_F "setacl /f " FULL, -1, EIO));
	assert_true(t_judges(&maybe, FILE_F "setacl /f " FULL, -1, EOPNOTSUPP));
	assert_true(t_judges(&maybe, FILE_F "setacl /f " FULL, 0, 0));
	assert_true(t_judges(&maybe, FILE_F "setacl /f u::rwx", -1, EINVAL));
	assert_false(t_judges(&t_full_traits, FILE_F "setacl /f " FULL, -1, EOPNOTSUPP));
	assert_true(t_judges(&xfs,
			     DEFAULT "create /d/g 0644\nrename2 /d/g /h RENAME_WHITEOUT\n"
				     "getacl /d/g",
			     -1, ENODATA));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers), cmocka_unit_test(test_ends),
		cmocka_unit_test(test_told),	cmocka_unit_test(test_listed),
		cmocka_unit_test(test_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
