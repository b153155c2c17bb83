/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quota: how many inodes an owner has by the model, and that it objects to each other number. */
#include "tests/lib/model.h"

#include <errno.h>

#define FILES "create /f 0644\nmkdir /d 0755\nsymlink f /l\nchown /f 7 8\nchown /l 7 9 nofollow=1\n"

#define OPEN FILES "$0 = open /f O_RDWR\nunlink /f\n"

/* /d is held by the name that $0 was opened by, though the file has another one. */
#define HELD                                                                               \
	"mkdir /d 0755\n$0 = open /d/f O_RDWR|O_CREAT 0644\nhardlink /d/f /g\nremove /d\n" \
	"create /h 0644\n"

/* The number that must be answered; one more and one less must be refused. */
static const struct {
	const char *name, *text;
	int64_t n;
} rows[] = {
	{ "the root directory", "quota usr 0", 1 },
	{ "what root made", "create /f 0644\nmkdir /d 0755\nquota grp 0", 3 },
	{ "what root gave away", FILES "quota usr 0", 2 },
	{ "what was given", FILES "quota usr 7", 2 },
	{ "by group", FILES "quota grp 8", 1 },
	{ "nobody", FILES "quota grp 7", 0 },
	{ "given back", FILES "chown /f 0 -1\nquota usr 7", 1 },
	{ "the group alone", FILES "chown /f 0 -1\nquota grp 8", 1 },
	{ "a second name", FILES "hardlink /f /g\nquota usr 7", 2 },
	{ "one name less", FILES "hardlink /f /g\nunlink /f\nquota usr 7", 2 },
	{ "removed", FILES "unlink /f\nquota usr 7", 1 },
	{ "closed then", FILES "$0 = open /f O_RDWR\nunlink /f\nclose $0\nquota usr 7", 1 },
	{ "replaced", FILES "create /g 0644\nrename /g /f\nquota usr 7", 1 },
	{ "a whiteout", FILES "rename2 /f /g RENAME_WHITEOUT\nquota usr 0", 3 },
	{ "a set-group-id folder",
	  "mkdir /d 0755\nchown /d -1 5\nchmod /d 02755\ncreate /d/f 0644\n"
	  "quota grp 5",
	  2 },
};

static void test_numbers(void **state)
{
	struct as_traits now = t_full_traits;

	(void)state;
	now.quota = AS_QUOTA_NOW;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!t_judges(&now, rows[i].text, rows[i].n, 0))
			fail_msg("%s: the right number is refused", rows[i].name);
		if (t_judges(&now, rows[i].text, rows[i].n + 1, 0) ||
		    (rows[i].n && t_judges(&now, rows[i].text, rows[i].n - 1, 0)))
			fail_msg("%s: a wrong number is accepted", rows[i].name);
	}
}

static void test_answers(void **state)
{
	struct as_traits other = t_full_traits;

	(void)state;
	assert_true(t_judges(&t_full_traits, "quota usr -1", -1, EINVAL));
	assert_false(t_judges(&t_full_traits, "quota usr -1", 0, 0));
	assert_true(t_judges(&t_full_traits, "quota 3 0", -1, EINVAL));
	assert_true(t_judges(&t_full_traits, "quota usr 7", -1, ENOENT));
	assert_false(t_judges(&t_full_traits, FILES "quota usr 7", -1, ENOENT));
	assert_false(t_judges(&t_full_traits, FILES "quota usr 7", -1, ESRCH));

	assert_false(t_judges(&t_full_traits, FILES "umount\nmount\nquota usr 7", -1, ESRCH));
	assert_true(t_judges(&t_full_traits, FILES "umount\nmount opts=noquota\nquota usr 7", -1,
			     ESRCH));

	/* What is open may hold a removed directory that it was in. */
	assert_true(t_judges(&t_full_traits, OPEN "quota usr 7", 2, 0));
	assert_true(t_judges(&t_full_traits, OPEN "quota usr 7", 3, 0));
	assert_false(t_judges(&t_full_traits, OPEN "quota usr 7", 1, 0));
	assert_true(t_judges(&t_full_traits, HELD "quota usr 0", 4, 0));

	/* Inodes of its own; and it gives back later. */
	other.quota = 0;
	other.quota_own = 2;
	assert_true(t_judges(&other, "quota usr 0", 3, 0));
	assert_false(t_judges(&other, "quota usr 0", 1, 0));
	assert_true(t_judges(&other, FILES "unlink /f\nquota usr 7", 2, 0));
	assert_false(t_judges(&other, FILES "unlink /f\nquota usr 7", 0, 0));

	other.features &= ~(uint64_t)AS_FEAT_QUOTA;
	assert_true(t_judges(&other, "quota usr 0", -1, ESRCH));
	assert_false(t_judges(&other, "quota usr 0", 3, 0));
	other.features |= AS_FEAT_LIBRARY;
	assert_true(t_judges(&other, "quota usr 0", -1, EOPNOTSUPP));
	assert_false(t_judges(&other, "quota usr 0", -1, ESRCH));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_numbers),
					    cmocka_unit_test(test_answers) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
