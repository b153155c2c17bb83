/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The set of digests: near ones are told apart, and a full set in a fixed place takes no more. */
#include "base/digests.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define N 5000u

static struct as_digest nth(uint64_t n)
{
	return as_hash(&n, sizeof(n));
}

static void test_set(void **state)
{
	struct as_digests set = { 0 };

	(void)state;
	for (uint64_t i = 0; i < N; i++) {
		assert_false(as_digests_has(&set, nth(i)));
		assert_true(as_digests_add(&set, nth(i)));
		assert_false(as_digests_add(&set, nth(i)));
	}
	assert_int_equal(as_digests_n(&set), N);
	for (uint64_t i = 0; i < 2 * N; i++)
		assert_int_equal(as_digests_has(&set, nth(i)), i < N);
	as_digests_free(&set);
	assert_false(as_digests_has(&set, nth(0)));
	assert_int_equal(as_digests_n(&set), 0);
}

/* Zeros and ones are digests like any other, and both halves count. */
static void test_halves(void **state)
{
	static const struct as_digest digests[] = {
		{ 0, 0 },
		{ 1, 0 },
		{ 0, 1 },
		{ 1, 1 },
		{ UINT64_MAX, 0 },
		{ 0, UINT64_MAX },
		{ 0, UINT64_MAX / 2 },
		{ UINT64_MAX, UINT64_MAX },
	};
	enum { HALVES = sizeof(digests) / sizeof(digests[0]) };
	struct as_digests set = { 0 };

	(void)state;
	for (size_t i = 0; i < HALVES; i++) {
		for (size_t k = 0; k < HALVES; k++)
			assert_int_equal(as_digests_has(&set, digests[k]), k < i);
		assert_true(as_digests_add(&set, digests[i]));
	}
	as_digests_free(&set);
}

static void test_full(void **state)
{
	struct as_table_slot *place = calloc(64, sizeof(*place));
	struct as_digests set = { 0 };

	(void)state;
	assert_non_null(place);
	as_table_place(&set.table, place, 64 * sizeof(*place));
	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(as_digests_add(&set, nth(i)), i < 48);
	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(as_digests_has(&set, nth(i)), i < 48);
	as_digests_free(&set);
	free(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_halves),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests_name("base/digests", tests, NULL, NULL);
}
