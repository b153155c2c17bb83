/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of quotas: who must be refused, who may be, and who must not; which limits are told. */
#include "tests/lib/model.h"

#include <errno.h>
#include <stdio.h>

#define GROUP "mkdir /d 0755\nchown /d -1 8\nchmod /d 02755\n"
#define TREE GROUP "setquota grp 8 ihard=3\ncreate /d/a 0644\n"
#define PROJECT "mkdir /d 0755\n$0 = open /d O_RDONLY\nsetproject $0 5 inherit=1\nclose $0\n"
#define FILE7 "create /f 0644\nchown /f 7 8\n"
#define OPENED "$0 = open /f O_RDWR\n"

/* The last operation must answer `ret`, or -1 with `err`. */
enum { OTHER_OK = 1000 };
static const struct {
	const char *name, *text;
	int64_t ret;
	int err;
	int wrong; /* an errno that it must not answer, or OTHER_OK: it must not succeed with 0 */
} rows[] = {
	{ "room for one", TREE "create /d/b 0644", 0, 0, EDQUOT },
	{ "no room: create", TREE "create /d/b 0644\ncreate /d/c 0644", -1, EDQUOT, OTHER_OK },
	{ "no room: mkdir", TREE "create /d/b 0644\nmkdir /d/c 0755", -1, EDQUOT, OTHER_OK },
	{ "no room: mknod", TREE "create /d/b 0644\nmknod /d/c fifo 0644", -1, EDQUOT, OTHER_OK },
	{ "no room: symlink", TREE "create /d/b 0644\nsymlink x /d/c", -1, EDQUOT, OTHER_OK },
	{ "no room: open", TREE "create /d/b 0644\n$0 = open /d/c O_RDWR|O_CREAT 0644", -1, EDQUOT,
	  OTHER_OK },
	{ "no room: tmpfile", TREE "create /d/b 0644\n$0 = open /d O_RDWR|O_TMPFILE 0644", -1,
	  EDQUOT, OTHER_OK },
	{ "no room: whiteout", TREE "create /d/b 0644\nrename2 /d/b /x RENAME_WHITEOUT", -1, EDQUOT,
	  OTHER_OK },
	{ "no room: whiteout, and a full directory",
	  TREE "mkdir /d/b 0755\nmkdir /x 0755\ncreate /x/f 0644\nrename2 /d/b /x RENAME_WHITEOUT",
	  -1, EDQUOT, OTHER_OK },
	{ "a second name", TREE "create /d/b 0644\nhardlink /d/a /d/c", 0, 0, EDQUOT },
	{ "given back", TREE "create /d/b 0644\nunlink /d/a\ncreate /d/c 0644", 0, 0, EDQUOT },
	{ "elsewhere", TREE "create /d/b 0644\ncreate /c 0644", 0, 0, EDQUOT },
	{ "soft", GROUP "setquota grp 8 isoft=1\ncreate /d/a 0644\ncreate /d/b 0644", 0, 0,
	  EDQUOT },
	{ "taken away", TREE "create /d/b 0644\nsetquota grp 8\ncreate /d/c 0644", 0, 0, EDQUOT },
	{ "another type", GROUP "setquota usr 8 ihard=1\ncreate /d/a 0644", 0, 0, EDQUOT },
	{ "root's", "setquota usr 0 ihard=2\ncreate /a 0644\ncreate /b 0644", -1, EDQUOT,
	  OTHER_OK },
	{ "given away", FILE7 "setquota usr 7 ihard=1\ncreate /g 0644\nchown /g 7 -1", -1, EDQUOT,
	  OTHER_OK },
	{ "given to who has it", FILE7 "setquota usr 7 ihard=1\nchown /f 7 -1", 0, 0, EDQUOT },
	{ "given, another limit", FILE7 "setquota grp 7 ihard=1\ncreate /g 0644\nchown /g 7 -1", 0,
	  0, EDQUOT },
	{ "a write with no limit", FILE7 OPENED "write $0 len=9000", 9000, 0, EDQUOT },
	{ "a write, another's limit", FILE7 "setquota usr 9 bhard=4\n" OPENED "write $0 len=9000",
	  9000, 0, EDQUOT },
	{ "a soft limit of space", FILE7 "setquota usr 7 bsoft=4\n" OPENED "write $0 len=9000",
	  9000, 0, EDQUOT },
	{ "soft over hard", "setquota usr 7 isoft=9 ihard=8", -1, EINVAL, OTHER_OK },
	{ "soft over hard space", "setquota usr 7 bsoft=9 bhard=8", -1, EINVAL, OTHER_OK },
	{ "nobody's", "setquota usr -1 ihard=8", -1, EINVAL, OTHER_OK },
	{ "no such type", "setquota 3 7 ihard=8", -1, EINVAL, OTHER_OK },
	{ "a project", PROJECT "setquota prj 5 ihard=2\ncreate /d/a 0644\ncreate /d/b 0644", -1,
	  EDQUOT, OTHER_OK },
	{ "its directories",
	  PROJECT "setquota prj 5 ihard=3\nmkdir /d/a 0755\ncreate /d/a/f 0644\ncreate /d/a/g 0644",
	  -1, EDQUOT, OTHER_OK },
	{ "into a project", PROJECT "create /f 0644\nrename /f /d/f", -1, EXDEV, OTHER_OK },
	{ "a name in a project", PROJECT "create /f 0644\nhardlink /f /d/f", -1, EXDEV, OTHER_OK },
	{ "out of a project", PROJECT "create /d/f 0644\nrename /d/f /f", 0, 0, EXDEV },
	{ "within a project", PROJECT "mkdir /d/e 0755\ncreate /d/f 0644\nrename /d/f /d/e/f", 0, 0,
	  EXDEV },
	{ "of the same project",
	  PROJECT "$1 = open /f O_RDWR|O_CREAT 0644\nsetproject $1 5\nrename /f /d/f", 0, 0,
	  EXDEV },
	{ "does not inherit",
	  "mkdir /d 0755\n$0 = open /d O_RDONLY\nsetproject $0 5\ncreate /f 0644\nrename /f /d/f",
	  0, 0, EXDEV },
	{ "counted", PROJECT "create /d/f 0644\nsymlink x /d/s\nquota prj 5", 3, 0, EDQUOT },
	{ "not counted", PROJECT "create /d/f 0644\nquota prj 0", 1, 0, EDQUOT },
};

