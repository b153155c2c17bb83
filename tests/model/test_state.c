/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state as a data structure: invariants after every operation of random workloads, copies that
 * do not see each other, digests that tell states apart exactly where they should.
 */
#include "tests/lib/model.h"

#include "base/choice.h"
#include "model/state.h"

#include <errno.h>
#include <stdio.h>

/* ---- Random operations over a small alphabet ---- */

static const char *const paths[] = { "/a",   "/b",     "/c",   "/a/a", "/a/b",	"/b/a",
				     "/b/b", "/a/a/a", "a",    "../b", ".",	"..",
				     "/a/l", "/l",     "/l/a", "/b/d", "/b/d/d" };

static const enum as_opcode codes[] = {
	AS_OP_MKDIR,	   AS_OP_MKDIR,	       AS_OP_CREATE,
	AS_OP_CREATE,	   AS_OP_MKNOD,	       AS_OP_HARDLINK,
	AS_OP_HARDLINK,	   AS_OP_SYMLINK,      AS_OP_RENAME,
	AS_OP_RENAME2,	   AS_OP_REMOVE,       AS_OP_OPEN,
	AS_OP_OPEN,	   AS_OP_CLOSE,	       AS_OP_CHCWD,
	AS_OP_WRITE,	   AS_OP_PWRITE,       AS_OP_READ,
	AS_OP_DEEPEN,	   AS_OP_ENLARGE,      AS_OP_PRUNE,
	AS_OP_RMDIR,	   AS_OP_UNLINK,       AS_OP_TRUNCATE,
	AS_OP_FALLOCATE,   AS_OP_CHMOD,	       AS_OP_UTIMENS,
	AS_OP_WRITE_XATTR, AS_OP_REMOVEXATTR,  AS_OP_COPY_FILE_RANGE,
	AS_OP_LSEEK,	   AS_OP_LINK_TMPFILE, AS_OP_SYNC,
	AS_OP_UMOUNT,	   AS_OP_MOUNT,
};

static const int64_t open_flags[] = {
	0, 02, 0102, 0302, 01102, 02102, 020200002, 0200000, 010000000
};
static const int64_t falloc_flags[] = { 0, 1, 3, 8, 0x10, 0x11, 0x20 };

#define PICK(c, table) (table)[as_choose((c), sizeof(table) / sizeof((table)[0]))]

static struct as_op draw(struct as_choice *c)
{
	struct as_op op = as_op_make(PICK(c, codes));

	op.path = PICK(c, paths);
	op.path2 = PICK(c, paths);
	op.name = as_choose(c, 2) ? "user.a" : "user.b";
	op.mode = 0700 | as_choose(c, 0100);
	op.fd = (int32_t)as_choose(c, 3);
	op.fd2 = (int32_t)as_choose(c, 3);
	op.len = as_choose(c, 4);
	op.off = as_choose(c, 5) * 4096;
	op.off2 = as_choose(c, 5) * 4096;
	op.fill = as_choose(c, 3);
	op.atime = as_choose(c, 2) ? AS_TIME_NOW : 77;
	op.mtime = as_choose(c, 2) ? AS_TIME_OMIT : 88;
	switch (op.code) {
	case AS_OP_OPEN:
		op.slot = (int32_t)as_choose(c, 3);
		op.flags = PICK(c, open_flags);
		break;
	case AS_OP_MKNOD:
		op.flags = as_choose(c, 2) ? 010000 : 020000;
		break;
	case AS_OP_FALLOCATE:
		op.flags = PICK(c, falloc_flags);
		op.len *= 4096;
		break;
	case AS_OP_RENAME2:
		op.flags = 1 << as_choose(c, 3);
		break;
	case AS_OP_LSEEK:
		op.flags = as_choose(c, 5);
		break;
	case AS_OP_WRITE:
	case AS_OP_PWRITE:
	case AS_OP_COPY_FILE_RANGE:
		op.len *= 3000;
		break;
	default:
		break;
	}
	return op;
}

/* Two models driven by the same operations, one of them copied and its copies thrown away, must
 * agree; and a copy taken before keeps its digest whatever happens to the original. */
static void test_random(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct as_chooser *chooser = as_chooser_seeded(seed);
		struct as_choice *c = as_chooser_choice(chooser);
		struct as_model *a = as_model_new(&t_full_traits),
				*b = as_model_new(&t_full_traits);

		for (int i = 0; i < 400; i++) {
			struct as_op op = draw(c);
			struct as_model *kept = as_model_copy(a);
			struct as_digest before = as_model_digest(a);
			struct as_digest canon = as_model_digest_canonical(a);
			int ea = as_model_apply(a, &op), eb = as_model_apply(b, &op);
			const char *broken = as_model_check(a);

			if (broken)
				fail_msg("seed %llu op %d (%s): %s", (unsigned long long)seed, i,
					 as_op_table[op.code].name, broken);
			assert_int_equal(ea, eb);
			assert_true(as_digest_eq(as_model_digest(a), as_model_digest(b)));
			assert_true(as_digest_eq(as_model_digest(kept), before));
			assert_true(as_digest_eq(as_model_digest_canonical(kept), canon));
			assert_null(as_model_check(kept));
			as_model_free(kept);
		}
		as_model_free(a);
		as_model_free(b);
		as_chooser_free(chooser);
	}
}

