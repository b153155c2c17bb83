/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of targets: one of each kind, and types that are recovered in other ways. */
#include "tests/lib/disk.h"

#include "target/facts.h"

enum {
	QUICK = 1 << AS_CHECK_QUICK,
	DEFAULT = 1 << AS_CHECK_DEFAULT,
	FULL = 1 << AS_CHECK_FULL,
	ALL = QUICK | DEFAULT | FULL
};

static const struct {
	const char *spec;
	enum as_traits_source source;
	enum as_guarantee guarantee;
	enum as_disk_layout layout;
	bool draws, recovers;
	/* where it recovers */
	bool by_mount;
	uint32_t by_checkers;
	enum as_check_mode strictest;
	bool ways_agree, mounts_unchecked, programs;
} rows[] = {
	{ "lab", AS_TRAITS_CAPS, AS_GUARANTEE_PREFIX, AS_DISK_LAB, false, true, true, ALL,
	  AS_CHECK_FULL, true, true, false },
	{ "ext4", AS_TRAITS_ROW, AS_GUARANTEE_PREFIX, AS_DISK_EXT, true, true, true, ALL,
	  AS_CHECK_FULL, true, false, true },
	{ "ext2", AS_TRAITS_ROW, AS_GUARANTEE_REPAIR, AS_DISK_EXT, true, true, false,
	  DEFAULT | FULL, AS_CHECK_FULL, false, false, true },
	{ "jfs", AS_TRAITS_ROW, AS_GUARANTEE_OBJECT, AS_DISK_OTHER, true, true, false, ALL,
	  AS_CHECK_FULL, true, false, true },
	{ "nilfs2", AS_TRAITS_ROW, AS_GUARANTEE_PREFIX, AS_DISK_OTHER, true, true, true, 0,
	  AS_CHECK_MODES, true, false, true },
	{ .spec = "fuse2fs",
	  .source = AS_TRAITS_ROW,
	  .guarantee = AS_GUARANTEE_REPAIR,
	  .layout = AS_DISK_EXT,
	  .draws = true },
	{ .spec = "fuse:server {disk} {mnt}",
	  .source = AS_TRAITS_SERVER,
	  .guarantee = AS_GUARANTEE_REPAIR },
	{ .spec = "dir:/tmp", .source = AS_TRAITS_PLACE, .guarantee = AS_GUARANTEE_PREFIX },
};

static void test_facts(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct as_target *target;
		struct as_err err = { 0 };
		struct as_recovery r;

		if (as_target_open(rows[i].spec, &target, &err))
			fail_msg("%s: %s", rows[i].spec, err.msg);
		r = as_target_recovery(target);
		if (as_target_traits(target).source != rows[i].source ||
		    as_target_promise(target).guarantee != rows[i].guarantee ||
		    as_target_layout(target) != rows[i].layout ||
		    !as_target_draw(target) == rows[i].draws || !r.impossible != rows[i].recovers)
			fail_msg("%s", rows[i].spec);
		if (rows[i].recovers &&
		    (r.by_mount != rows[i].by_mount || r.by_checkers != rows[i].by_checkers ||
		     r.strictest != rows[i].strictest || r.ways_agree != rows[i].ways_agree ||
		     r.mounts_unchecked != rows[i].mounts_unchecked ||
		     !r.programs == rows[i].programs))
			fail_msg("%s: recovery", rows[i].spec);
		as_target_free(target);
	}
}

/* A type without a row is a target, too. */
static void test_type_without_row(void **state)
{
	static const struct as_fstype type = { .name = "made up", .mount = "" };
	static const struct as_fstype never = { .name = "never", .impossible = "it is not there" };
	struct as_target *target;
	struct as_err err;

	(void)state;
	assert_int_equal(as_target_open_type(&type, "a,b", &target, &err), 0);
	assert_string_equal(as_target_spec(target), "made up");
	assert_string_equal(as_target_opts(target), "a,b");
	assert_true(as_target_recovery(target).by_mount);
	as_target_free(target);
	assert_int_equal(as_target_open_type(&never, "", &target, &err), AS_ELACK);
	assert_null(target);
	assert_non_null(strstr(err.msg, "it is not there"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_type_without_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
