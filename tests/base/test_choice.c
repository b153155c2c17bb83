/* SPDX-License-Identifier: GPL-2.0-or-later */
/* choice: the odometer meets every combination exactly once; records replay; texts round-trip. */
#include "base/choice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Runs body under the odometer and writes one line a run: the record. Returns all lines. */
static struct as_buf enumerate(void (*body)(struct as_choice *c), size_t *runs)
{
	struct as_chooser *chooser = as_chooser_exhaustive();
	struct as_buf all = { 0 };
	const unsigned *answers;
	size_t n;

	*runs = 0;
	do {
		body(as_chooser_choice(chooser));
		n = as_chooser_record(chooser, &answers);
		as_choice_print(answers, n, &all);
		as_buf_addc(&all, '\n');
		assert_true(++*runs < 100000);
	} while (as_chooser_next(chooser));
	assert_false(as_chooser_strayed(chooser));
	as_chooser_free(chooser);
	return all;
}

static void body_none(struct as_choice *c)
{
	(void)c;
}

static void body_ones(struct as_choice *c)
{
	assert_int_equal(as_choose(c, 1), 0);
	assert_int_equal(as_choose(c, 1), 0);
}

static void body_product(struct as_choice *c)
{
	as_choose(c, 2);
	as_choose(c, 3);
}

/* How many questions follow, and how wide they are, depends on the answers before. */
static void body_dependent(struct as_choice *c)
{
	unsigned k = as_choose(c, 3);

	for (unsigned i = 0; i < k; i++)
		if (as_choose(c, i + 2) == 1)
			break;
}

static void test_exhaustive_enumerates_in_order(void **state)
{
	static const struct {
		const char *name;
		void (*body)(struct as_choice *c);
		const char *want;
	} rows[] = {
		{ "no question", body_none, "\n" },
		{ "one answer only", body_ones, "0.0\n" },
		{ "a product", body_product, "0.0\n0.1\n0.2\n1.0\n1.1\n1.2\n" },
		{ "dependent", body_dependent, "0\n1.0\n1.1\n2.0.0\n2.0.1\n2.0.2\n2.1\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t runs;
		struct as_buf got = enumerate(rows[i].body, &runs);

		assert_string_equal(as_buf_str(&got), rows[i].want);
		as_buf_free(&got);
	}
}

/* A permutation of 7 by Fisher-Yates: 5040 runs, each a different one. */
static char seen[10000000];

static void body_permutation(struct as_choice *c)
{
	unsigned items[7] = { 0, 1, 2, 3, 4, 5, 6 };
	unsigned code = 0;

	for (unsigned i = 0; i < 7; i++) {
		unsigned k = i + as_choose(c, 7 - i), t = items[i];

		items[i] = items[k];
		items[k] = t;
		code = code * 10 + items[i];
	}
	assert_int_equal(seen[code], 0);
	seen[code] = 1;
}

static void test_exhaustive_every_permutation_once(void **state)
{
	struct as_buf all;
	size_t runs;

	(void)state;
	memset(seen, 0, sizeof(seen));
	all = enumerate(body_permutation, &runs);
	as_buf_free(&all);
	assert_int_equal(runs, 5040);
}

static void test_exhaustive_notices_a_liar(void **state)
{
	struct as_chooser *chooser = as_chooser_exhaustive();
	struct as_choice *c = as_chooser_choice(chooser);

	(void)state;
	as_choose(c, 4);
	as_choose(c, 5);
	assert_true(as_chooser_next(chooser));
	as_choose(c, 4);
	assert_false(as_chooser_strayed(chooser));
	assert_int_equal(as_choose(c, 1), 0); /* was 5, and 1 was the answer due */
	assert_true(as_chooser_strayed(chooser));
	as_chooser_free(chooser);
}

static void test_seeded_repeats(void **state)
{
	struct as_chooser *a = as_chooser_seeded(42), *b = as_chooser_seeded(42),
			  *other = as_chooser_seeded(43);
	const unsigned *answers;
	unsigned same = 0;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		unsigned n = i % 50 + 1, x = as_choose(as_chooser_choice(a), n);

		assert_true(x < n);
		assert_int_equal(as_choose(as_chooser_choice(b), n), x);
		same += as_choose(as_chooser_choice(other), n) == x;
	}
	assert_true(same < 300);
	assert_int_equal(as_chooser_record(a, &answers), 1000);
	assert_true(as_chooser_next(a));
	assert_int_equal(as_chooser_record(a, &answers), 0);
	/* next() forgets the record and goes on with the stream. */
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(as_choose(as_chooser_choice(a), 1000),
				 as_choose(as_chooser_choice(b), 1000));
	as_chooser_free(a);
	as_chooser_free(b);
	as_chooser_free(other);
}

