/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * aim: see aim.h. This file finds and picks goals and appends their recipes; aim_text.c writes
 * them.
 *
 * Invariants
 *   1. Everything is decided by the profile's goals, what was tried before, the roster and the
 *      choice: the same seed and feedback, the same commands.
 *   2. A recipe is appended as a whole or not at all. It holds only commands that the profile and
 *      the target have, and leaves none of its slots open.
 *   3. A goal none of whose recipes can be written here is never picked again.
 */
#include "gen/aim.h"

#include "base/json.h"
#include "gen/follow.h"
#include "gen/gen.h"
#include "gen/pick.h"
#include "gen/walk.h"
#include "work/parse.h"

#include <stdlib.h>
#include <string.h>

#define WEIGHT_MAX 4096u /* of a goal that was never tried */
#define TRIES_MAX 63u /* then it weighs nothing */
#define NEVER UINT32_MAX
#define OPTIONS_MAX 32
#define OWN_TIMES 4 /* all but one in so many times */
#define FIRST_SLOT 100 /* of recipes: beyond those of profiles */
#define SLOTS 10
#define PICKS_MAX 64

enum aim_kind { ONE, PATH, FD };

static const struct recipe {
	enum aim_kind kind;
	const char *call, *arg, *part, *text;
} recipes[] = {
#define AIM(call, arg, part, text) { ONE, #call, #arg, part, text },
#define PATHS(call, arg, text) { PATH, #call, #arg, NULL, text },
#define FDS(call, arg, text) { FD, #call, #arg, NULL, text },
#define WAY(kind, part, before, spelling)
#include "gen/aim.def"
#undef AIM
#undef PATHS
#undef FDS
#undef WAY
};
#define N_RECIPES (sizeof(recipes) / sizeof(recipes[0]))

static const struct aim_way {
	enum aim_kind kind;
	const char *part, *before, *spelling;
} ways[] = {
#define AIM(call, arg, part, text)
#define PATHS(call, arg, text)
#define FDS(call, arg, text)
#define WAY(kind, part, before, spelling) { kind, part, before, spelling },
#include "gen/aim.def"
#undef AIM
#undef PATHS
#undef FDS
#undef WAY
};
#define N_WAYS (sizeof(ways) / sizeof(ways[0]))

struct option {
	const struct recipe *recipe;
	const struct aim_way *way; /* NULL: it needs none */
};

struct options {
	struct option at[OPTIONS_MAX]; /* those of rows of their own first */
	unsigned n, n_own;
};

struct as_aim {
	const struct as_profile *profile;
	uint32_t tries[AS_GOALS_MAX];
};

/* ---- Goals ----------------------------------------------------------------------------------- */

static bool is_number(const char *part)
{
	return !strcmp(part, "0") || !strcmp(part, "negative") || !strncmp(part, "2^", 2);
}

static bool has_shape(const char *shape, const char *part)
{
	size_t len = strlen(shape);

	if (!strcmp(shape, "numbers"))
		return is_number(part);
	return len && shape[len - 1] == '*' && !strncmp(shape, part, len - 1);
}

static void add_option(struct options *o, const struct recipe *recipe, const struct aim_way *way)
{
	if (o->n < OPTIONS_MAX)
		o->at[o->n++] = (struct option){ recipe, way };
}

/* Rows for that call and argument, by the very name or by its shape. */
static void find_own(const char *call, const char *arg, const char *part, bool shape,
		     struct options *out)
{
	for (size_t i = 0; i < N_RECIPES; i++) {
		const struct recipe *r = &recipes[i];

		if (r->kind == ONE && !strcmp(r->call, call) && !strcmp(r->arg, arg) &&
		    (shape ? has_shape(r->part, part) : !strcmp(r->part, part)))
			add_option(out, r, NULL);
	}
	out->n_own = out->n;
}

/* Every way to bring it about. */
static void find_options(const char *call, const char *arg, const char *part, struct options *out)
{
	bool output = !strcmp(arg, "output");

	out->n = 0;
	find_own(call, arg, part, false, out);
	for (size_t i = 0; i < N_RECIPES; i++) {
		const struct recipe *r = &recipes[i];

		if (r->kind == ONE || strcmp(r->call, call) || (!output && strcmp(r->arg, arg)))
			continue;
		for (size_t w = 0; w < N_WAYS; w++)
			if (ways[w].kind == r->kind && !strcmp(ways[w].part, part))
				add_option(out, r, &ways[w]);
	}
	if (!out->n)
		find_own(call, arg, part, true, out);
}

