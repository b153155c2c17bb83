/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read-only mounts: what is refused and in which order, what keeps one from becoming read-only,
 * what is stable then. tests/lib/fight.h compares all of it with tmpfs and labfs. */
#include "tests/lib/model.h"

#include "model/persist.h"
#include "model/state.h"

#include <errno.h>
#include <stdio.h>

#define TREE                                                                                    \
	"mkdir /d 0755\ncreate /f 0644\ncreate /d/g 0644\nsymlink f /l\nwrite_xattr /f user.a " \
	"len=3\n"
#define RO TREE "remount opts=ro\n"

struct row {
	const char *name, *text;
	int err; /* what Linux answers; 0: success */
	int library; /* what a library may answer, too; 0: nothing else */
};

static const struct row rows[] = {
	{ "make a directory", RO "mkdir /e 0755", EROFS, 0 },
	{ "make what is there", RO "mkdir /d 0755", EEXIST, 0 },
	{ "make below nothing", RO "mkdir /no/e 0755", ENOENT, 0 },
	{ "make a file", RO "create /e 0644", EROFS, 0 },
	{ "make a file that is there", RO "create /f 0644", EEXIST, 0 },
	{ "a second name", RO "hardlink /f /e", EROFS, 0 },
	{ "a second name that is there", RO "hardlink /f /l", EEXIST, 0 },
	{ "a link", RO "symlink f /e", EROFS, 0 },
	{ "rename", RO "rename /f /e", EROFS, 0 },
	{ "rename what is not there", RO "rename /e /f", EROFS, ENOENT },
	{ "rename to a directory with entries", RO "rename /f /d", EROFS, EISDIR },
	{ "rename from nowhere", RO "rename /no/e /f", ENOENT, 0 },
	{ "rename the root", RO "rename / /f", EBUSY, 0 },
	{ "unlink", RO "unlink /f", EROFS, 0 },
	{ "unlink what is not there", RO "unlink /e", EROFS, ENOENT },
	{ "unlink a directory", RO "unlink /d", EROFS, EISDIR },
	{ "unlink the root", RO "unlink /", EISDIR, 0 },
	{ "rmdir", RO "rmdir /d", EROFS, ENOTEMPTY },
	{ "rmdir of a dot", RO "rmdir /d/.", EINVAL, 0 },
	{ "remove", RO "remove /d", EROFS, 0 },
	{ "remove what is not there", RO "remove /e", ENOENT, 0 },
	{ "prune", RO "prune /d", EROFS, 0 },
	{ "prune an empty directory", "mkdir /e 0755\nremount opts=ro\nprune /e", 0, 0 },
	{ "prune a file", RO "prune /f", EROFS, 0 },
	{ "deepen", RO "deepen /d 2", EROFS, 0 },
	{ "deepen by nothing", RO "deepen /d 0", 0, 0 },
	{ "enlarge", RO "enlarge /d 2", EROFS, 0 },
	{ "enlarge a file by nothing", RO "enlarge /f 0", EROFS, 0 },
	{ "truncate", RO "truncate /f 0", EROFS, 0 },
	{ "truncate a directory", RO "truncate /d 0", EISDIR, 0 },
	{ "truncate to less than nothing", RO "truncate /f -1", EINVAL, 0 },
	{ "chmod", RO "chmod /f 0600", EROFS, 0 },
	{ "chmod of nothing", RO "chmod /e 0600", ENOENT, 0 },
	{ "fchmod", RO "$0 = open /f O_RDONLY\nfchmod $0 0600", EROFS, 0 },
	{ "chown", RO "chown /f 1 1", EROFS, 0 },
	{ "chown to nobody else", RO "chown /f -1 -1", EROFS, 0 },
	{ "utimens", RO "utimens /f mtime=5", EROFS, 0 },
	{ "utimens of nothing at all", RO "utimens /e atime=omit mtime=omit", 0, 0 },
	{ "an attribute", RO "write_xattr /f user.b len=3", EROFS, 0 },
	{ "an attribute with a bad flag", RO "write_xattr /f user.b len=3 flags=0x80", EROFS,
	  EINVAL },
	{ "an attribute less", RO "removexattr /f user.a", EROFS, 0 },
	{ "an attribute that is not there", RO "removexattr /f user.b", EROFS, ENODATA },
	{ "read an attribute", RO "read_xattr /f user.a", 0, 0 },
	{ "open to read", RO "$0 = open /f O_RDONLY", 0, 0 },
	{ "open to write", RO "$0 = open /f O_WRONLY", EROFS, 0 },
	{ "open to read and empty", RO "$0 = open /f O_RDONLY|O_TRUNC", EROFS, 0 },
	{ "open and make what is there", RO "$0 = open /f O_RDONLY|O_CREAT 0644", 0, 0 },
	{ "open and make", RO "$0 = open /e O_RDONLY|O_CREAT 0644", EROFS, 0 },
	{ "open what must be new", RO "$0 = open /f O_RDWR|O_CREAT|O_EXCL 0644", EEXIST, 0 },
	{ "open a directory to write", RO "$0 = open /d O_RDWR", EISDIR, 0 },
	{ "open a name only", RO "$0 = open /f O_RDWR|O_PATH", 0, 0 },
	{ "open without a name", RO "$0 = open /d O_RDWR|O_TMPFILE 0600", EROFS, 0 },
	{ "write", RO "$0 = open /f O_RDONLY\nwrite $0 len=3", EBADF, 0 },
	{ "fsync", RO "$0 = open /f O_RDONLY\nfsync $0", 0, 0 },
	{ "sync", RO "sync", 0, 0 },
	{ "unmount", RO "umount", 0, 0 },
	/* There and back. */
	{ "again", RO "remount opts=ro", 0, 0 },
	{ "writable", RO "remount\nmkdir /e 0755", 0, 0 },
	{ "writable, with an option", RO "remount opts=noatime\nmkdir /e 0755", 0, 0 },
	{ "said twice", TREE "remount opts=ro,rw\nmkdir /e 0755", 0, 0 },
	{ "mounted so", TREE "umount\nmount opts=noatime,ro\nmkdir /e 0755", EROFS, 0 },
	{ "mounted again", RO "umount\nmount\nmkdir /e 0755", 0, 0 },
	{ "after a power cut", RO "crash\nmkdir /e 0755", 0, 0 },
	/* What keeps it writable. */
	{ "a writer", TREE "$0 = open /f O_RDWR\nremount opts=ro", EBUSY, 0 },
	{ "refused, and still writable", TREE "$0 = open /f O_RDWR\nremount opts=ro\nmkdir /e 0755",
	  0, 0 },
	{ "a reader", TREE "$0 = open /f O_RDONLY\nremount opts=ro", 0, 0 },
	{ "a writer of a name only", TREE "$0 = open /f O_RDWR|O_PATH\nremount opts=ro", 0, 0 },
	{ "a writer, mounted otherwise", TREE "$0 = open /f O_RDWR\nremount opts=noatime", 0, 0 },
	{ "a mapping",
	  TREE "$0 = open /f O_RDWR\ntruncate /f 9\nmmap $0 len=9 at=0\nclose $0\n"
	       "remount opts=ro",
	  EBUSY, 0 },
};