static void test_replay_gives_the_record_back(void **state)
{
	struct as_chooser *from = as_chooser_seeded(7), *to;
	const unsigned *answers, *again;
	size_t n;

	(void)state;
	for (unsigned i = 0; i < 200; i++)
		as_choose(as_chooser_choice(from), i + 1);
	n = as_chooser_record(from, &answers);
	to = as_chooser_replay(answers, n);
	for (int round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 200; i++)
			assert_int_equal(as_choose(as_chooser_choice(to), i + 1), answers[i]);
		assert_int_equal(as_chooser_record(to, &again), n);
		assert_memory_equal(again, answers, n * sizeof(*answers));
		assert_false(as_chooser_strayed(to));
		assert_false(as_chooser_next(to));
	}
	as_chooser_free(from);
	as_chooser_free(to);
}

static void test_replay_strays(void **state)
{
	static const unsigned list[] = { 3, 1 };
	struct as_chooser *past = as_chooser_replay(list, 2), *misfit = as_chooser_replay(list, 2),
			  *empty = as_chooser_replay(NULL, 0);
	const unsigned *answers;

	(void)state;
	assert_int_equal(as_choose(as_chooser_choice(past), 4), 3);
	assert_int_equal(as_choose(as_chooser_choice(past), 4), 1);
	assert_false(as_chooser_strayed(past));
	for (int i = 0; i < 100; i++)
		assert_int_equal(as_choose(as_chooser_choice(past), 4), 0);
	assert_true(as_chooser_strayed(past));
	assert_int_equal(as_chooser_record(past, &answers), 102);

	assert_int_equal(as_choose(as_chooser_choice(misfit), 3), 0);
	assert_true(as_chooser_strayed(misfit));
	assert_int_equal(as_choose(as_chooser_choice(misfit), 2), 1);
	assert_int_equal(as_choose(as_chooser_choice(empty), 2), 0);
	assert_true(as_chooser_strayed(empty));
	as_chooser_free(past);
	as_chooser_free(misfit);
	as_chooser_free(empty);
	as_chooser_free(NULL);
}

static void test_text(void **state)
{
	static const struct {
		const char *text;
		bool good;
		size_t n;
	} rows[] = {
		{ "", true, 0 },	   { "0", true, 1 },	       { "3.0.12", true, 3 },
		{ "4294967295", true, 1 }, { "4294967296", false, 0 }, { ".", false, 0 },
		{ "1.", false, 0 },	   { ".1", false, 0 },	       { "1..2", false, 0 },
		{ "1.x", false, 0 },	   { "-1", false, 0 },	       { " 1", false, 0 },
		{ "1 ", false, 0 },	   { "01", false, 0 },	       { "1,2", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_buf printed = { 0 };
		struct as_err err = { 0 };
		unsigned *answers = NULL;
		size_t n = 0;
		int rc = as_choice_parse(rows[i].text, &answers, &n, &err);

		assert_int_equal(rc, rows[i].good ? 0 : AS_EUSE);
		if (rows[i].good) {
			assert_int_equal(n, rows[i].n);
			as_choice_print(answers, n, &printed);
			assert_string_equal(as_buf_str(&printed), rows[i].text);
		} else {
			assert_non_null(strstr(err.msg, rows[i].text));
		}
		free(answers);
		as_buf_free(&printed);
	}
}

static void test_typed(void **state)
{
	static const char *const bad[] = {
		"seed:", "seed:x", "seed:-1", "1.x",  "seeds",	   "0*",   "*3",	   "0*0",
		"0*x",	 "0**2",   "0*2*2",   "0*-1", "0*1000001", "0*3.", "0*99999999999"
	};
	struct as_chooser *chooser, *same;
	struct as_err err;

	(void)state;
	assert_int_equal(as_chooser_parse("seed:7", &chooser, &err), 0);
	same = as_chooser_seeded(7);
	for (int i = 0; i < 20; i++)
		assert_int_equal(as_choose(as_chooser_choice(chooser), 9),
				 as_choose(as_chooser_choice(same), 9));
	as_chooser_free(chooser);
	as_chooser_free(same);
	assert_int_equal(as_chooser_parse("2.0.1", &chooser, &err), 0);
	assert_int_equal(as_choose(as_chooser_choice(chooser), 3), 2);
	assert_int_equal(as_choose(as_chooser_choice(chooser), 3), 0);
	assert_int_equal(as_choose(as_chooser_choice(chooser), 3), 1);
	assert_int_equal(as_choose(as_chooser_choice(chooser), 3), 0);
	as_chooser_free(chooser);
	assert_int_equal(as_chooser_parse("0*3.1*2.2", &chooser, &err), 0);
	for (int i = 0; i < 7; i++)
		assert_int_equal(as_choose(as_chooser_choice(chooser), 3), i < 3   ? 0
									   : i < 5 ? 1
									   : i < 6 ? 2
										   : 0);
	as_chooser_free(chooser);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(as_chooser_parse(bad[i], &chooser, &err), AS_EUSE);
		assert_null(chooser);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exhaustive_enumerates_in_order),
		cmocka_unit_test(test_exhaustive_every_permutation_once),
		cmocka_unit_test(test_exhaustive_notices_a_liar),
		cmocka_unit_test(test_seeded_repeats),
		cmocka_unit_test(test_replay_gives_the_record_back),
		cmocka_unit_test(test_replay_strays),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_typed),
	};

	return cmocka_run_group_tests_name("base/choice", tests, NULL, NULL);
}
