/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hash table and the growing array against plain ones, with poor hashes too. */
#include "base/array.h"
#include "base/hash.h"
#include "base/prng.h"
#include "base/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define KEYS 3000u
#define STEPS 60000u

struct items {
	uint64_t *keys;
	size_t n, cap;
};

struct wanted {
	const struct items *items;
	uint64_t key;
};

static bool is_key(const void *ctx, size_t index)
{
	const struct wanted *w = ctx;

	return w->items->keys[index] == w->key;
}

static uint64_t good(uint64_t key)
{
	return as_hash64(&key, sizeof(key));
}

static uint64_t poor(uint64_t key)
{
	return key % 61;
}

static void compare(uint64_t (*hash)(uint64_t key))
{
	struct as_prng prng = as_prng_seed(7);
	struct as_table table = { 0 };
	struct items items = { 0 };
	size_t at[KEYS], there = 0;

	for (size_t i = 0; i < KEYS; i++)
		at[i] = AS_TABLE_NONE;
	for (unsigned i = 0; i < STEPS; i++) {
		uint64_t key = as_prng_next(&prng) % KEYS;
		struct wanted w = { &items, key };

		assert_int_equal(as_table_find(&table, hash(key), is_key, &w), at[key]);
		if (at[key] == AS_TABLE_NONE) {
			AS_ARRAY_ROOM(items.keys, items.n, items.cap);
			items.keys[items.n] = key;
			as_table_add(&table, hash(key), items.n);
			at[key] = items.n++;
			there++;
		} else if (as_prng_next(&prng) % 3) {
			as_table_remove(&table, hash(key), at[key]);
			at[key] = AS_TABLE_NONE;
			there--;
		}
		assert_int_equal(table.n, there);
	}
	for (uint64_t key = 0; key < KEYS; key++)
		assert_int_equal(as_table_find(&table, hash(key), is_key,
					       &(struct wanted){ &items, key }),
				 at[key]);
	as_table_clear(&table);
	assert_int_equal(as_table_find(&table, hash(1), is_key, &(struct wanted){ &items, 1 }),
			 AS_TABLE_NONE);
	as_table_free(&table);
	free(items.keys);
}

static void test_good_hash(void **state)
{
	(void)state;
	compare(good);
}

static void test_poor_hash(void **state)
{
	(void)state;
	compare(poor);
}

static void test_empty(void **state)
{
	struct as_table table = { 0 };

	(void)state;
	assert_int_equal(as_table_find(&table, 1, is_key, NULL), AS_TABLE_NONE);
	as_table_clear(&table);
	as_table_free(&table);
}

static void test_array(void **state)
{
	uint32_t *items = NULL;
	size_t n = 0, cap = 0;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		AS_ARRAY_ROOM(items, n, cap);
		assert_true(cap > n);
		items[n++] = i;
	}
	AS_ARRAY_ROOM_FOR(items, n, 5000, cap);
	assert_true(cap >= 6000);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(items[i], i);
	free(items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_hash),
		cmocka_unit_test(test_poor_hash),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_array),
	};

	return cmocka_run_group_tests_name("base/table", tests, NULL, NULL);
}
