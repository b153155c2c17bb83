/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * feedback: from counts of what was tested to weights and goals.
 *
 * Weights: both for the operations among themselves and for the partitions of one argument among
 * themselves the rule is the same: what was met half as often as the commonest gets twice the
 * weight, a quarter four times, and so on up to FACTOR_MAX; what is not in the table was met never.
 * Only powers of two, so that every machine agrees.
 *
 * Goals: partitions of calls, by the names that coverage gives them, with a count of 0 (aim.h).
 */
#include "gen/gen.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define FACTOR_MAX 16u

struct goal_count {
	struct as_goal goal;
	uint64_t count, tries;
	bool counted, tried;
};

struct feedback_counts {
	struct goal_count goal[AS_GOALS_MAX];
	size_t n_goals;
	uint64_t op[AS_OP_COUNT];
	bool op_given[AS_OP_COUNT], arg_given[AS_DRAWS];
	uint64_t part[AS_DRAWS][AS_BUCKETS];
};

static uint32_t factor(uint64_t most, uint64_t count)
{
	uint32_t f = 1;

	while (f < FACTOR_MAX && count < most / (2 * (uint64_t)f) + (count == 0))
		f *= 2;
	return f;
}

/* The argument's name is that of arg.def in small letters, or its key ("len", "at"). */
static bool is_arg(const struct as_draw *draw, const char *name)
{
	const char *row = strchr(draw->name, '.') + 1, *key = as_arg_table[draw->arg].key;

	if (key && !strcmp(key, name))
		return true;
	while (*row && *name && tolower((unsigned char)*row) == *name) {
		row++;
		name++;
	}
	return !*row && !*name;
}

static int take_partition(struct feedback_counts *counts, const struct as_profile *profile,
			  enum as_opcode op, const char *arg, const char *partition, uint64_t count)
{
	struct as_buf name = { 0 };

	for (unsigned d = 0; d < AS_DRAWS; d++) {
		const struct as_draw *draw = &as_draws[d];

		if (draw->op != op || !is_arg(draw, arg))
			continue;
		counts->arg_given[d] = true;
		for (size_t i = 0; i < as_dist_partitions(draw, &profile->dist[d]); i++) {
			as_buf_clear(&name);
			as_dist_partition_name(draw, &profile->dist[d], i, &name);
			if (!strcmp(as_buf_str(&name), partition) &&
			    __builtin_add_overflow(counts->part[d][i], count, &counts->part[d][i]))
				counts->part[d][i] = UINT64_MAX;
		}
	}
	as_buf_free(&name);
	return 0;
}

static void add(uint64_t *sum, uint64_t n)
{
	if (__builtin_add_overflow(*sum, n, sum))
		*sum = UINT64_MAX;
}

/* A partition of a call. One without a recipe is no goal. */
static void take_goal(struct feedback_counts *counts, const char *call, const char *arg,
		      const char *part, const json_int_t *count, const json_int_t *tries)
{
	struct goal_count *g = counts->goal;
	struct as_goal goal;

	if (!as_goal_find(call, arg, part, &goal))
		return;
	while (g < counts->goal + counts->n_goals && !as_goal_same(&g->goal, &goal))
		g++;
	if (g == counts->goal + counts->n_goals) {
		if (counts->n_goals == AS_GOALS_MAX)
			return;
		*g = (struct goal_count){ .goal = goal };
		counts->n_goals++;
	}
	g->counted |= *count >= 0;
	g->tried |= *tries >= 0;
	add(&g->count, *count >= 0 ? (uint64_t)*count : 0);
	add(&g->tries, *tries >= 0 ? (uint64_t)*tries : 0);
}

static int take_call(struct feedback_counts *counts, json_t *line, const char *where,
		     struct as_err *err)
{
	const char *call = NULL, *arg = NULL, *part = NULL, *output = NULL;
	json_int_t count = INT64_MIN, tries = INT64_MIN;

	if (json_unpack(line, "{s:s, s?s, s?s, s?s, s?I, s?I}", "call", &call, "arg", &arg,
			"partition", &part, "output", &output, "count", &count, "tries", &tries) ||
	    !arg != !part || !arg == !output || (count == INT64_MIN && tries == INT64_MIN))
		return as_fail(err, AS_EUSE,
			       "%s: expected {\"call\": NAME, \"arg\": NAME, \"partition\": NAME, "
			       "\"count\": N}, or \"output\" in place of arg and partition",
			       where);
	if ((count < 0 && count != INT64_MIN) || (tries < 0 && tries != INT64_MIN))
		return as_fail(err, AS_EUSE, "%s: the count is negative", where);
	take_goal(counts, call, arg, output ? output : part, &count, &tries);
	return 0;
}

/* One line. Arguments and partitions that this profile does not draw are ignored: coverage
 * counts more than the generator can steer. */
