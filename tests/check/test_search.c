/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search: which state comes first, and what is new about one. */
#include "tests/lib/skip.h"

#include "check/search.h"

static struct as_novelty novelty;

static uint32_t worth(uint64_t pending, uint64_t topology, uint64_t partition, uint64_t answers,
		      uint64_t places)
{
	struct as_novel novel = { { pending, topology, partition }, answers, places };

	return as_novelty_of(&novelty, &novel);
}

/* What was seen is worth half as much every time, down to nothing. */
static void test_halves(void **state)
{
	uint32_t before = worth(1, 2, 3, 0, 0);

	(void)state;
	assert_true(before);
	for (unsigned i = 0; i < 10; i++) {
		uint32_t now = worth(1, 2, 3, 0, 0);

		assert_int_equal(now, before / 2);
		before = now;
	}
	for (unsigned i = 0; i < 20; i++)
		before = worth(1, 2, 3, 0, 0);
	assert_int_equal(before, 0);
}

/* New code comes before all that the other features can say, and more of it before less. */
static void test_code_comes_first(void **state)
{
	uint32_t some = worth(10, 20, 30, 0, 0), code = worth(10, 20, 30, 0, 4);
	struct as_search_of early = { .id = 1, .novelty = some },
			    late = { .id = 9, .novelty = code };

	(void)state;
	assert_true(code > some);
	assert_true(worth(10, 20, 30, 0, 5) > code - some);
	assert_true(as_search_rank(AS_SEARCH_novelty, &late) >
		    as_search_rank(AS_SEARCH_novelty, &early));
	assert_true(as_search_rank(AS_SEARCH_bfs, &late) < as_search_rank(AS_SEARCH_bfs, &early));
}

/* What a sandbox tells may be any number. */
static void test_bounds(void **state)
{
	(void)state;
	assert_true(worth(1, 1, 1, UINT64_MAX, UINT64_MAX) >= worth(1, 1, 1, 0, 1));
	assert_true(worth(1, 1, 1, UINT64_MAX, 0) > 0);
	assert_true(worth(1, 1, 1, 0, UINT64_MAX) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_halves),
		cmocka_unit_test(test_code_comes_first),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
