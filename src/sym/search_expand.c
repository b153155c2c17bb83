/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search_expand: from a path to other paths: the other way at each of its branches.
 *
 * If the path depends on one or two bytes, all their values are tried on it at once: a value leaves
 * the path at some step, and is the answer for that step. Then no question is left. Otherwise
 * each step is a question (solve.h), those whose other way nobody has gone yet first, until the
 * time is used up that a path is worth. What is left then is asked in another round.
 *
 * A branch has one other way. An address, the target of a jump or the argument of a call has many:
 * it is asked for another one, and, in a round of its own when nothing better waits, for those that
 * were not given yet, until there is none, or there are enough.
 */
#include "sym/search_priv.h"

#include "os/spawn.h"

#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 4096u /* of a path that are looked at */
#define SITE_MAX 8u /* questions about one site of a path */
#define WORTH_US 100000u /* of solving for one path, at least */
#define SWEEP_WORK 4000000u
#define PLACES_MAX 128u /* other addresses that are asked for at one step, */
#define PLACES_US 2000000 /* and in this time: what it does not suffice for is left out */
#define ALL 0x616c6cull

struct expanding {
	struct sym_search *s;
	struct sym_ground *g;
	struct as_path *path;
	const struct sym_candidate *from;
	uint32_t gain;
	size_t n; /* steps */
	uint64_t *prefix; /* digest of the path before each step */
	uint32_t *holds;
	bool *done; /* nothing is to be asked about the step any more */
	bool *all; /* the same, after a first other value of it */
	uint32_t *others; /* other values that the step was given */
	struct as_table sites; /* how often a site was asked about */
	unsigned char *bytes; /* of the inputs: an answer */
};

/* Adds the values that an answer gives, as a candidate that leaves the path at step k. */
static void add_answer(struct expanding *x, size_t k, bool concrete)
{
	const struct as_place *p = x->g->place;
	const struct as_path_step *step = &x->path->steps[k];
	struct sym_candidate c = { .values = as_xcalloc(p->n + 1, 1),
				   .generation = x->from->generation + 1,
				   .gain = x->gain,
				   .concrete = concrete,
				   .expect_at = k + 1 };
	struct as_expr_slice slice;
	as_u128 *values = as_xcalloc((uint64_t)as_expr_n(x->path->expr) + 1, sizeof(*values));

	memcpy(c.values, x->from->values, p->n);
	for (unsigned i = 0; i < p->n; i++) {
		uint32_t input = as_expr_input_of(x->path->expr, p->offs[i]);

		if (input != UINT32_MAX)
			c.values[i] = x->bytes[input];
	}
	as_expr_slice(x->path->expr, &step->node, 1, &slice);
	as_expr_eval_slice(x->path->expr, &slice, x->bytes, values);
	c.way = as_search_way(step->site, values[step->node]);
	c.expect = as_search_mix(x->prefix[k], c.way);
	if (step->kind == AS_PATH_PLACE)
		c.class = x->others[k] ? SYM_CLASS_LAST : 2;
	else
		c.class = as_table_get(&x->s->ways, c.way) == AS_TABLE_NONE ? 0 : 1;
	x->others[k]++;
	as_expr_slice_free(&slice);
	free(values);
	as_search_add(x->s, x->g, &c);
}

/* The number of a question: for another value, or for all of them. */
static uint64_t number_of(const struct expanding *x, size_t k, bool all)
{
	return as_search_mix(x->prefix[k], x->path->steps[k].site ^ (all ? ALL : 0));
}

static bool was_asked(const struct expanding *x, size_t k, bool all)
{
	return as_table_get(&x->g->asked, number_of(x, k, all)) != AS_TABLE_NONE;
}

static void set_asked(struct expanding *x, size_t k, bool all)
{
	uint64_t asked = number_of(x, k, all);

	*(all ? &x->all[k] : &x->done[k]) = true;
	if (was_asked(x, k, all))
		return;
	as_table_add(&x->g->asked, asked, x->g->asked.n);
	as_search_note(x->s, AS_KEEP_ASKED, asked);
}

