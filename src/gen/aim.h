/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * aim: going for what was never met. Feedback names partitions of the coverage with a count of 0;
 * those that aim.def has a recipe for are goals. A walk then spends a share of its commands on them
 * (the profile's `aim`): it picks a goal, writes its recipe with fresh names and numbers drawn, and
 * appends it.
 *
 * A recipe may be no use on this target. What was tried n times in vain is picked 1 / (n + 1)^2 as
 * often as what never was, and the share shrinks with the goal that was tried least: what cannot be
 * reached costs a bounded number of commands. Inputs and outputs are picked alike, however many
 * there are of each.
 */
#ifndef AS_GEN_AIM_H
#define AS_GEN_AIM_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AS_GOALS_MAX 3072
#define AS_GOAL_PART_BYTES 32

struct as_goal {
	uint16_t recipe; /* a row of aim.def for this call and argument */
	bool output; /* its result, not an argument */
	char part[AS_GOAL_PART_BYTES];
	uint32_t tries;
};

/* False: no row says how to bring it about. arg NULL: the result. */
bool as_goal_find(const char *call, const char *arg, const char *part, struct as_goal *goal);
bool as_goal_same(const struct as_goal *a, const struct as_goal *b);
/* One JSON line, {"call": ..., "arg" and "partition", or "output": ..., "tries": N}. */
void as_goal_print(const struct as_goal *goal, struct as_buf *out);

struct as_gen_walk;
struct as_seq;
struct as_profile;
struct as_aim;

/* NULL: the profile has no goals. */
struct as_aim *as_aim_new(const struct as_profile *profile);
void as_aim_free(struct as_aim *aim); /* takes NULL */
/* How many commands to spend on goals beside n others; takes NULL. */
size_t as_aim_share(const struct as_aim *aim, size_t n);
/* One goal: appends its recipe to what the walk writes. False: nothing is left to go for. */
bool as_aim_append(struct as_aim *aim, struct as_gen_walk *walk);
/* How often each goal of the profile was tried, as of now. */
void as_aim_tries(const struct as_aim *aim, struct as_profile *profile);

/* For tests: row i of aim.def, false after the last. */
bool as_aim_row(unsigned i, const char **call, const char **arg, const char **part,
		const char **recipe);

/* ---- Recipes as text (aim_text.c) ---- */

struct as_aim_text {
	struct as_gen_walk *walk;
	const char *part; /* of the goal */
	const char *spelling; /* what {path} and {fd} stand for; "" */
	const char *fresh[10]; /* %0 to %9; NULL: not used yet */
	bool numbered; /* the partition is one of numbers */
	int64_t number;
	struct as_buf out;
};

/* The number is drawn here; edge: it is the power of two itself. */
void as_aim_text_init(struct as_aim_text *text, struct as_gen_walk *walk, const char *part,
		      bool edge);
/* Adds the recipe, lines separated by newlines; false: this target or partition cannot have it. */
bool as_aim_text_add(struct as_aim_text *text, const char *recipe);

#endif
