/* SPDX-License-Identifier: GPL-2.0-or-later */
/* groups: kinds of findings by likely cause. */
#include "hunt/groups.h"

#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

struct kind {
	const char *signature, *cause, *steps;
	uint64_t count, ops;
};

static void build(const struct kind *kinds, size_t n, struct as_hunt_state *state)
{
	as_hunt_state_init(state, 1);
	for (size_t i = 0; i < n; i++) {
		struct as_hunt_sign *sign = as_hunt_state_add(state, kinds[i].signature);
		char id[] = "lab-tree-0";

		id[9] = (char)('0' + i);
		sign->id = as_xstrdup(id);
		sign->summary = as_xstrdup("");
		sign->count = kinds[i].count;
		sign->ops = 100;
		sign->ops_reduced = kinds[i].ops;
		as_hunt_sign_set_cause(sign, kinds[i].cause, kinds[i].steps);
	}
}

#define BUILD(kinds, state) build(kinds, sizeof(kinds) / sizeof(*(kinds)), state)

static void test_one_cause(void **ctx)
{
	static const struct kind kinds[] = {
		{ "state: size of a file; after pwrite",
		  "state: size of a file; after open O_TRUNC", "make,write,open O_TRUNC,", 3, 5 },
		{ "state: stray bytes of a file",
		  "state: stray bytes of a file; after open O_TRUNC", "make,truncate,open O_TRUNC,",
		  4, 4 },
		{ "answer: rename: EEXIST, model says success",
		  "answer: rename: EEXIST, model says success", "make,make,", 9, 3 },
	};
	struct as_hunt_state state;
	struct as_hunt_groups g;

	(void)ctx;
	BUILD(kinds, &state);
	as_hunt_groups(&state, &g);
	assert_int_equal(g.n, 2);
	/* The one with most findings comes first. */
	assert_string_equal(g.groups[0].name, "answer: rename: EEXIST, model says success");
	assert_string_equal(g.groups[1].name, "state: data of a file; after open O_TRUNC");
	assert_int_equal(g.groups[1].kinds, 2);
	assert_int_equal(g.groups[1].count, 7);
	assert_int_equal(g.groups[1].example, 1);
	assert_int_equal(g.of[0], 1);
	assert_int_equal(g.of[2], 0);
	as_hunt_groups_free(&g);
	as_hunt_state_free(&state);
}

static void test_explained(void **ctx)
{
	static const struct kind kinds[] = {
		{ "a", "state: link count of a file; after hardlink", "make,hardlink,", 1, 3 },
		/* What comes of it. */
		{ "b", "answer: a damaged object: EUCLEAN; after unlink",
		  "make,hardlink,remove,chmod,", 1, 5 },
		{ "c", "state: type of a file; after mkdir", "make,hardlink,remove,make,", 1, 6 },
		/* It does not need the link. */
		{ "d", "state: mode of a file; after chmod", "make,chmod,", 1, 3 },
		/* Not reduced: nothing is known of its steps. */
		{ "e", "state: size of a file; after write", "", 1, 0 },
	};
	struct as_hunt_state state;
	struct as_hunt_groups g;

	(void)ctx;
	BUILD(kinds, &state);
	as_hunt_groups(&state, &g);
	assert_int_equal(g.n, 3);
	assert_string_equal(g.groups[g.of[1]].name, kinds[0].cause);
	assert_string_equal(g.groups[g.of[2]].name, kinds[0].cause);
	assert_int_equal(g.groups[g.of[0]].kinds, 3);
	assert_int_not_equal(g.of[3], g.of[0]);
	assert_int_not_equal(g.of[4], g.of[0]);
	as_hunt_groups_free(&g);
	as_hunt_state_free(&state);
}

/* A kind that is not reduced is known by its symptom alone. */
static void test_not_reduced(void **ctx)
{
	static const struct kind kinds[] = {
		{ "a", "state: size of a file; after truncate", "make,truncate,", 1, 2 },
		{ "b", "state: size of a file; after chmod", "", 1, 0 },
		{ "c", "crash: links: count of a file; after write", "", 1, 0 },
		{ "d", "crash: links: count of a file; after make", "", 1, 0 },
	};
	struct as_hunt_state state;
	struct as_hunt_groups g;

	(void)ctx;
	BUILD(kinds, &state);
	as_hunt_groups(&state, &g);
	assert_int_equal(g.n, 2);
	assert_int_equal(g.of[0], g.of[1]);
	assert_string_equal(g.groups[g.of[1]].name, kinds[0].cause);
	assert_int_equal(g.of[2], g.of[3]);
	as_hunt_groups_free(&g);
	as_hunt_state_free(&state);
}

/* What nearly every workload does explains nothing. */
static void test_plain(void **ctx)
{
	static const struct kind kinds[] = {
		{ "a", "state: stray bytes of a file", "make,write,", 1, 2 },
		{ "b", "state: size of a file; after write O_APPEND", "make,write,write O_APPEND,",
		  1, 4 },
	};
	struct as_hunt_state state;
	struct as_hunt_groups g;

	(void)ctx;
	BUILD(kinds, &state);
	as_hunt_groups(&state, &g);
	assert_int_equal(g.n, 2);
	as_hunt_groups_free(&g);
	as_hunt_state_free(&state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_cause),
		cmocka_unit_test(test_explained),
		cmocka_unit_test(test_not_reduced),
		cmocka_unit_test(test_plain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
