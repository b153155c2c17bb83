/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arena: alignment, zeroing, stability of pointers, and that reset really reuses. */
#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static void test_zeroed_aligned_disjoint(void **state)
{
	struct as_arena arena = { 0 };
	unsigned char *ptrs[2000];
	size_t lens[2000];

	(void)state;
	/* Sizes from nothing to several blocks, so that every way to get memory is taken. */
	for (size_t i = 0; i < 2000; i++) {
		lens[i] = i % 100 == 99 ? 100000 + i : i % 97;
		ptrs[i] = as_arena_alloc(&arena, lens[i]);
		assert_int_equal((uintptr_t)ptrs[i] % 16, 0);
		for (size_t k = 0; k < lens[i]; k++)
			assert_int_equal(ptrs[i][k], 0);
		memset(ptrs[i], (int)(i % 251) + 1, lens[i]);
	}
	for (size_t i = 0; i < 2000; i++)
		for (size_t k = 0; k < lens[i]; k++)
			assert_int_equal(ptrs[i][k], i % 251 + 1);
	as_arena_free(&arena);
	assert_null(arena.head);
	as_arena_free(&arena);
	as_arena_free(NULL);
}

static void test_reset_reuses(void **state)
{
	struct as_arena arena = { 0 };
	char *first = as_arena_alloc(&arena, 100);

	(void)state;
	memset(first, 0xff, 100);
	for (int i = 0; i < 1000; i++) {
		char *again;

		as_arena_reset(&arena);
		assert_int_equal(arena.used_bytes, 0);
		again = as_arena_alloc(&arena, 100);
		assert_ptr_equal(again, first);
		for (int k = 0; k < 100; k++)
			assert_int_equal(again[k], 0);
		memset(again, 0xff, 100);
	}
	assert_true(arena.used_bytes >= 100);
	as_arena_reset(&arena);
	as_arena_free(&arena);
}

static void test_strndup(void **state)
{
	struct as_arena arena = { 0 };

	(void)state;
	assert_string_equal(as_arena_strndup(&arena, "abcdef", 3), "abc");
	assert_string_equal(as_arena_strndup(&arena, "", 0), "");
	as_arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zeroed_aligned_disjoint),
		cmocka_unit_test(test_reset_reuses),
		cmocka_unit_test(test_strndup),
	};

	return cmocka_run_group_tests_name("base/arena", tests, NULL, NULL);
}
