/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ddmin: on generated cases, the result fails, is 1-minimal, and where failing is monotone (any
 * superset of the core fails) is the core itself.
 */
#include "base/ddmin.h"

#include "base/hash.h"
#include "base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#define N_MAX 200

/* A case: which sets fail, and what the test's closure takes away beyond what was asked. */
struct subject {
	size_t n;
	bool core[N_MAX]; /* sets that contain the core fail... */
	/* if this is not 0, a hash decides about other sets: nothing is monotone then */
	uint64_t salt;
	size_t needs[N_MAX]; /* element i is dropped where needs[i] is not kept; N_MAX: nothing */
	bool has_needs;
	size_t calls, smallest;
};

static void close_over_needs(const struct subject *s, bool *kept)
{
	/* needs[i] < i always, so that one pass is enough. */
	for (size_t i = 0; i < s->n; i++)
		if (kept[i] && s->needs[i] != N_MAX && !kept[s->needs[i]])
			kept[i] = false;
}

static size_t count(const bool *kept, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += kept[i];
	return sum;
}

static bool fails(const struct subject *s, const bool *kept)
{
	bool all = true;

	for (size_t i = 0; i < s->n; i++)
		all = all && (kept[i] || !s->core[i]);
	return all || (s->salt && as_hash_seeded(kept, s->n, s->salt).lo % 5 == 0);
}

static int test_subject(void *ctx, bool *kept, size_t n)
{
	struct subject *s = ctx;

	assert_int_equal(n, s->n);
	s->calls++;
	if (s->has_needs)
		close_over_needs(s, kept);
	if (!fails(s, kept))
		return 0;
	if (count(kept, n) < s->smallest)
		s->smallest = count(kept, n);
	return 1;
}

static struct subject draw_subject(struct as_prng *prng, bool wild, bool has_needs)
{
	struct subject s = { .n = 1 + as_prng_below(prng, N_MAX), .has_needs = has_needs };
	uint64_t one_in = 1 + as_prng_below(prng, 50);

	for (size_t i = 0; i < s.n; i++) {
		bool linked = has_needs && i && as_prng_below(prng, 3) == 0;

		s.core[i] = as_prng_below(prng, one_in) == 0;
		s.needs[i] = linked ? as_prng_below(prng, i) : N_MAX;
	}
	s.salt = wild ? 1 + as_prng_next(prng) / 2 : 0;
	s.smallest = s.n;
	return s;
}

static void check_one_minimal(const struct subject *s, const bool *kept)
{
	bool trial[N_MAX];

	assert_true(fails(s, kept));
	for (size_t i = 0; i < s->n; i++) {
		if (!kept[i])
			continue;
		memcpy(trial, kept, sizeof(trial));
		trial[i] = false;
		if (s->has_needs)
			close_over_needs(s, trial);
		assert_false(fails(s, trial));
	}
}

static void all_true(bool *kept, size_t n)
{
	memset(kept, 0, N_MAX * sizeof(*kept));
	for (size_t i = 0; i < n; i++)
		kept[i] = true;
}

static void test_monotone_finds_the_core(void **state)
{
	struct as_prng prng = as_prng_seed(1);

	(void)state;
	for (int round = 0; round < 500; round++) {
		struct subject s = draw_subject(&prng, false, false);
		bool kept[N_MAX];
		size_t tests;

		all_true(kept, s.n);
		tests = as_ddmin(kept, s.n, test_subject, &s, 0);
		assert_int_equal(tests, s.calls);
		assert_memory_equal(kept, s.core, s.n * sizeof(*kept));
	}
}

static void test_wild_is_one_minimal(void **state)
{
	struct as_prng prng = as_prng_seed(2);

	(void)state;
	for (int round = 0; round < 500; round++) {
		struct subject s = draw_subject(&prng, true, false);
		bool kept[N_MAX];

		all_true(kept, s.n);
		as_ddmin(kept, s.n, test_subject, &s, 0);
		check_one_minimal(&s, kept);
		assert_int_equal(count(kept, s.n), s.smallest);
	}
}

static void test_closure_is_one_minimal(void **state)
{
	struct as_prng prng = as_prng_seed(3);

	(void)state;
	for (int round = 0; round < 500; round++) {
		struct subject s = draw_subject(&prng, round % 2, true);
		bool kept[N_MAX];

		all_true(kept, s.n);
		as_ddmin(kept, s.n, test_subject, &s, 0);
		check_one_minimal(&s, kept);
	}
}

/* The budget is never exceeded. Wherever it ends the search, the result fails and is the smallest
 * set that was seen to fail. */
static void test_budget(void **state)
{
	struct as_prng prng = as_prng_seed(4);

	(void)state;
	for (size_t budget = 1; budget < 150; budget++) {
		struct subject s = draw_subject(&prng, budget % 2, false);
		bool kept[N_MAX];

		all_true(kept, s.n);
		assert_true(as_ddmin(kept, s.n, test_subject, &s, budget) <= budget);
		assert_true(s.calls <= budget);
		assert_true(fails(&s, kept));
		assert_int_equal(count(kept, s.n), s.smallest);
	}
}

static void test_edges(void **state)
{
	struct subject none = { .n = 0 }, one = { .n = 1, .core = { true } }, needless = { .n = 1 },
		       part = { .n = 8, .core = { [2] = true, [5] = true } };
	bool kept[N_MAX] = { true };

	(void)state;
	assert_int_equal(as_ddmin(kept, 0, test_subject, &none, 0), 0);
	assert_int_equal(as_ddmin(kept, 1, test_subject, &one, 0), 1);
	assert_true(kept[0]);
	/* Even the last element goes where it is not needed. */
	assert_int_equal(as_ddmin(kept, 1, test_subject, &needless, 0), 1);
	assert_false(kept[0]);
	/* The search may start with a failing subset; what is not in it stays out. */
	all_true(kept, 8);
	kept[0] = kept[7] = false;
	as_ddmin(kept, 8, test_subject, &part, 0);
	assert_memory_equal(kept, part.core, 8 * sizeof(*kept));
}

/* One guilty element among many takes about 2 log2 n tests, not n. */
static void test_one_guilty_is_found_fast(void **state)
{
	(void)state;
	for (size_t guilty = 0; guilty < N_MAX; guilty++) {
		struct subject s = { .n = N_MAX, .smallest = N_MAX };
		bool kept[N_MAX];

		s.core[guilty] = true;
		all_true(kept, s.n);
		assert_true(as_ddmin(kept, s.n, test_subject, &s, 0) <= 20);
		assert_memory_equal(kept, s.core, sizeof(kept));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_monotone_finds_the_core),
		cmocka_unit_test(test_wild_is_one_minimal),
		cmocka_unit_test(test_closure_is_one_minimal),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_one_guilty_is_found_fast),
	};

	return cmocka_run_group_tests_name("base/ddmin", tests, NULL, NULL);
}