/* ---- All values at once ---------------------------------------------------------------------- */

struct path_sweep {
	uint32_t *nodes;
	size_t *until;
	as_u128 *values;
	struct as_table places; /* steps and the other values that they were given */
};

static void sweep_open(struct expanding *x, struct path_sweep *w)
{
	struct as_expr *e = x->path->expr;
	unsigned char *have = as_xcalloc((uint64_t)as_expr_n(e) + 1, 1);
	uint32_t *stack = as_xmalloc(((uint64_t)as_expr_n(e) + 1) * 4 * sizeof(*stack));
	size_t n = 0;

	w->nodes = as_xmalloc(((uint64_t)as_expr_n(e) + 1) * sizeof(*w->nodes));
	w->until = as_xmalloc((x->n + 1) * sizeof(*w->until));
	w->values = as_xcalloc((uint64_t)as_expr_n(e) + 1, sizeof(*w->values));
	for (size_t i = 0; i < x->n; i++) {
		size_t top = 0;

		/* Arguments first. 1: it is on the stack; 2: it is in the list. */
		stack[top++] = x->holds[i];
		stack[top++] = x->path->steps[i].node;
		while (top) {
			uint32_t node = stack[top - 1];
			const struct as_expr_node *at = as_expr_at(e, node);

			if (have[node]) {
				if (have[node] == 1)
					w->nodes[n++] = node;
				have[node] = 2;
				top--;
				continue;
			}
			have[node] = 1;
			for (unsigned k = 0; k < as_expr_op_args(at->op); k++)
				if (!have[at->arg[k]])
					stack[top++] = at->arg[k];
		}
		w->until[i] = n;
	}
	free(stack);
	free(have);
}

/* The step at which these bytes leave the path; n: nowhere. */
static size_t leaves_at(struct expanding *x, struct path_sweep *w, uint64_t *work)
{
	size_t done = 0;

	for (size_t i = 0; i < x->n; i++) {
		struct as_expr_slice part = { w->nodes + done, w->until[i] - done };

		as_expr_eval_slice(x->path->expr, &part, x->bytes, w->values);
		*work += part.n + 1;
		done = w->until[i];
		if (w->values[x->holds[i]] != 1)
			return i;
	}
	return x->n;
}

/* Whether the value with which the bytes leave the path at step k is an answer. */
static bool is_answer(struct expanding *x, struct path_sweep *w, size_t k)
{
	const struct as_path_step *step = &x->path->steps[k];
	uint64_t key = as_search_way(k, w->values[step->node]);

	if (step->kind != AS_PATH_PLACE)
		return !x->done[k];
	if ((x->all[k] && x->done[k]) || x->others[k] == PLACES_MAX ||
	    as_table_get(&w->places, key) != AS_TABLE_NONE)
		return false;
	as_table_add(&w->places, key, w->places.n);
	return true;
}

/* True: all values were tried. */
static bool sweep(struct expanding *x)
{
	uint32_t inputs = as_expr_inputs(x->path->expr);
	unsigned n = inputs == 1 ? 256 : 65536;
	struct path_sweep w = { 0 };
	uint64_t work = 0;
	unsigned v;

	if (!inputs || inputs > 2)
		return !inputs;
	sweep_open(x, &w);
	for (v = 1; v < n && work < SWEEP_WORK; v++) {
		size_t k;

		x->bytes[0] = (unsigned char)(x->path->inputs[0] ^ v);
		if (inputs > 1)
			x->bytes[1] = (unsigned char)(x->path->inputs[1] ^ v >> 8);
		k = leaves_at(x, &w, &work);
		if (k == x->n || !is_answer(x, &w, k))
			continue;
		if (x->path->steps[k].kind != AS_PATH_PLACE)
			set_asked(x, k, false);
		add_answer(x, k, false);
	}
	as_table_free(&w.places);
	free(w.nodes);
	free(w.until);
	free(w.values);
	return v == n;
}