static void test_rows(void **state)
{
	struct as_traits library = t_full_traits;

	(void)state;
	library.features |= AS_FEAT_LIBRARY;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct as_model *m = as_model_new(&t_full_traits);
		int err = t_apply_text(m, row->text);

		if (err != row->err)
			fail_msg("%s: %d, expected %d", row->name, err, row->err);
		as_model_free(m);
		if (!row->library)
			continue;
		assert_true(t_judges(&library, row->text, -1, row->err));
		if (!t_judges(&library, row->text, -1, row->library))
			fail_msg("%s: a library may not say %d", row->name, row->library);
		assert_false(t_judges(&library, row->text, 0, 0));
	}
}

/* A wrong answer is one: success, another errno, or EROFS where something else comes first. */
static void test_wrong(void **state)
{
	(void)state;
	assert_false(t_judges(&t_full_traits, RO "mkdir /e 0755", 0, 0));
	assert_false(t_judges(&t_full_traits, RO "mkdir /e 0755", -1, EACCES));
	assert_false(t_judges(&t_full_traits, RO "mkdir /d 0755", -1, EROFS));
	assert_false(t_judges(&t_full_traits, RO "unlink /e", -1, ENOENT));
	assert_false(t_judges(&t_full_traits, RO "stat /f", -1, EROFS));
	assert_false(t_judges(&t_full_traits, TREE "mkdir /e 0755", -1, EROFS));
	assert_false(t_judges(&t_full_traits, TREE "remount opts=ro", -1, EBUSY));
	assert_false(t_judges(&t_full_traits, TREE "$0 = open /f O_RDWR\nremount opts=ro", 0, 0));
}

/* A rename to its own name changes nothing: the kernel refuses before it looks, a library may not
 * refuse at all. */
