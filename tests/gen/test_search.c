/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The set of digests, the queue and its orders, and typical points. */
#include "tests/lib/gen.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void test_visited(void **state)
{
	struct as_visited v = { 0 };

	(void)state;
	assert_false(as_visited_has(&v, AS_DIGEST_ZERO));
	for (uint64_t i = 0; i < 20000; i++) {
		struct as_digest d = { i % 100, i / 100 };

		assert_false(as_visited_has(&v, d));
		assert_true(as_visited_add(&v, d));
		assert_false(as_visited_add(&v, d));
		assert_true(as_visited_has(&v, d));
	}
	assert_int_equal(as_digests_n(&v.set), 20000);
	as_visited_free(&v);
	v.max = 10;
	for (uint64_t i = 1; i < 100; i++)
		assert_true(as_visited_add(&v, (struct as_digest){ i, i }));
	assert_true(as_digests_n(&v.set) <= 10);
	assert_int_equal(v.forgotten, 9);
	as_visited_free(&v);
}

static int items[100];

static void fill(struct as_queue *q)
{
	for (size_t level = 0; level < 10; level++)
		for (size_t i = 0; i < 10; i++)
			as_queue_push(q, level, &items[level * 10 + i]);
}

static void test_orders(void **state)
{
	struct as_chooser *chooser = as_chooser_seeded(3);
	struct as_choice *choice = as_chooser_choice(chooser);

	(void)state;
	for (int order = 0; order < AS_ORDERS; order++) {
		struct as_queue q = { .order = (enum as_order)order, .bias = 2 };
		size_t level[10] = { 0 };
		struct as_queue_place place;

		assert_null(as_queue_pick(&q, choice, &place));
		fill(&q);
		for (int i = 0; i < 10000; i++) {
			assert_non_null(as_queue_pick(&q, choice, &place));
			level[place.level]++;
		}
		if (order == AS_ORDER_LONGER) { /* 100 : 1, of 385 */
			assert_in_range(level[9], 2350, 2850);
			assert_in_range(level[0], 5, 60);
		} else if (order == AS_ORDER_UNIFORM) {
			assert_in_range(level[9], 850, 1150);
		} else {
			assert_int_equal(level[order == AS_ORDER_DEPTH ? 9 : 0], 10000);
		}
		as_queue_free(&q);
	}
	as_chooser_free(chooser);
}

static void test_every_item_leaves_once(void **state)
{
	struct as_chooser *chooser = as_chooser_seeded(3);
	struct as_queue q = { .bias = 2 };
	bool seen[100] = { false };

	(void)state;
	fill(&q);
	for (int i = 0; i < 100; i++) {
		struct as_queue_place place;
		int *item;

		if (i % 2) {
			item = as_queue_evict(&q, as_chooser_choice(chooser));
		} else {
			item = as_queue_pick(&q, as_chooser_choice(chooser), &place);
			as_queue_remove(&q, place);
		}
		assert_false(seen[item - items]);
		seen[item - items] = true;
	}
	assert_int_equal(q.n, 0);
	assert_null(as_queue_evict(&q, as_chooser_choice(chooser)));
	as_queue_free(&q);
	as_chooser_free(chooser);
}

/* Dogfood's example: four empty directories and one that is not. */
static void test_typical(void **state)
{
	struct as_chooser *chooser = as_chooser_seeded(1);
	struct as_point points[100];
	uint32_t chosen[AS_KMEANS_MAX];
	bool empty[5] = { false };

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		struct as_attrs attrs = { .type = S_IFDIR, .depth = 1, .children = i == 2 ? 3 : 0 };

		points[i] = as_point_of(&attrs, 10);
	}
	for (int round = 0; round < 200; round++) {
		assert_int_equal(as_kmeans(points, 5, 3, as_chooser_choice(chooser), chosen), 2);
		assert_true((chosen[0] == 2) != (chosen[1] == 2));
		empty[chosen[chosen[0] == 2]] = true;
	}
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(empty[i], i != 2);
	/* Three heaps far from each other: one of each. */
	for (unsigned i = 0; i < 99; i++) {
		struct as_attrs attrs = { .type = i % 3 == 0   ? S_IFDIR
						  : i % 3 == 1 ? S_IFREG
							       : S_IFLNK,
					  .depth = 1 + i % 2 };

		points[i] = as_point_of(&attrs, 10);
	}
	for (int round = 0; round < 200; round++) {
		assert_int_equal(as_kmeans(points, 99, 3, as_chooser_choice(chooser), chosen), 3);
		assert_int_equal((1u << chosen[0] % 3 | 1u << chosen[1] % 3 | 1u << chosen[2] % 3),
				 7);
	}
	assert_int_equal(as_kmeans(points, 0, 3, as_chooser_choice(chooser), chosen), 0);
	assert_int_equal(as_kmeans(points, 1, 3, as_chooser_choice(chooser), chosen), 1);
	as_chooser_free(chooser);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_visited),
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_every_item_leaves_once),
		cmocka_unit_test(test_typical),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
