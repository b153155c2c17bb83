/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hash table and the growing array against plain ones, with poor hashes too, and a table that
 * processes share. */
#include "base/array.h"
#include "base/hash.h"
#include "base/prng.h"
#include "base/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* All keys lead to one slot. */
static uint64_t worst(uint64_t key)
{
	(void)key;
	return 7;
}

static void compare(uint64_t (*hash)(uint64_t key), unsigned keys)
{
	struct as_prng prng = as_prng_seed(7);
	struct as_table table = { 0 };
	struct items items = { 0 };
	size_t at[KEYS], there = 0;

	for (size_t i = 0; i < keys; i++)
		at[i] = AS_TABLE_NONE;
	for (unsigned i = 0; i < STEPS; i++) {
		uint64_t key = as_prng_next(&prng) % keys;
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
	for (uint64_t key = 0; key < keys; key++)
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
	compare(good, KEYS);
}

static void test_poor_hash(void **state)
{
	(void)state;
	compare(poor, KEYS);
}

static void test_one_hash(void **state)
{
	(void)state;
	compare(worst, 200);
}

/* Numbers are their own hashes: those that differ in few bits, or only in the highest, are told
 * apart. */
static void test_numbers(void **state)
{
	struct as_table table = { 0 };

	(void)state;
	for (uint64_t i = 0; i < KEYS; i++) {
		as_table_add(&table, i, i);
		as_table_add(&table, i << 48, KEYS + i);
		if (!i) /* the same number */
			as_table_remove(&table, i, KEYS);
	}
	for (uint64_t i = 1; i < KEYS; i++) {
		assert_int_equal(as_table_get(&table, i), i);
		assert_int_equal(as_table_get(&table, i << 48), KEYS + i);
		assert_int_equal(as_table_get(&table, i << 32), AS_TABLE_NONE);
	}
	as_table_free(&table);
}

static void test_pointers(void **state)
{
	struct as_table table = { 0 };
	int items[100];

	(void)state;
	assert_null(as_table_ptr(as_table_get(&table, 3)));
	for (unsigned i = 0; i < 100; i++)
		as_table_add_ptr(&table, i, &items[i]);
	for (unsigned i = 0; i < 100; i += 2)
		as_table_remove_ptr(&table, i, &items[i]);
	for (unsigned i = 0; i < 100; i++)
		assert_ptr_equal(as_table_ptr(as_table_get(&table, i)), i % 2 ? &items[i] : NULL);
	as_table_free(&table);
}

/* The way of an owner whose last item takes the place of the one that goes. */
static void test_move_and_copy(void **state)
{
	struct as_table table = { 0 }, copy;
	uint64_t keys[1000];
	size_t n = 0;

	(void)state;
	as_table_copy(&copy, &table);
	assert_int_equal(as_table_get(&copy, 0), AS_TABLE_NONE);
	for (; n < 1000; n++) {
		keys[n] = n * 4096;
		as_table_add(&table, keys[n], n);
	}
	while (n > 10) {
		size_t gone = n / 3;

		as_table_remove(&table, keys[gone], gone);
		keys[gone] = keys[--n];
		as_table_move(&table, keys[gone], n, gone);
		if (n == 500)
			as_table_copy(&copy, &table);
	}
	for (size_t i = 0; i < n; i++)
		assert_int_equal(as_table_get(&table, keys[i]), i);
	assert_int_equal(table.n, 10);
	assert_int_equal(copy.n, 500);
	assert_int_equal(as_table_get(&copy, keys[0]), 0);
	as_table_free(&table);
	as_table_free(&copy);
}

/* It takes memory for what it holds, not for what it held. */
static void test_shrink(void **state)
{
	struct as_table table = { 0 };
	size_t small, large;

	(void)state;
	assert_int_equal(as_table_bytes(&table), 0);
	as_table_add(&table, 0, 0);
	small = as_table_bytes(&table);
	for (size_t i = 1; i < 10000; i++)
		as_table_add(&table, i, i);
	large = as_table_bytes(&table);
	assert_true(large >= 10000 * sizeof(struct as_table_slot));
	for (size_t i = 9999; i > 100; i--)
		as_table_remove(&table, i, i);
	assert_true(as_table_bytes(&table) <= large / 8);
	for (size_t i = 0; i <= 100; i++)
		assert_int_equal(as_table_get(&table, i), i);
	for (size_t i = 0; i <= 100; i++)
		as_table_remove(&table, i, i);
	assert_int_equal(as_table_bytes(&table), small);
	as_table_free(&table);
}

static void test_walk(void **state)
{
	struct as_table table = { 0 };
	bool met[100] = { false };
	size_t at = 12345;

	(void)state;
	assert_int_equal(as_table_next(&table, &at), AS_TABLE_NONE);
	for (size_t i = 0; i < 100; i++)
		as_table_add(&table, poor(i), i);
	for (size_t i = 0; i < 100; i++) {
		size_t item = as_table_next(&table, &at);

		assert_true(item < 100 && !met[item]);
		met[item] = true;
	}
	for (at = 0; table.n;) {
		size_t item = as_table_next(&table, &at);

		as_table_remove(&table, poor(item), item);
	}
	as_table_free(&table);
}

/* ---- In a fixed place ---- */

#define PLACE_SLOTS 4096u
#define PLACE_ITEMS (PLACE_SLOTS / 4 * 3)
#define CHILDREN 16u

struct shared {
	struct as_table table;
	struct as_table_slot place[PLACE_SLOTS];
};

static void add_as_child(struct shared *shared, size_t first, size_t end)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		for (size_t i = 0; i < first; i++)
			if (as_table_get(&shared->table, i) != i)
				_exit(1);
		for (size_t i = first; i < end; i++)
			as_table_add(&shared->table, i, i);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Each child sees what those before it added, and makes the table grow for those after it. */
static void test_shared(void **state)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	size_t each = PLACE_ITEMS / CHILDREN;

	(void)state;
	assert_true(shared != MAP_FAILED);
	as_table_place(&shared->table, shared->place, sizeof(shared->place));
	for (size_t i = 0; i < CHILDREN; i++) {
		assert_false(as_table_is_full(&shared->table));
		add_as_child(shared, i * each, (i + 1) * each);
		assert_ptr_equal(shared->table.slots, shared->place);
	}
	assert_int_equal(shared->table.n, PLACE_ITEMS);
	assert_true(as_table_is_full(&shared->table));
	assert_int_equal(as_table_bytes(&shared->table), sizeof(shared->place));
	for (size_t i = 0; i < PLACE_ITEMS; i++)
		assert_int_equal(as_table_get(&shared->table, i), i);
	assert_int_equal(as_table_get(&shared->table, PLACE_ITEMS), AS_TABLE_NONE);
	for (size_t i = 0; i < PLACE_ITEMS; i++)
		as_table_remove(&shared->table, i, i);
	assert_false(as_table_is_full(&shared->table));
	assert_ptr_equal(shared->table.slots, shared->place);
	as_table_free(&shared->table);
	munmap(shared, sizeof(*shared));
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
		cmocka_unit_test(test_good_hash), cmocka_unit_test(test_poor_hash),
		cmocka_unit_test(test_one_hash),  cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_pointers),  cmocka_unit_test(test_move_and_copy),
		cmocka_unit_test(test_shrink),	  cmocka_unit_test(test_walk),
		cmocka_unit_test(test_shared),	  cmocka_unit_test(test_empty),
		cmocka_unit_test(test_array),
	};

	return cmocka_run_group_tests_name("base/table", tests, NULL, NULL);
}
