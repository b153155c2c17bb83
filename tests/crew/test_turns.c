/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * turns: what is taken, and in which order, does not depend on when the lanes spoke: every order in
 * which their messages can arrive gives the same.
 */
#include "base/buf.h"
#include "crew/turns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#define LANES 3

/* How many messages each lane has; lane 1 has fewer, and is over then. */
static const unsigned most[LANES] = { 3, 1, 2 };

struct arriving {
	struct as_turns *turns;
	unsigned put[LANES], taken[LANES];
	struct as_buf order;
};

static void take_all(struct arriving *a)
{
	size_t lane, len;

	while (as_turns_next(a->turns, false, &lane)) {
		char *text = as_turns_take(a->turns, lane, &len);

		as_buf_add(&a->order, text, len);
		free(text);
		if (++a->taken[lane] == most[lane])
			as_turns_end(a->turns, lane);
		as_turns_set(a->turns, lane, a->taken[lane]);
	}
}

/* Arrives as the digits of `way` say; false: they say something that cannot be. */
static bool arrive(struct arriving *a, unsigned way)
{
	for (unsigned i = 0; i < 6; i++, way /= LANES) {
		unsigned lane = way % LANES;
		char text[2] = { (char)('a' + (int)lane), (char)('0' + (int)a->put[lane]) };

		if (a->put[lane] == most[lane])
			return false;
		a->put[lane]++;
		as_turns_put(a->turns, lane, text, 2);
		take_all(a);
	}
	return true;
}

static void test_all_orders(void **state)
{
	unsigned tried = 0;

	(void)state;
	for (unsigned way = 0; way < 729; way++) {
		struct arriving a = { .turns = as_turns_new(LANES) };

		if (arrive(&a, way)) {
			assert_string_equal(as_buf_str(&a.order), "a0b0c0a1c1a2");
			tried++;
		}
		as_turns_free(a.turns);
		as_buf_free(&a.order);
	}
	assert_int_equal(tried, 60);
}

/* The first of the lanes has said nothing: the others wait, unless it is the end. */
static void test_rest(void **state)
{
	struct as_turns *t = as_turns_new(2);
	size_t lane = 9, len;
	char *text;

	(void)state;
	as_turns_put(t, 1, "later", 5);
	assert_false(as_turns_next(t, false, &lane));
	assert_true(as_turns_next(t, true, &lane));
	assert_int_equal(lane, 1);
	text = as_turns_take(t, lane, &len);
	assert_string_equal(text, "later");
	free(text);
	as_turns_put(t, 1, "dropped", 7);
	as_turns_drop(t, 1);
	assert_false(as_turns_has(t, 1));
	assert_false(as_turns_next(t, true, &lane));
	as_turns_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_orders),
		cmocka_unit_test(test_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