/* ---- One question each ----------------------------------------------------------------------- */

/* Another value of step k than that of the path, with `n` conditions more. */
static enum as_solved ask_one(struct expanding *x, size_t k, const uint32_t *more, size_t n)
{
	struct as_path *path = x->path;
	uint32_t *holds = as_xmalloc((k + n + 1) * sizeof(*holds));
	struct as_question q = { .expr = path->expr,
				 .holds = holds,
				 .n = k + n,
				 .bytes = path->inputs,
				 .site = path->steps[k].site };
	enum as_solved solved = AS_SOLVED_NONE;

	memcpy(holds, x->holds, k * sizeof(*holds));
	memcpy(holds + k, more, n * sizeof(*holds));
	q.target = as_expr_op1(path->expr, AS_EXPR_NOT, 1, path->steps[k].holds, 0);
	if (q.target)
		solved = as_solve(x->s->solver, &q, x->bytes);
	free(holds);
	return solved;
}

/* A condition: the step's node has another value than with the bytes of the last answer. */
static uint32_t other_than(struct expanding *x, size_t k)
{
	struct as_expr *e = x->path->expr;
	uint32_t node = x->path->steps[k].node, same;
	as_u128 *values = as_xcalloc((uint64_t)as_expr_n(e) + 1, sizeof(*values));
	struct as_expr_slice slice;

	as_expr_slice(e, &node, 1, &slice);
	as_expr_eval_slice(e, &slice, x->bytes, values);
	same = as_expr_const(e, as_expr_at(e, node)->width, values[node]);
	same = same ? as_expr_op2(e, AS_EXPR_EQ, node, same) : 0;
	as_expr_slice_free(&slice);
	free(values);
	return same ? as_expr_op1(e, AS_EXPR_NOT, 1, same, 0) : 0;
}

static void ask(struct expanding *x, size_t k, bool all)
{
	int64_t until = as_now_us() + PLACES_US;
	uint32_t given[PLACES_MAX];
	size_t n = 0, max = all ? PLACES_MAX : 1;

	set_asked(x, k, all);
	while (n < max) {
		enum as_solved solved = ask_one(x, k, given, n);

		if (solved != AS_SOLVED && solved != AS_SOLVED_CONCRETE) {
			set_asked(x, k, true); /* there are no more, either */
			return;
		}
		add_answer(x, k, solved == AS_SOLVED_CONCRETE);
		given[n] = other_than(x, k);
		if (!given[n++] || as_now_us() > until)
			return;
	}
}

/* Which steps are worth it: pass 0: ways that are new; 1: other branches; 2: other addresses; 3:
 * all of them. */
static bool is_worth(struct expanding *x, size_t k, unsigned pass)
{
	const struct as_path_step *step = &x->path->steps[k];
	size_t times;

	if (pass == 3)
		return !x->all[k];
	if (x->done[k])
		return false;
	if (step->kind == AS_PATH_PLACE)
		return pass == 2;
	if (pass == 2)
		return false;
	if (as_table_get(&x->s->ways, as_search_way(step->site, !step->value)) == AS_TABLE_NONE)
		return pass == 0;
	if (pass == 0)
		return false;
	times = as_table_get(&x->sites, step->site);
	if (times != AS_TABLE_NONE && times >= SITE_MAX) {
		set_asked(x, k, false);
		return false;
	}
	if (times != AS_TABLE_NONE)
		as_table_remove(&x->sites, step->site, times);
	as_table_add(&x->sites, step->site, times == AS_TABLE_NONE ? 1 : times + 1);
	return true;
}