static int take_line(struct feedback_counts *counts, const struct as_profile *profile, json_t *line,
		     const char *where, struct as_err *err)
{
	const char *op_name = NULL, *arg = NULL, *partition = NULL;
	json_int_t count = -1;
	enum as_opcode op;

	if (json_object_get(line, "call"))
		return take_call(counts, line, where, err);
	if (!json_is_object(line) ||
	    json_unpack(line, "{s:s, s?s, s?s, s:I}", "op", &op_name, "arg", &arg, "partition",
			&partition, "count", &count) ||
	    !arg != !partition)
		return as_fail(err, AS_EUSE,
			       "%s: expected {\"op\": NAME, \"arg\": NAME, \"partition\": NAME, "
			       "\"count\": N}, or without arg and partition",
			       where);
	if (count < 0)
		return as_fail(err, AS_EUSE, "%s: the count is negative", where);
	op = as_op_find(op_name, strlen(op_name));
	if (op == AS_OP_COUNT)
		return as_fail(err, AS_EUSE, "%s: unknown operation '%s'", where, op_name);
	if (arg)
		return take_partition(counts, profile, op, arg, partition, (uint64_t)count);
	counts->op_given[op] = true;
	add(&counts->op[op], (uint64_t)count);
	return 0;
}

static void shift_ops(struct as_profile *profile, const struct feedback_counts *counts)
{
	uint64_t most = 0;
	bool any = false;

	for (int op = 0; op < AS_OP_COUNT; op++) {
		any |= counts->op_given[op];
		if (profile->weight[op] && counts->op[op] > most)
			most = counts->op[op];
	}
	for (int op = 0; any && op < AS_OP_COUNT; op++) {
		uint32_t times = factor(most, counts->op[op]);
		uint64_t raised;

		/* What earlier feedback did is undone. */
		if (profile->raised[op])
			profile->weight[op] /= profile->raised[op];
		raised = (uint64_t)profile->weight[op] * times;
		profile->raised[op] = raised <= AS_WEIGHT_MAX ? times : 0;
		if (raised <= AS_WEIGHT_MAX)
			profile->weight[op] = (uint32_t)raised;
	}
}

static void shift_args(struct as_profile *profile, const struct feedback_counts *counts)
{
	for (unsigned d = 0; d < AS_DRAWS; d++) {
		size_t n = as_dist_partitions(&as_draws[d], &profile->dist[d]);
		uint64_t most = 0;

		if (!counts->arg_given[d])
			continue;
		profile->dist[d].shifted = false;
		for (size_t i = 0; i < n; i++)
			if (counts->part[d][i] > most)
				most = counts->part[d][i];
		for (size_t i = 0; i < n; i++)
			as_dist_raise(&as_draws[d], &profile->dist[d], i,
				      factor(most, counts->part[d][i]));
	}
}

/* How often the profile has tried it. */
static uint32_t tries_of(const struct as_profile *profile, const struct as_goal *goal)
{
	for (uint32_t i = 0; i < profile->n_goals; i++)
		if (as_goal_same(&profile->goal[i], goal))
			return profile->goal[i].tries;
	return 0;
}

static void set_goals(struct as_profile *profile, const struct feedback_counts *counts)
{
	struct as_goal *goals = as_xcalloc(AS_GOALS_MAX, sizeof(*goals));
	uint32_t n = 0;
	bool any = false;

	for (size_t i = 0; i < counts->n_goals; i++) {
		const struct goal_count *g = &counts->goal[i];

		any |= g->counted;
		if (!g->counted || g->count)
			continue;
		goals[n] = g->goal;
		goals[n++].tries = tries_of(profile, &g->goal);
	}
	if (any) {
		memcpy(profile->goal, goals, sizeof(profile->goal));
		profile->n_goals = n;
	}
	free(goals);
	for (size_t i = 0; i < counts->n_goals; i++)
		for (uint32_t k = 0; counts->goal[i].tried && k < profile->n_goals; k++)
			if (as_goal_same(&profile->goal[k], &counts->goal[i].goal))
				profile->goal[k].tries = counts->goal[i].tries < UINT32_MAX
								 ? (uint32_t)counts->goal[i].tries
								 : UINT32_MAX;
}

static int take_text(struct feedback_counts *counts, const struct as_profile *profile,
		     const char *file, const char *text, size_t len, struct as_err *err)
{
	char where[512];
	unsigned number = 0;
	int rc = 0;

	for (const char *at = text, *end; at < text + len && !rc; at = end + 1) {
		json_error_t json_err;
		json_t *line;
		size_t blanks = 0;

		end = memchr(at, '\n', (size_t)(text + len - at));
		if (!end)
			end = text + len;
		number++;
		while (at + blanks < end && isspace((unsigned char)at[blanks]))
			blanks++;
		if (at + blanks == end)
			continue;
		line = json_loadb(at, (size_t)(end - at), 0, &json_err);
		if (!line) {
			rc = as_fail(err, AS_EUSE, "%s:%u:%d: %s", file, number,
				     json_err.column > 0 ? json_err.column : 1, json_err.text);
			break;
		}
		snprintf(where, sizeof(where), "%s:%u:1", file, number);
		rc = take_line(counts, profile, line, where, err);
		json_decref(line);
	}
	return rc;
}

int as_gen_feedback(struct as_profile *profile, const char *file, const char *text, size_t len,
		    struct as_err *err)
{
	struct feedback_counts *counts = as_xcalloc(1, sizeof(*counts));
	int rc = take_text(counts, profile, file, text, len, err);

	if (!rc) {
		shift_ops(profile, counts);
		shift_args(profile, counts);
		set_goals(profile, counts);
	}
	free(counts);
	return rc;
}

void as_gen_tries_print(const struct as_profile *profile, struct as_buf *out)
{
	for (uint32_t i = 0; i < profile->n_goals; i++)
		if (profile->goal[i].tries)
			as_goal_print(&profile->goal[i], out);
}