static struct as_traits limited(void)
{
	struct as_traits traits = t_full_traits;

	traits.quota = AS_QUOTA_NOW | AS_QUOTA_LIMITS;
	traits.may_fill = true;
	return traits;
}

static void test_answers(void **state)
{
	struct as_traits traits = limited();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool ok = rows[i].wrong == OTHER_OK;

		if (!t_judges(&traits, rows[i].text, rows[i].ret, rows[i].err))
			fail_msg("%s: the right answer is refused", rows[i].name);
		if (t_judges(&traits, rows[i].text, ok ? 0 : -1, ok ? 0 : rows[i].wrong))
			fail_msg("%s: a wrong answer is accepted", rows[i].name);
	}
}

static bool judges(struct as_traits traits, const char *text, int64_t ret, int err)
{
	return t_judges(&traits, text, ret, err);
}

/* What the model cannot tell, it allows. */
static void test_allowed(void **state)
{
	struct as_traits traits = limited(), off = traits, late = traits, xfs = traits;
	const char *space = FILE7 "setquota usr 7 bhard=64\n" OPENED "write $0 len=9000 fill=1";
	const char *over = TREE "create /d/b 0644\ncreate /d/c 0644";

	(void)state;
	assert_true(judges(traits, space, 9000, 0));
	assert_true(judges(traits, space, -1, EDQUOT));
	assert_true(judges(traits, TREE "deepen /d 9", -1, EDQUOT));
	/* With options of the workload, limits may not be followed. */
	assert_true(judges(traits, TREE "create /d/b 0644\nremount opts=noatime\ncreate /d/c 0644",
			   0, 0));
	/* What is open may hold inodes back. */
	assert_true(judges(traits, TREE "$0 = open /d/a O_RDWR\ncreate /d/b 0644", -1, EDQUOT));
	late.quota = AS_QUOTA_LIMITS;
	assert_true(judges(late, TREE "create /d/b 0644", -1, EDQUOT));
	assert_false(judges(late, over, 0, 0));
	off.quota = AS_QUOTA_NOW;
	assert_true(judges(off, over, 0, 0));
	/* xfs. */
	xfs.quirks |= AS_QUIRK_QUOTA_ROOT | AS_QUIRK_QUOTA_CHOWN;
	assert_false(judges(xfs, over, 0, 0));
	assert_true(
		judges(xfs, FILE7 "setquota usr 7 ihard=1\ncreate /g 0644\nchown /g 7 -1", 0, 0));
	assert_true(judges(xfs, "setquota usr 0 ihard=2\ncreate /a 0644\ncreate /b 0644", 0, 0));
	assert_true(judges(xfs, PROJECT "setquota prj 5 ihard=1\ncreate /d/a 0644", -1, ENOSPC));
	/* Where nobody counts, limits may be those of others. */
	off.features &= ~(uint64_t)AS_FEAT_QUOTA;
	assert_true(judges(off, "create /a 0644", -1, EDQUOT));
	assert_false(judges(traits, "create /a 0644", -1, EDQUOT));
}