/* How many questions there was no time for; *last: only such that can wait for all others. */
static size_t ask_all(struct expanding *x, uint64_t run_us, bool *last)
{
	unsigned passes = x->from->round ? 4 : 3;
	int64_t until = as_now_us() + (int64_t)(2 * run_us < WORTH_US ? WORTH_US : 2 * run_us);
	size_t left = 0, asked = 0;

	for (unsigned pass = 0; pass < passes; pass++)
		for (size_t k = 0; k < x->n; k++) {
			if (!is_worth(x, k, pass))
				continue;
			/* Each round asks something, so that there is a last one. */
			if (asked && as_now_us() > until) {
				left++;
			} else {
				ask(x, k, pass == 3);
				asked++;
			}
		}
	*last = !left;
	for (size_t k = 0; passes < 4 && k < x->n; k++)
		left += !x->all[k];
	return left;
}

/* The path is run again later, for the questions that are left. */
static void come_again(struct expanding *x, bool last)
{
	const struct as_place *p = x->g->place;
	struct sym_candidate c = { .values = as_xcalloc(p->n + 1, 1),
				   .generation = x->from->generation,
				   .gain = x->gain,
				   .round = x->from->round + 1,
				   .concrete = x->from->concrete,
				   .class = last ? SYM_CLASS_LAST : 3 };

	memcpy(c.values, x->from->values, p->n);
	as_search_add(x->s, x->g, &c);
}

/* What was asked about before, or is not to be negated, is done. */
static void prepare(struct expanding *x)
{
	uint64_t digest = 0;

	for (size_t k = 0; k < x->n; k++) {
		const struct as_path_step *step = &x->path->steps[k];
		uint64_t way = as_search_way(step->site, step->value);

		x->holds[k] = step->holds;
		x->prefix[k] = digest;
		x->done[k] = step->kind == AS_PATH_HOLDS ||
			     as_expr_is_const(x->path->expr, step->holds) || was_asked(x, k, false);
		x->all[k] = step->kind != AS_PATH_PLACE ||
			    as_expr_is_const(x->path->expr, step->holds) || was_asked(x, k, true);
		digest = as_search_mix(digest, way);
	}
}

void as_search_expand(struct sym_search *s, struct sym_ground *g, struct as_path *path,
		      const struct sym_candidate *from, uint32_t gain, uint64_t run_us)
{
	int64_t start = as_now_us();
	size_t n = path->n < STEPS_MAX ? path->n : STEPS_MAX;
	struct expanding x = { .s = s,
			       .g = g,
			       .path = path,
			       .from = from,
			       .gain = gain,
			       .n = n,
			       .prefix = as_xcalloc(n + 1, sizeof(*x.prefix)),
			       .holds = as_xcalloc(n + 1, sizeof(*x.holds)),
			       .done = as_xcalloc(n + 1, sizeof(*x.done)),
			       .all = as_xcalloc(n + 1, sizeof(*x.all)),
			       .others = as_xcalloc(n + 1, sizeof(*x.others)),
			       .bytes = as_xcalloc(as_expr_inputs(path->expr) + 1, 1) };

	prepare(&x);
	memcpy(x.bytes, path->inputs, as_expr_inputs(path->expr));
	if (sweep(&x)) {
		for (size_t k = 0; k < n; k++) {
			if (!x.done[k])
				set_asked(&x, k, false);
			if (!x.all[k])
				set_asked(&x, k, true);
		}
	} else {
		bool last = false;
		size_t left = ask_all(&x, run_us, &last);

		s->tallies[AS_SEARCH_LEFT_OUT] += last ? 0 : left;
		if (left)
			come_again(&x, last || from->class == SYM_CLASS_LAST);
	}
	s->tallies[AS_SEARCH_SOLVE_US] += (uint64_t)(as_now_us() - start);
	as_table_free(&x.sites);
	free(x.prefix);
	free(x.holds);
	free(x.done);
	free(x.all);
	free(x.others);
	free(x.bytes);
}