/* as_model_allowed must change nothing. */
static void test_query(void **state)
{
	struct as_chooser *chooser = as_chooser_seeded(5);
	struct as_choice *c = as_chooser_choice(chooser);
	struct as_model *m = as_model_new(&t_full_traits);

	(void)state;
	for (int i = 0; i < 5000; i++) {
		struct as_op op = draw(c);
		struct as_digest before = as_model_digest(m);
		struct as_allowed allowed;
		int err;

		as_model_allowed(m, &op, &allowed);
		assert_true(as_digest_eq(before, as_model_digest(m)));
		err = as_model_apply(m, &op);
		assert_int_equal(err, allowed.must);
		assert_int_equal(allowed.ok, err == 0);
	}
	as_model_free(m);
	as_chooser_free(chooser);
}

/* ---- What digests must and must not tell apart ---- */

static const struct {
	const char *name, *a, *b;
	bool exact, canonical; /* equal? */
} pairs[] = {
	{ "order of making", "mkdir /a 0755\nmkdir /b 0755", "mkdir /b 0755\nmkdir /a 0755", true,
	  true },
	{ "detour", "create /f 0644", "create /g 0644\nrename /g /f", true, true },
	{ "names", "mkdir /a 0755\ncreate /a/x 0644", "mkdir /b 0755\ncreate /b/y 0644", false,
	  true },
	{ "shape", "mkdir /a 0755\nmkdir /a/b 0755", "mkdir /a 0755\nmkdir /b 0755", false, false },
	{ "mode", "mkdir /a 0755", "mkdir /a 0700", false, false },
	{ "two links or two files", "create /a 0644\nhardlink /a /b",
	  "create /a 0644\ncreate /b 0644", false, false },
	{ "contents", "$0 = open /f O_RDWR|O_CREAT 0644\nwrite $0 len=5 fill=1\nclose $0",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nwrite $0 len=5 fill=2\nclose $0", false, false },
	{ "pieces of one pattern",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nwrite $0 len=8 fill=1\nclose $0",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nwrite $0 len=3 fill=1\n"
	  "write $0 len=5 fill=1\nclose $0",
	  true, true },
	{ "overwritten", "$0 = open /f O_RDWR|O_CREAT 0644\nwrite $0 len=8 fill=1\nclose $0",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nwrite $0 len=8 fill=2\npwrite $0 len=8 at=0 fill=1\n"
	  "close $0",
	  true, true },
	{ "open or closed", "create /f 0644", "$0 = open /f O_RDWR|O_CREAT 0644", false, false },
	{ "offset", "$0 = open /f O_RDWR|O_CREAT 0644",
	  "$0 = open /f O_RDWR|O_CREAT 0644\n"
	  "lseek $0 5 SEEK_SET",
	  false, false },
	{ "working directory", "mkdir /a 0755\nmkdir /b 0755\nchcwd /a",
	  "mkdir /a 0755\nmkdir /b 0755\nchcwd /b", false, true },
	{ "orphan", "$0 = open /f O_RDWR|O_CREAT 0644\nunlink /f",
	  "$0 = open /g O_RDWR|O_CREAT 0644\nunlink /g", true, true },
	{ "orphan that can be linked", "$0 = open / O_RDWR|O_TMPFILE 0644",
	  "$0 = open / O_RDWR|O_TMPFILE|O_EXCL 0644", false, false },
	{ "attribute", "create /f 0644\nwrite_xattr /f user.a len=1",
	  "create /f 0644\nwrite_xattr /f user.b len=1", false, false },
	{ "which names are one file, exactly",
	  "create /a 0644\nhardlink /a /b\ncreate /c 0644\nhardlink /c /d",
	  "create /a 0644\nhardlink /a /c\ncreate /b 0644\nhardlink /b /d", false, true },
	/* Two directories alike; links inside each, or across. Names do not matter, this does. */
	{ "which names are one file, up to renaming",
	  "mkdir /x 0755\nmkdir /y 0755\ncreate /x/1 0644\nhardlink /x/1 /x/2\n"
	  "create /y/1 0644\nhardlink /y/1 /y/2",
	  "mkdir /x 0755\nmkdir /y 0755\ncreate /x/1 0644\nhardlink /x/1 /y/1\n"
	  "create /x/2 0644\nhardlink /x/2 /y/2",
	  false, false },
	{ "time set", "create /f 0644\nutimens /f atime=omit mtime=5",
	  "create /f 0644\nutimens /f atime=omit mtime=6", false, false },
	{ "time forgotten", "create /f 0644\nutimens /f atime=omit mtime=5\ntruncate /f 0",
	  "create /f 0644", true, true },
	{ "removed again", "", "mkdir /a 0755\ndeepen /a 4\nremove /a", true, true },
	{ "whiteout", "create /f 0644\nrename2 /f /g RENAME_WHITEOUT",
	  "create /g 0644\nmknod /f chr 0000", true, true },
};

static void test_digests(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct as_model *a = as_model_new(&t_full_traits),
				*b = as_model_new(&t_full_traits);

		(void)t_apply_text(a, pairs[i].a);
		(void)t_apply_text(b, pairs[i].b);
		if (as_digest_eq(as_model_digest(a), as_model_digest(b)) != pairs[i].exact)
			fail_msg("%s: exact digests", pairs[i].name);
		if (as_digest_eq(as_model_digest_canonical(a), as_model_digest_canonical(b)) !=
		    pairs[i].canonical)
			fail_msg("%s: canonical digests", pairs[i].name);
		as_model_free(a);
		as_model_free(b);
	}
}

