/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two tables that feedback goes through have the same names: what gen/aim.def goes for is what
 * coverage counts and expects to be tested, and what coverage prints is understood. */
#include "tests/lib/counted.h"

#include "cover/feedback.h"
#include "gen/gen.h"

#include <stdlib.h>

static bool has_part(const struct as_space *space, const char *part)
{
	size_t len = strlen(part);

	for (unsigned i = 0; i < space->n; i++) {
		const char *name = space->parts[i].name;

		if (!space->parts[i].expected)
			continue;
		if (!strcmp(name, part) || (!strcmp(part, "numbers") && !strcmp(name, "2^3")) ||
		    (part[len - 1] == '*' && !strncmp(name, part, len - 1)))
			return true;
	}
	return false;
}

static void test_rows_are_counted(void **state)
{
	struct as_counts *counts = as_counts_new(t_spec);
	const char *call, *arg, *part, *recipe;

	(void)state;
	for (unsigned i = 0; as_aim_row(i, &call, &arg, &part, &recipe); i++) {
		bool output = !strcmp(arg, "output");
		struct as_space space;

		if (!as_spec_family(t_spec, call) ||
		    !as_counts_find(counts, call, output ? NULL : arg,
				    output ? AS_SPACE_OUTPUT : AS_SPACE_PLAIN, &space))
			fail_msg("coverage has no %s %s", call, arg);
		if (part && !has_part(&space, part))
			fail_msg("coverage does not expect %s %s %s", call, arg, part);
		as_space_free(&space);
	}
	as_counts_free(counts);
}

/* Of nothing at all everything is missing: what is printed gives as many goals as there is room for
 * at most, inputs and outputs. */
static void test_printed_is_understood(void **state)
{
	struct as_counts *counts = as_counts_new(t_spec);
	struct as_profile *profile = as_profile_new();
	struct as_buf text = { 0 };
	struct as_err err = { 0 };
	unsigned outputs = 0;

	(void)state;
	as_feedback_print(counts, &text);
	if (as_gen_feedback(profile, "f", as_buf_str(&text), text.len, &err))
		fail_msg("%s", err.msg);
	for (uint32_t i = 0; i < profile->n_goals; i++)
		outputs += profile->goal[i].output;
	assert_in_range(profile->n_goals, 1200, AS_GOALS_MAX - 100);
	assert_in_range(outputs, 300, profile->n_goals - 800);
	as_buf_free(&text);
	free(profile);
	as_counts_free(counts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_are_counted),
		cmocka_unit_test(test_printed_is_understood),
	};

	return cmocka_run_group_tests(tests, t_spec_setup, t_spec_teardown);
}