/* More data than the limit: a detector for limits that a path into the file forgets. */
static void test_data(void **state)
{
	static const char *const stores[] = {
		"pwrite $0 len=30000 at=0 fill=1",
		"pwritev2 $0 len=30000 at=100000 fill=1",
	};
	struct as_traits traits = limited();

	(void)state;
	for (size_t i = 0; i < sizeof(stores) / sizeof(stores[0]); i++) {
		char text[256];

		snprintf(text, sizeof(text), "setquota usr 7 bhard=16\n" FILE7 OPENED "%s",
			 stores[i]);
		assert_false(judges(traits, text, 30000, 0));
		assert_true(judges(traits, text, 16384, 0));
		/* It had the file before. */
		snprintf(text, sizeof(text), FILE7 "setquota usr 7 bhard=16\n" OPENED "%s",
			 stores[i]);
		assert_true(judges(traits, text, 30000, 0));
	}
}

static void test_told(void **state)
{
	struct as_outcome got = { .ret = 0 };
	struct as_traits traits = limited();
	static const char text[] = "setquota usr 7 isoft=1 ihard=2 bsoft=3 bhard=4\n";
	static const char *const between[] = { "", "umount\nmount", "sync\ncrash" };

	(void)state;
	for (size_t i = 0; i < sizeof(between) / sizeof(between[0]); i++) {
		char all[256];

		snprintf(all, sizeof(all), "%s%s\nquota usr 7", text, between[i]);
		got.limits = (struct as_quota_limits){ 1, 2, 3, 4 };
		assert_true(t_judges_outcome(&traits, all, &got));
		got.limits.space_hard = 5;
		assert_false(t_judges_outcome(&traits, all, &got));
		got.limits = (struct as_quota_limits){ 0 };
		assert_false(t_judges_outcome(&traits, all, &got));
		/* xfs keeps blocks. */
		got.limits = (struct as_quota_limits){ 1, 2, 4, 4 };
		assert_true(t_judges_outcome(&traits, all, &got));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_answers),
					    cmocka_unit_test(test_allowed),
					    cmocka_unit_test(test_data),
					    cmocka_unit_test(test_told) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
