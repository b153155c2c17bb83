/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The comparison, on pairs of models: one judges, the other is read as if it were a real tree. Each
 * row is one kind of difference and the words it must be said in; the first ones have none.
 */
#include "tests/lib/model.h"

#include "model/compare.h"
#include "model/walk.h"

#include <errno.h>

static const struct as_inode *find(void *ctx, const char *path)
{
	struct as_walk w = as_walk_path(ctx, path, WALK_NOFOLLOW);

	return w.err ? NULL : inode_at(ctx, w.ino);
}

static int tree_stat(void *ctx, const char *path, struct as_stat *st)
{
	const struct as_inode *inode = find(ctx, path);

	if (!as_model_stat(ctx, path, true, st))
		return -ENOENT;
	if (inode->times)
		st->mtime_ns = inode->times->mtime_ns;
	return 0;
}

static void list(const struct as_entry *entry, as_fill_fn fill, void *fill_ctx)
{
	if (!entry)
		return;
	/* Not in order: the comparison has to sort. */
	fill(fill_ctx, entry->name->s, entry->ino, 0);
	list(entry->left, fill, fill_ctx);
	list(entry->right, fill, fill_ctx);
}

static int tree_list(void *ctx, const char *path, as_fill_fn fill, void *fill_ctx)
{
	list(find(ctx, path)->dir.entries, fill, fill_ctx);
	return 0;
}

static int64_t tree_readlink(void *ctx, const char *path, char *buf, size_t len)
{
	const struct as_inode *inode = find(ctx, path);

	assert_true(len >= inode->text->len);
	memcpy(buf, inode->text->s, inode->text->len);
	return inode->text->len;
}

static int64_t tree_read(void *ctx, const char *path, void *buf, size_t len, uint64_t off)
{
	const struct as_inode *inode = find(ctx, path);
	const struct as_runs *runs = inode->reg.runs;

	if (off >= inode->reg.size)
		return 0;
	if (len > inode->reg.size - off)
		len = inode->reg.size - off;
	memset(buf, 0, len);
	for (uint32_t i = 0; runs && i < runs->n; i++) {
		const struct as_data_run *run = &runs->run[i];
		uint64_t from = run->start > off ? run->start : off;
		uint64_t end =
			run->start + run->len < off + len ? run->start + run->len : off + len;

		if (from < end)
			as_pattern_fill(run->pattern, run->from + (from - run->start),
					(char *)buf + (from - off), end - from);
	}
	return (int64_t)len;
}

static int64_t tree_listxattr(void *ctx, const char *path, char *buf, size_t len)
{
	const struct as_xattrs *xattrs = find(ctx, path)->xattrs;
	size_t at = 0;

	for (uint32_t i = 0; xattrs && i < xattrs->n; i++) {
		assert_true(at + xattrs->x[i].name->len + 1 <= len);
		memcpy(buf + at, xattrs->x[i].name->s, xattrs->x[i].name->len + 1);
		at += xattrs->x[i].name->len + 1;
	}
	return (int64_t)at;
}

static int64_t tree_getxattr(void *ctx, const char *path, const char *name, void *buf, size_t len)
{
	const struct as_xattrs *xattrs = find(ctx, path)->xattrs;

	for (uint32_t i = 0; xattrs && i < xattrs->n; i++)
		if (strcmp(xattrs->x[i].name->s, name) == 0) {
			assert_true(xattrs->x[i].len <= len);
			as_pattern_fill(xattrs->x[i].pattern, 0, buf, xattrs->x[i].len);
			return (int64_t)xattrs->x[i].len;
		}
	return -ENODATA;
}

static const struct as_tree_ops tree = {
	.stat = tree_stat,
	.list = tree_list,
	.readlink = tree_readlink,
	.read = tree_read,
	.listxattr = tree_listxattr,
	.getxattr = tree_getxattr,
};

#define FILE_OF(pattern) "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=9000 at=5 fill=" pattern