/* ---- Attributes for clustering ---- */

struct want {
	const char *path;
	struct as_attrs attrs;
};

static int check_attrs(void *ctx, const char *path, const struct as_attrs *got)
{
	const struct want *want = ctx;

	for (; want->path; want++) {
		if (strcmp(want->path, path) != 0)
			continue;
		assert_int_equal(got->type, want->attrs.type);
		assert_int_equal(got->symlinked, want->attrs.symlinked);
		assert_int_equal(got->depth, want->attrs.depth);
		assert_int_equal(got->hardlinks, want->attrs.hardlinks);
		assert_int_equal(got->children, want->attrs.children);
		assert_int_equal(got->open, want->attrs.open);
		return 0;
	}
	fail_msg("%s was not expected", path);
	return 1;
}

static int count(void *ctx, const char *path, const struct as_attrs *attrs)
{
	(void)path;
	(void)attrs;
	++*(int *)ctx;
	return 0;
}

static void test_attrs(void **state)
{
	static const struct want want[] = {
		{ "/", { .type = S_IFDIR, .depth = 0, .hardlinks = 1, .children = 3 } },
		{ "/a",
		  { .type = S_IFDIR, .depth = 1, .hardlinks = 1, .children = 2, .symlinked = 1 } },
		{ "/a/f",
		  { .type = S_IFREG, .depth = 2, .hardlinks = 2, .open = 1, .symlinked = 1 } },
		{ "/a/m", { .type = S_IFLNK, .depth = 2, .hardlinks = 1 } },
		{ "/l", { .type = S_IFLNK, .depth = 1, .hardlinks = 1 } },
		{ NULL, { 0 } },
	};
	struct as_model *m = as_model_new(&t_full_traits);
	int n = 0;

	(void)state;
	assert_int_equal(t_apply_text(m, "mkdir /a 0755\ncreate /a/f 0644\nhardlink /a/f /g\n"
					 "symlink a /l\nsymlink ../l/f /a/m\n$0 = open /g O_RDWR"),
			 0);
	assert_int_equal(as_model_each(m, false, check_attrs, (void *)want), 0);
	assert_int_equal(t_apply_text(m, "chcwd /a"), 0);
	assert_int_equal(as_model_each(m, true, count, &n), 0);
	assert_int_equal(n, 3);
	as_model_free(m);
}

static void test_order_of_use(void **state)
{
	struct as_model *m = as_model_new(&t_full_traits);

	(void)state;
	assert_int_equal(t_apply_text(m, "create /a 0644\ncreate /b 0644\n$0 = open /a O_RDWR\n"
					 "pwrite $0 len=1 at=0 fill=1"),
			 0);
	/* The one used last comes last. */
	struct as_stat a, b;
	assert_true(as_model_stat(m, "/a", true, &a) && as_model_stat(m, "/b", true, &b));
	assert_true(inode_at(m, (uint32_t)a.ino)->used > inode_at(m, (uint32_t)b.ino)->used);
	as_model_free(m);
}

/* A deep chain and a large directory are built in time linear in their size. */
static void test_large(void **state)
{
	struct as_model *m = as_model_new(&t_full_traits);

	(void)state;
	assert_int_equal(t_apply_text(m, "deepen / 20000\nmkdir /x 0755\nenlarge /x 20000"), 0);
	assert_int_equal(as_model_inodes(m), 40002);
	assert_null(as_model_check(m));
	as_model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),	     cmocka_unit_test(test_query),
		cmocka_unit_test(test_digests),	     cmocka_unit_test(test_attrs),
		cmocka_unit_test(test_order_of_use), cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
