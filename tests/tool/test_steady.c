/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small disks: of each type that has such a variant, and whose mkfs is here, two runs of mkfs make
 * the same disk, byte for byte, and its own checker finds nothing to repair on it. (A row that is
 * not steady says why.) A run of mkfs by the true clock does not: so the test can fail.
 */
#include "tests/lib/skip.h"

#include "disk/cow.h"
#include "target/fresh.h"
#include "target/target.h"
#include "target/variant.h"
#include "tests/lib/tmpdir.h"
#include "tool/checker.h"
#include "tool/steady.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct as_target *open_small(const char *type)
{
	struct as_buf spec = { 0 };
	struct as_target *target;
	struct as_err err = { 0 };

	as_variants_print_small(type, &spec);
	if (as_target_open(as_buf_str(&spec), &target, &err))
		fail_msg("%s: %s", as_buf_str(&spec), err.msg);
	as_buf_free(&spec);
	return target;
}

static struct as_medium *make(const struct as_target *target, const char *folder)
{
	struct as_medium *medium;
	struct as_err err = { 0 };

	assert_int_equal(as_medium_new(as_target_small_bytes(target), &medium, &err), 0);
	if (as_steady_disk(as_target_fstype(target), folder, medium, &err))
		fail_msg("%s: %s", as_target_spec(target), err.msg);
	return medium;
}

static bool same(struct as_medium *a, struct as_medium *b)
{
	return as_digest_eq(as_disk_digest(as_medium_disk(a)), as_disk_digest(as_medium_disk(b)));
}

/* Whether its checker finds it in order. */
static bool is_clean(const struct as_target *target, struct as_medium *medium)
{
	const struct as_fstype *type = as_target_fstype(target);
	enum as_check_mode mode = as_fstype_strictest(type);
	struct as_checkers *checkers;
	struct as_checked checked;
	struct as_err err = { 0 };
	bool clean;

	if (!as_fstype_check(type, mode)->command)
		return true;
	checkers = as_checkers_new(NULL);
	clean = !as_checker_run(checkers, type, mode, as_medium_disk(medium), 0, &checked, &err) &&
		checked.answer == AS_CHECK_CLEAN;
	if (!clean)
		print_message("%s: %s\n", as_target_spec(target), as_buf_str(&checked.run.output));
	as_checked_free(&checked);
	as_checkers_free(checkers);
	return clean;
}

static void test_same(void **state)
{
	const struct as_variant *v;
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; (v = as_variant_at(i)); i++) {
		struct as_buf why = { 0 };
		struct as_target *target;
		struct as_medium *one, *two;

		if (strcmp(v->name, "small"))
			continue;
		if (as_fstype_lacks_tools(as_fstype_find(v->type), &why)) {
			print_message("%s lacks %s\n", v->type, as_buf_str(&why));
			as_buf_free(&why);
			continue;
		}
		target = open_small(v->type);
		one = make(target, NULL);
		two = make(target, NULL);
		if (as_target_fstype(target)->steady && !same(one, two))
			fail_msg("%s: two disks", as_target_spec(target));
		if (!is_clean(target, one))
			fail_msg("%s: its checker complains", as_target_spec(target));
		as_medium_free(one);
		as_medium_free(two);
		as_target_free(target);
		n++;
	}
	if (!n)
		skip_because("no mkfs is here");
	print_message("%u types\n", n);
}

/* By the true clock, a second later: another disk. */
static void test_can_fail(void **state)
{
	const struct as_fstype *type = as_fstype_find("minix3");
	struct as_buf why = { 0 };
	struct as_medium *one, *two;
	struct as_err err;

	(void)state;
	if (as_fstype_lacks_tools(type, &why))
		skip_because("minix3 lacks %s", as_buf_str(&why));
	assert_int_equal(as_medium_new(1 << 20, &one, &err), 0);
	assert_int_equal(as_medium_new(1 << 20, &two, &err), 0);
	assert_int_equal(as_fresh_disk(type, NULL, one, NULL, &err), 0);
	do { /* the clock is what is tested */
		usleep(100000);
		assert_int_equal(as_fresh_disk(type, NULL, two, NULL, &err), 0);
	} while (same(one, two));
	as_medium_free(one);
	as_medium_free(two);
}

/* What is kept is what a sandbox finds. */
static void test_kept(void **state)
{
	struct as_target *target = open_small("ext2");
	const char *folder = t_tmpdir();
	struct as_medium *made, *found;
	struct as_buf why = { 0 };
	struct as_err err;
	bool again;

	(void)state;
	if (as_fstype_lacks_tools(as_target_fstype(target), &why))
		skip_because("ext2 lacks %s", as_buf_str(&why));
	made = make(target, folder);
	assert_int_equal(as_medium_new(as_target_small_bytes(target), &found, &err), 0);
	assert_int_equal(as_fresh_disk(as_target_fstype(target), folder, found, &again, &err), 0);
	assert_false(again);
	assert_true(same(made, found));
	as_medium_free(made);
	as_medium_free(found);
	as_target_free(target);
}

static void test_spec(void **state)
{
	static const struct {
		const char *spec, *small;
	} rows[] = {
		{ "ext4", "ext4:mkfs=small" },
		{ "ext4:", "ext4:mkfs=small" },
		{ "ext4:data=journal", "ext4:mkfs=small,data=journal" },
		{ "ext4:mkfs=4k", "ext4:mkfs=4k" },
		{ "ext4:sync,mkfs=4k", "ext4:sync,mkfs=4k" },
		{ "lab:bug=1", "lab:bug=1" },
		{ "plugin:/ext4.so", "plugin:/ext4.so" },
		{ "ext", "ext" },
		{ "ext44", "ext44" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_buf out = { 0 };

		as_variants_print_small(rows[i].spec, &out);
		assert_string_equal(as_buf_str(&out), rows[i].small);
		as_buf_free(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spec),
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_can_fail),
		cmocka_unit_test(test_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
