/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Matchings in small random graphs against trying everything. */
#include "base/choice.h"
#include "legal/match.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MOST 5u
#define GRAPHS 20000u

struct graph {
	uint32_t n_left, n_right;
	uint32_t first[MOST + 1], edge[MOST * MOST];
	bool must[MOST];
};

static void draw(struct graph *g, struct as_choice *c)
{
	uint32_t n = 0;

	g->n_left = as_choose(c, MOST + 1);
	g->n_right = 1 + as_choose(c, MOST);
	for (uint32_t i = 0; i < g->n_left; i++) {
		g->first[i] = n;
		for (uint32_t k = 0; k < g->n_right; k++)
			if (as_choose(c, 3) == 0)
				g->edge[n++] = k;
	}
	g->first[g->n_left] = n;
	for (uint32_t k = 0; k < g->n_right; k++)
		g->must[k] = as_choose(c, 3) == 0;
}

/* Whether the left vertices from i on can all be matched with vertices that are not in `used`. */
static bool exists(const struct graph *g, uint32_t i, unsigned used)
{
	if (i == g->n_left) {
		for (uint32_t k = 0; k < g->n_right; k++)
			if (g->must[k] && !(used >> k & 1))
				return false;
		return true;
	}
	for (uint32_t e = g->first[i]; e < g->first[i + 1]; e++)
		if (!(used >> g->edge[e] & 1) && exists(g, i + 1, used | 1u << g->edge[e]))
			return true;
	return false;
}

static void check_answer(const struct graph *g, const uint32_t *right_of)
{
	unsigned used = 0;

	for (uint32_t i = 0; i < g->n_left; i++) {
		bool is_edge = false;

		for (uint32_t e = g->first[i]; e < g->first[i + 1]; e++)
			is_edge |= g->edge[e] == right_of[i];
		assert_true(is_edge);
		assert_false(used >> right_of[i] & 1);
		used |= 1u << right_of[i];
	}
	for (uint32_t k = 0; k < g->n_right; k++)
		assert_true(!g->must[k] || used >> k & 1);
}

static void test_all(void **state)
{
	struct as_chooser *chance = as_chooser_seeded(11);
	unsigned found = 0;

	(void)state;
	for (unsigned n = 0; n < GRAPHS; n++) {
		uint32_t right_of[MOST];
		struct graph g = { 0 };
		struct as_match m = {
			.first = g.first, .edge = g.edge, .must = g.must, .right_of = right_of
		};
		bool has;

		draw(&g, as_chooser_choice(chance));
		m.n_left = g.n_left;
		m.n_right = g.n_right;
		has = as_match_find(&m);
		assert_int_equal(has, exists(&g, 0, 0));
		found += has;
		if (has)
			check_answer(&g, right_of);
		else
			assert_true((m.no_left == AS_MATCH_NONE) != (m.no_right == AS_MATCH_NONE));
	}
	/* Both answers were met often. */
	assert_in_range(found, GRAPHS / 20, GRAPHS - GRAPHS / 20);
	as_chooser_free(chance);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests_name("match", tests, NULL, NULL);
}
