/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Power cuts during recovery that are known from other disks (crash/again.h): what is known is
 * tried all the same, and must be right; and a recovery that does not stand them is found with it.
 */
#include "check/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct as_check_status explore_by(const char *spec, enum as_memo_mode memo,
					 uint64_t transitions, unsigned jobs)
{
	struct as_run_options run = { .deadline_ms = 60000 };
	struct as_check_options options = { .nodes = 2,
					    .crash = true,
					    .crashes = as_crash_options_default(),
					    .max_cuts = 1,
					    .jobs = jobs,
					    .max_states = 1u << 16,
					    .max_transitions = transitions,
					    .max_findings = 1,
					    .fd = -1 };
	struct as_check_args args = { .run = &run, .options = &options };
	struct as_check_status status = { 0 };
	struct as_target *target = NULL;
	struct as_err err = { 0 };

	options.crashes.prune = AS_PRUNE_PROVED;
	options.crashes.budget = 0;
	options.crashes.memo = memo;
	assert_int_equal(as_target_open(spec, &target, NULL), 0);
	args.target = target;
	run.size_bytes = as_target_small_bytes(target);
	if (as_check(&args, &status, &err))
		fail_msg("%s: %s", spec, err.msg);
	as_target_free(target);
	return status;
}

static struct as_check_status explore(const char *spec, enum as_memo_mode memo,
				      uint64_t transitions)
{
	return explore_by(spec, memo, transitions, 1);
}

static void test_what_is_known_is_right(void **state)
{
	static const char *const specs[] = { "lab",	   "lab:bug=36", "lab:bug=37",
					     "lab:bug=39", "lab:bug=41", "lab:bug=79" };

	(void)state;
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		struct as_check_status status = explore(specs[i], AS_MEMO_VERIFY, 700);

		assert_true(status.counts.crash.again_known > 100);
	}
}

/* Nothing is lost by it: the same states, trees and findings. */
static void test_nothing_is_missed(void **state)
{
	struct as_check_status with = explore("lab", AS_MEMO_ON, 700);
	struct as_check_status without = explore("lab", AS_MEMO_OFF, 700);

	(void)state;
	assert_true(with.counts.crash.again_known > 100);
	assert_int_equal(without.counts.crash.again_known, 0);
	assert_true(with.counts.crash.again < without.counts.crash.again);
	assert_int_equal(with.states, without.states);
	assert_int_equal(with.counts.crash.distinct, without.counts.crash.distinct);
	assert_int_equal(with.counts.recovered, without.counts.recovered);
	assert_int_equal(with.counts.findings, 0);
}

/* What one worker knows, the others know. What they were told is tried all the same, and must be
 * right. */
static void test_workers_share_it(void **state)
{
	struct as_check_status one = explore_by("lab", AS_MEMO_ON, 1000, 1);
	struct as_check_status three = explore_by("lab", AS_MEMO_ON, 3000, 3);

	(void)state;
	assert_int_equal(one.counts.told, 0);
	assert_true(three.counts.told > 100);
	assert_true(three.counts.told < three.counts.crash.again_known);
	assert_int_equal(three.counts.findings, 0);
	assert_true(explore_by("lab", AS_MEMO_VERIFY, 1000, 3).counts.told > 10);
}

/* 37 shows only when the power fails during recovery. */
static void test_it_is_found(void **state)
{
	struct as_check_status status = explore("lab:bug=37", AS_MEMO_ON, 20000);

	(void)state;
	assert_true(status.counts.findings > 0);
	assert_true(status.counts.crash.again_known > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_known_is_right),
		cmocka_unit_test(test_nothing_is_missed),
		cmocka_unit_test(test_workers_share_it),
		cmocka_unit_test(test_it_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