/* Nothing that could end a word of a workload. */
static bool is_plain(const char *part)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789_^.=+-";

	return *part && !part[strspn(part, plain)];
}

bool as_goal_find(const char *call, const char *arg, const char *part, struct as_goal *goal)
{
	struct options options;

	if (strlen(part) >= AS_GOAL_PART_BYTES || !is_plain(part))
		return false;
	find_options(call, arg ? arg : "output", part, &options);
	if (!options.n)
		return false;
	*goal = (struct as_goal){ .recipe = (uint16_t)(options.at[0].recipe - recipes),
				  .output = !arg };
	memcpy(goal->part, part, strlen(part));
	return true;
}

static const char *arg_of(const struct as_goal *goal)
{
	return goal->output ? "output" : recipes[goal->recipe].arg;
}

bool as_goal_same(const struct as_goal *a, const struct as_goal *b)
{
	return a->recipe == b->recipe && a->output == b->output && !strcmp(a->part, b->part);
}

void as_goal_print(const struct as_goal *goal, struct as_buf *out)
{
	struct as_json json = as_json_on(out);

	as_json_object(&json);
	as_json_kstr(&json, "call", recipes[goal->recipe].call);
	if (goal->output) {
		as_json_kstr(&json, "output", goal->part);
	} else {
		as_json_kstr(&json, "arg", arg_of(goal));
		as_json_kstr(&json, "partition", goal->part);
	}
	as_json_kuint(&json, "tries", goal->tries);
	as_json_end(&json);
	as_buf_addc(out, '\n');
}

bool as_aim_row(unsigned i, const char **call, const char **arg, const char **part,
		const char **recipe)
{
	if (i >= N_RECIPES)
		return false;
	*call = recipes[i].call;
	*arg = recipes[i].arg;
	*part = recipes[i].part;
	*recipe = recipes[i].text;
	return true;
}

/* ---- Picking --------------------------------------------------------------------------------- */

struct as_aim *as_aim_new(const struct as_profile *profile)
{
	struct as_aim *aim;

	if (!profile->n_goals || !profile->aim)
		return NULL;
	aim = as_xcalloc(1, sizeof(*aim));
	aim->profile = profile;
	for (uint32_t i = 0; i < profile->n_goals; i++)
		aim->tries[i] = profile->goal[i].tries;
	return aim;
}

void as_aim_free(struct as_aim *aim)
{
	free(aim);
}

static uint32_t weight_of(const struct as_aim *aim, uint32_t i)
{
	uint32_t n = aim->tries[i];

	return n > TRIES_MAX ? 0 : WEIGHT_MAX / ((n + 1) * (n + 1));
}

size_t as_aim_share(const struct as_aim *aim, size_t n)
{
	uint64_t share, best = 0;

	if (!aim)
		return 0;
	for (uint32_t i = 0; i < aim->profile->n_goals; i++)
		if (weight_of(aim, i) > best)
			best = weight_of(aim, i);
	share = aim->profile->aim;
	return (size_t)(n * share * best / ((100 - share) * WEIGHT_MAX));
}

/* A goal of that kind by weight; n_goals: there is none. */
static uint32_t pick_of(const struct as_aim *aim, const struct as_gen_walk *w, bool output)
{
	const struct as_profile *p = aim->profile;
	uint64_t total = 0, at;
	uint32_t i;

	for (i = 0; i < p->n_goals; i++)
		if (p->goal[i].output == output)
			total += weight_of(aim, i);
	if (!total)
		return p->n_goals;
	at = as_draw_below(w->choice, total);
	for (i = 0; i < p->n_goals; i++) {
		if (p->goal[i].output != output)
			continue;
		if (at < weight_of(aim, i))
			break;
		at -= weight_of(aim, i);
	}
	return i;
}

static uint32_t pick(const struct as_aim *aim, const struct as_gen_walk *w)
{
	bool output = as_gen_walk_choose(w, 2);
	uint32_t i = pick_of(aim, w, output);

	return i < aim->profile->n_goals ? i : pick_of(aim, w, !output);
}

/* ---- Appending ------------------------------------------------------------------------------- */

/* Only what the profile draws and the target can do. */
static bool may_append(const struct as_gen_walk *w, const struct as_seq *seq)
{
	int64_t never = w->profile->dist[AS_DRAW_OPEN_OPEN_FLAGS].never;

	for (size_t i = 0; i < seq->n; i++) {
		const struct as_op *op = &seq->ops[i];
		uint64_t needs = as_gen_rows[op->code].features;

		if (!w->profile->weight[op->code] || !as_traits_may(w->traits, needs) ||
		    (op->code == AS_OP_OPEN && op->flags & never))
			return false;
	}
	return seq->n > 0;
}