static const struct {
	const char *name, *model, *real, *want;
} rows[] = {
	{ "nothing", "", "", NULL },
	{ "same tree",
	  "mkdir /a 0755\ncreate /a/f 0644\nhardlink /a/f /g\nsymlink x /l\nmknod /p fifo 0600\n"
	  "enlarge /a 40\nwrite_xattr /a user.x len=9 fill=2\n" FILE_OF("3"),
	  "mkdir /a 0755\nenlarge /a 40\ncreate /g 0644\nhardlink /g /a/f\nsymlink x /l\n"
	  "mknod /p fifo 0600\nwrite_xattr /a user.x len=9 fill=2\n" FILE_OF("3"),
	  NULL },
	{ "large and sparse", "create /f 0644\ntruncate /f 1099511627776",
	  "create /f 0644\ntruncate /f 1099511627776", NULL },
	{ "size", "create /f 0644\ntruncate /f 8192", "create /f 0644\ntruncate /f 4096",
	  "/f: size 4096, model says 8192" },
	{ "missing", "mkdir /a 0755\ncreate /a/f 0644", "mkdir /a 0755",
	  "/a/f: is missing, model says it is a regular file" },
	{ "surplus in the middle", "create /a 0644\ncreate /c 0644",
	  "create /a 0644\ncreate /b 0644\ncreate /c 0644", "/b: should not be there" },
	{ "surplus at the end", "create /a 0644", "create /a 0644\ncreate /b 0644",
	  "/b: should not be there" },
	{ "type", "mkdir /a 0755", "create /a 0755",
	  "/a: is a regular file, model says a directory" },
	{ "mode", "create /f 0644", "create /f 0600", "/f: mode 0600, model says 0644" },
	{ "owner", "create /f 0644\nchown /f 3 -1", "create /f 0644", "/f: uid 0, model says 3" },
	{ "group", "create /f 0644\nchown /f -1 4", "create /f 0644", "/f: gid 0, model says 4" },
	{ "links of a file", "create /f 0644\nhardlink /f /g", "create /f 0644\ncreate /g 0644",
	  "/f: link count 1, model says 2" },
	{ "identity", "create /a 0644\nhardlink /a /b\ncreate /c 0644\nhardlink /c /d",
	  "create /a 0644\nhardlink /a /c\ncreate /b 0644\nhardlink /b /d",
	  "/b: is another file than its hard links" },
	{ "link text", "symlink x /l", "symlink y /l", "/l: says \"y\", model says \"x\"" },
	{ "device", "mknod /c chr 0600 dev=0:1", "mknod /c chr 0600 dev=0:2",
	  "/c: device number 2, model says 1" },
	{ "contents", FILE_OF("1"), FILE_OF("2"), "/f: byte at offset 5 is 0x" },
	{ "one late byte", FILE_OF("1"), FILE_OF("1") "\npwrite $0 len=1 at=8999 fill=9",
	  "/f: byte at offset 8999 is 0x" },
	{ "attribute missing", "write_xattr / user.a len=2", "", "/: attribute user.a is missing" },
	{ "flag missing", "$0 = open /a O_RDONLY|O_CREAT 0644\nsetflags $0 FS_APPEND_FL\nclose $0",
	  "create /a 0644", "/a: attribute flag.append is missing" },
	{ "list missing", "create /a 0640\nsetacl /a u::rw-,g::r--,m::r--,o::---", "create /a 0640",
	  "/a: attribute acl.access=u::rw-,g::r--,m::r--,o::--- is missing" },
	{ "another list", "mkdir /a 0755\nsetacl /a u::rwx,g::r--,o::--- default=1",
	  "mkdir /a 0755\nsetacl /a u::rwx,g::rw-,o::--- default=1",
	  "/a: attribute acl.default=u::rwx,g::r--,o::--- is missing" },
	{ "flag surplus", "create /a 0644",
	  "$0 = open /a O_RDONLY|O_CREAT 0644\nsetflags $0 FS_NODUMP_FL\nclose $0",
	  "/a: attribute flag.nodump should not be there" },
	{ "attribute surplus", "", "write_xattr / user.a len=2",
	  "/: attribute user.a should not be there" },
	{ "attribute length", "write_xattr / user.a len=2", "write_xattr / user.a len=3",
	  "/: attribute user.a: 3 bytes, model says 2" },
	{ "attribute value", "write_xattr / user.a len=2 fill=1",
	  "write_xattr / user.a len=2 fill=2", "/: attribute user.a: byte 0 is not what was set" },
	{ "time", "create /f 0644\nutimens /f atime=omit mtime=7",
	  "create /f 0644\nutimens /f atime=omit mtime=8",
	  "/f: mtime 8000000000 ns, model says 7000000000" },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_model *m = as_model_new(&t_full_traits),
				*real = as_model_new(&t_full_traits);
		struct as_buf why = { 0 };
		int rc;

		(void)t_apply_text(m, rows[i].model);
		(void)t_apply_text(real, rows[i].real);
		rc = as_model_compare(m, &tree, real, &why);
		if (rc != (rows[i].want != NULL))
			fail_msg("%s: %d \"%s\"", rows[i].name, rc, as_buf_str(&why));
		if (rc && strncmp(as_buf_str(&why), rows[i].want, strlen(rows[i].want)) != 0)
			fail_msg("%s: \"%s\", want \"%s\"", rows[i].name, as_buf_str(&why),
				 rows[i].want);
		as_buf_free(&why);
		as_model_free(m);
		as_model_free(real);
	}
}

static int stat_one_link_more(void *ctx, const char *path, struct as_stat *st)
{
	int rc = tree_stat(ctx, path, st);

	st->nlink++;
	return rc;
}

static void test_directory_links(void **state)
{
	struct as_tree_ops lying = tree;
	struct as_model *m = as_model_new(&t_full_traits);
	struct as_buf why = { 0 };

	(void)state;
	lying.stat = stat_one_link_more;
	(void)t_apply_text(m, "mkdir /a 0755");
	assert_int_equal(as_model_compare(m, &lying, m, &why), 1);
	assert_string_equal(as_buf_str(&why), "/a: link count 3, model says 2");
	as_buf_free(&why);
	as_model_free(m);
}