static void test_same(void **state)
{
	struct as_traits library = t_full_traits;

	(void)state;
	library.features |= AS_FEAT_LIBRARY;
	assert_true(t_judges(&t_full_traits, RO "rename /f /f", -1, EROFS));
	assert_false(t_judges(&t_full_traits, RO "rename /f /f", 0, 0));
	assert_true(t_judges(&library, RO "rename /f /f", -1, EROFS));
	assert_true(t_judges(&library, RO "rename /f /f", 0, 0));
	assert_false(t_judges(&library, RO "rename /f /f", -1, ENOENT));
	assert_false(t_judges(&library, TREE "rename /f /f", -1, EROFS));
}

/* What was removed and is open: the kernel refuses, a library may know what to do. */
static void test_removed(void **state)
{
	const char *text = TREE "$0 = open /f O_RDONLY\nunlink /f\nremount opts=ro";
	struct as_traits library = t_full_traits;

	(void)state;
	library.features |= AS_FEAT_LIBRARY;
	assert_true(t_judges(&t_full_traits, text, -1, EBUSY));
	assert_false(t_judges(&t_full_traits, text, 0, 0));
	assert_true(t_judges(&library, text, -1, EBUSY));
	assert_true(t_judges(&library, text, 0, 0));
}

/* A type may hold what was removed until the next sync. */
static void test_lingering(void **state)
{
	struct as_traits lingers = t_full_traits;

	(void)state;
	lingers.quirks |= AS_QUIRK_REMOVED_LINGER;
	assert_true(t_judges(&lingers, TREE "unlink /f\nremount opts=ro", -1, EBUSY));
	assert_true(t_judges(&lingers, TREE "unlink /f\nremount opts=ro", 0, 0));
	assert_false(t_judges(&lingers, TREE "unlink /f\nsync\nremount opts=ro", -1, EBUSY));
	assert_false(t_judges(&t_full_traits, TREE "unlink /f\nremount opts=ro", -1, EBUSY));
}

/* A type may refuse to make stable what cannot have changed, and only then. */
static void test_fsync_refused(void **state)
{
	static const char *const lines[] = { "fsync $0", "fdatasync $0" };
	struct as_traits refuses = t_full_traits;

	(void)state;
	refuses.quirks |= AS_QUIRK_FSYNC_EROFS;
	for (size_t i = 0; i < 2; i++) {
		char ro[512], rw[512];

		snprintf(ro, sizeof(ro), RO "$0 = open /f O_RDONLY\n%s", lines[i]);
		snprintf(rw, sizeof(rw), TREE "$0 = open /f O_RDONLY\n%s", lines[i]);
		assert_true(t_judges(&refuses, ro, -1, EROFS));
		assert_true(t_judges(&refuses, ro, 0, 0));
		assert_false(t_judges(&refuses, ro, -1, EIO));
		assert_false(t_judges(&refuses, rw, -1, EROFS));
		assert_false(t_judges(&t_full_traits, ro, -1, EROFS));
	}
	assert_false(t_judges(&refuses, RO "$0 = open /f O_RDONLY\nsyncfs $0", -1, EROFS));
}

static enum as_persist_kind promised(const char *line, int64_t ret)
{
	struct as_model *m = as_model_new(&t_full_traits);
	struct as_seq *seq = t_parse(line);
	struct as_outcome got = { .ret = ret, .err = ret < 0 ? EBUSY : 0 };
	enum as_persist_kind kind = as_model_persists(m, &seq->ops[0], &got, 0).kind;

	as_seq_free(seq);
	as_model_free(m);
	return kind;
}

static void test_stable(void **state)
{
	struct as_model *m = as_model_new(&t_full_traits), *writable;

	(void)state;
	assert_int_equal(promised("remount opts=ro", 0), AS_PERSIST_ALL);
	assert_int_equal(promised("remount opts=noatime,ro", 0), AS_PERSIST_ALL);
	assert_int_equal(promised("remount opts=ro", -1), AS_PERSIST_NOTHING);
	assert_int_equal(promised("remount opts=ro,rw", 0), AS_PERSIST_NOTHING);
	assert_int_equal(promised("remount", 0), AS_PERSIST_NOTHING);
	assert_int_equal(t_apply_text(m, "create /f 0644\nremount"), 0);
	assert_false(m->synced);
	writable = as_model_copy(m);
	assert_int_equal(t_apply_text(m, "remount opts=ro"), 0);
	assert_true(m->synced && as_model_read_only(m));
	/* These are different states, although the trees are the same. */
	assert_false(as_digest_eq(as_model_digest(m), as_model_digest(writable)));
	assert_int_equal(t_apply_text(m, "remount"), 0);
	assert_true(as_digest_eq(as_model_digest(m), as_model_digest(writable)));
	as_model_free(writable);
	as_model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),	  cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_same),	  cmocka_unit_test(test_removed),
		cmocka_unit_test(test_lingering),
		cmocka_unit_test(test_fsync_refused), cmocka_unit_test(test_stable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