static const char *absolute(struct as_gen_walk *w, const char *path)
{
	return path && *path == '/' ? as_arena_strndup(&w->roster.text, path, strlen(path)) : NULL;
}

/* Later commands may use what it made, as long as that is no more than a part of the tree. */
static void follow(struct as_gen_walk *w, const struct as_op *op)
{
	if (op->code == AS_OP_OPEN || op->code == AS_OP_LINK_TMPFILE ||
	    w->roster.n > w->profile->tree / 2)
		return;
	w->at = absolute(w, op->path);
	w->at2 = absolute(w, op->path2);
	if (!w->at && !(op->code == AS_OP_SYMLINK && w->at2))
		return;
	if (op->path2 && !w->at2)
		return;
	as_gen_walk_follow(w, op);
}

static int32_t own_slot(int32_t slot)
{
	return slot == AS_SLOT_NONE ? slot : FIRST_SLOT + slot;
}

static void append(struct as_gen_walk *w, const struct as_seq *seq)
{
	bool open[SLOTS] = { false };

	for (size_t i = 0; i < seq->n; i++) {
		struct as_op op = seq->ops[i];

		if (op.code == AS_OP_OPEN && op.slot < SLOTS)
			open[op.slot] = true;
		if (op.code == AS_OP_CLOSE && op.fd < SLOTS)
			open[op.fd] = false;
		op.slot = own_slot(op.slot);
		op.fd = own_slot(op.fd);
		op.fd2 = own_slot(op.fd2);
		as_seq_add(w->out, &op);
		follow(w, &op);
	}
	for (int32_t slot = 0; slot < SLOTS; slot++) {
		struct as_op op = w->view->plain[AS_OP_CLOSE];

		op.fd = own_slot(slot);
		if (open[slot] && w->profile->weight[AS_OP_CLOSE])
			as_seq_add(w->out, &op);
	}
}

/* One recipe, written and read as a workload. */
static bool try_option(struct as_gen_walk *w, const struct option *option, const char *part,
		       bool edge)
{
	struct as_aim_text text;
	struct as_seq *seq = NULL;
	bool done;

	as_aim_text_init(&text, w, part, edge);
	if (option->way)
		text.spelling = option->way->spelling;
	done = (!option->way || as_aim_text_add(&text, option->way->before)) &&
	       as_aim_text_add(&text, ";") && as_aim_text_add(&text, option->recipe->text) &&
	       !as_parse_text("aim.def", as_buf_str(&text.out), text.out.len, &seq, NULL) &&
	       may_append(w, seq);
	if (done)
		append(w, seq);
	as_seq_free(seq);
	as_buf_free(&text.out);
	return done;
}

static void drop_option(struct options *o, unsigned at)
{
	memmove(&o->at[at], &o->at[at + 1], (o->n - at - 1) * sizeof(o->at[0]));
	o->n--;
	o->n_own -= at < o->n_own;
}

static bool try_goal(struct as_aim *aim, struct as_gen_walk *w, uint32_t i)
{
	const struct as_goal *goal = &aim->profile->goal[i];
	struct options options;

	find_options(recipes[goal->recipe].call, arg_of(goal), goal->part, &options);
	while (options.n) {
		/* A row for this very partition is preferred most of the time. */
		bool own = options.n_own && as_gen_walk_choose(w, OWN_TIMES);
		unsigned at = as_gen_walk_choose(w, own ? options.n_own : options.n);
		bool edge = as_gen_walk_choose(w, 2);

		/* The number may be too large for the target where the power of two is not. */
		if (try_option(w, &options.at[at], goal->part, edge) ||
		    (!edge && try_option(w, &options.at[at], goal->part, true))) {
			aim->tries[i]++;
			return true;
		}
		drop_option(&options, at);
	}
	aim->tries[i] = NEVER;
	return false;
}

bool as_aim_append(struct as_aim *aim, struct as_gen_walk *walk)
{
	for (unsigned n = 0; n < PICKS_MAX; n++) {
		uint32_t i = pick(aim, walk);

		if (i >= aim->profile->n_goals)
			return false;
		if (try_goal(aim, walk, i))
			return true;
	}
	return false;
}

void as_aim_tries(const struct as_aim *aim, struct as_profile *profile)
{
	for (uint32_t i = 0; aim && i < profile->n_goals && i < aim->profile->n_goals; i++)
		profile->goal[i].tries = aim->tries[i];
}