/* ---- Judging payloads ---- */

static const struct {
	const char *name, *text; /* the last operation is judged */
	int64_t ret;
	int err;
	enum as_payload payload;
	const char *data;
	size_t len;
	const char *want; /* NULL: agrees */
} judged[] = {
	{ "right errno", "mkdir / 0755", -1, EEXIST, AS_PAYLOAD_NONE, NULL, 0, NULL },
	{ "wrong errno", "mkdir / 0755", -1, EISDIR, AS_PAYLOAD_NONE, NULL, 0,
	  "returned -1 EISDIR, model says -1 EEXIST" },
	{ "success instead", "mkdir / 0755", 0, 0, AS_PAYLOAD_NONE, NULL, 0,
	  "returned 0, model says -1 EEXIST" },
	{ "failure instead", "mkdir /a 0755", -1, EIO, AS_PAYLOAD_NONE, NULL, 0,
	  "returned -1 EIO, model says 0" },
	{ "short read", "$0 = open /f O_RDWR|O_CREAT 0644\nftruncate $0 4\npread $0 len=4 at=0", 3,
	  0, AS_PAYLOAD_BYTES, "\0\0\0", 3, "returned 3, model says 4" },
	{ "right zeros", "$0 = open /f O_RDWR|O_CREAT 0644\nftruncate $0 4\npread $0 len=4 at=0", 4,
	  0, AS_PAYLOAD_BYTES, "\0\0\0\0", 4, NULL },
	{ "wrong byte", "$0 = open /f O_RDWR|O_CREAT 0644\nftruncate $0 4\npread $0 len=4 at=0", 4,
	  0, AS_PAYLOAD_BYTES, "\0\0\1\0", 4, "byte at offset 2 is 0x01, model says 0x00" },
	{ "listing", "create /b 0644\nmkdir /a 0755\nreaddir /", 2, 0, AS_PAYLOAD_NAMES, "da\0-b",
	  6, NULL },
	{ "listing lacks", "create /b 0644\nmkdir /a 0755\nreaddir /", 1, 0, AS_PAYLOAD_NAMES, "-b",
	  3, "\"a\" is missing" },
	{ "listing has more", "mkdir /a 0755\nreaddir /", 2, 0, AS_PAYLOAD_NAMES, "da\0-b", 6,
	  "\"b\" should not be there" },
	{ "listing has another type", "mkdir /a 0755\nreaddir /", 1, 0, AS_PAYLOAD_NAMES, "la", 3,
	  "\"a\" has type 'l', model says 'd'" },
	{ "link text", "symlink abc /l\nreadlink /l", 3, 0, AS_PAYLOAD_BYTES, "abd", 3,
	  "says \"abd\", model says \"abc\"" },
	{ "attribute list", "write_xattr / user.a len=1\nlistxattr /", 0, 0, AS_PAYLOAD_NAMES, "",
	  0, "attribute \"user.a\" is missing" },
	{ "data where a hole is allowed",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nftruncate $0 9000\nlseek $0 0 SEEK_DATA", 0, 0,
	  AS_PAYLOAD_NONE, NULL, 0, NULL },
	{ "data overlooked",
	  "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=9000 at=0 fill=1\nlseek $0 0 SEEK_DATA",
	  4096, 0, AS_PAYLOAD_NONE, NULL, 0, "found data at 4096, model has some at 0" },
	{ "hole in data",
	  "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=9000 at=0 fill=1\nlseek $0 0 SEEK_HOLE",
	  4096, 0, AS_PAYLOAD_NONE, NULL, 0, "found a hole at 4096, model has data there" },
	{ "not possible here", "umount", -1, AS_ERR_UNSUPPORTED, AS_PAYLOAD_NONE, NULL, 0, NULL },
};

static void test_judge(void **state)
{
	struct as_verdict verdict = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(judged) / sizeof(judged[0]); i++) {
		struct as_model *m = as_model_new(&t_full_traits);
		struct as_seq *seq = t_parse(judged[i].text);
		struct as_outcome got = { .ret = judged[i].ret,
					  .err = judged[i].err,
					  .payload = judged[i].payload,
					  .data = judged[i].data,
					  .len = judged[i].len };
		bool agrees;

		for (size_t k = 0; k + 1 < seq->n; k++)
			assert_int_equal(as_model_apply(m, &seq->ops[k]), 0);
		agrees = as_model_judge(m, &seq->ops[seq->n - 1], &got, &verdict);
		if (agrees != !judged[i].want)
			fail_msg("%s: %s", judged[i].name, as_buf_str(&verdict.why));
		if (!agrees)
			assert_string_equal(as_buf_str(&verdict.why), judged[i].want);
		as_seq_free(seq);
		as_model_free(m);
	}
	as_verdict_free(&verdict);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows),
					    cmocka_unit_test(test_directory_links),
					    cmocka_unit_test(test_judge) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
