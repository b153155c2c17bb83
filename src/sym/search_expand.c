/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search_expand: from a path to other paths: the other way at each of its branches.
 *
 * If the path depends on one or two bytes, all their values are tried on it at once: a value leaves
 * the path at some step, and is the answer for that step. Then no question is left. Otherwise
 * each step is a question (solve.h), those whose other way nobody has gone yet first, until the
 * time is used up that a path is worth. What is left then is asked in another round.
 */
#include "sym/search_priv.h"

#include "os/spawn.h"

#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 4096u /* of a path that are looked at */
#define SITE_MAX 8u /* questions about one site of a path */
#define WORTH_US 100000u /* of solving for one path, at least */
#define SWEEP_WORK 4000000u

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
	c.class = step->kind == AS_PATH_PLACE			      ? 2
		  : as_table_get(&x->s->ways, c.way) == AS_TABLE_NONE ? 0
								      : 1;
	as_expr_slice_free(&slice);
	free(values);
	as_search_add(x->s, x->g, &c);
}

static void set_asked(struct expanding *x, size_t k)
{
	uint64_t asked = as_search_mix(x->prefix[k], x->path->steps[k].site);

	x->done[k] = true;
	if (as_table_get(&x->g->asked, asked) != AS_TABLE_NONE)
		return;
	as_table_add(&x->g->asked, asked, x->g->asked.n);
	as_search_note(x->s, AS_KEEP_ASKED, asked);
}

/* ---- All values at once ---------------------------------------------------------------------- */

struct path_sweep {
	uint32_t *nodes;
	size_t *until;
	as_u128 *values;
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

/* True: all values were tried. */
static bool sweep(struct expanding *x)
{
	uint32_t inputs = as_expr_inputs(x->path->expr);
	unsigned n = inputs == 1 ? 256 : 65536;
	struct path_sweep w;
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
		if (k == x->n || x->done[k])
			continue;
		set_asked(x, k);
		add_answer(x, k, false);
	}
	free(w.nodes);
	free(w.until);
	free(w.values);
	return v == n;
}

/* ---- One question each ----------------------------------------------------------------------- */

static void ask(struct expanding *x, size_t k)
{
	struct as_path *path = x->path;
	struct as_question q = { .expr = path->expr,
				 .holds = x->holds,
				 .n = k,
				 .bytes = path->inputs,
				 .site = path->steps[k].site };
	enum as_solved solved;

	set_asked(x, k);
	q.target = as_expr_op1(path->expr, AS_EXPR_NOT, 1, path->steps[k].holds, 0);
	if (!q.target)
		return;
	solved = as_solve(x->s->solver, &q, x->bytes);
	if (solved == AS_SOLVED || solved == AS_SOLVED_CONCRETE)
		add_answer(x, k, solved == AS_SOLVED_CONCRETE);
}

/* Which steps are worth it: pass 0: ways that are new; 1: other branches; 2: other addresses. */
static bool is_worth(struct expanding *x, size_t k, unsigned pass)
{
	const struct as_path_step *step = &x->path->steps[k];
	size_t times;

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
		set_asked(x, k);
		return false;
	}
	if (times != AS_TABLE_NONE)
		as_table_remove(&x->sites, step->site, times);
	as_table_add(&x->sites, step->site, times == AS_TABLE_NONE ? 1 : times + 1);
	return true;
}

/* How many questions there was no time for. */
static size_t ask_all(struct expanding *x, uint64_t run_us)
{
	int64_t until = as_now_us() + (int64_t)(2 * run_us < WORTH_US ? WORTH_US : 2 * run_us);
	size_t left = 0, asked = 0;

	for (unsigned pass = 0; pass < 3; pass++)
		for (size_t k = 0; k < x->n; k++) {
			if (!is_worth(x, k, pass))
				continue;
			/* Each round asks something, so that there is a last one. */
			if (asked && as_now_us() > until) {
				left++;
			} else {
				ask(x, k);
				asked++;
			}
		}
	return left;
}

/* The path is run again later, for the questions that are left. */
static void come_again(struct expanding *x)
{
	const struct as_place *p = x->g->place;
	struct sym_candidate c = { .values = as_xcalloc(p->n + 1, 1),
				   .generation = x->from->generation,
				   .gain = x->gain,
				   .round = x->from->round + 1,
				   .concrete = x->from->concrete,
				   .class = 3 };

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
		uint64_t asked = as_search_mix(digest, step->site);

		x->holds[k] = step->holds;
		x->prefix[k] = digest;
		x->done[k] = step->kind == AS_PATH_HOLDS ||
			     as_expr_is_const(x->path->expr, step->holds) ||
			     as_table_get(&x->g->asked, asked) != AS_TABLE_NONE;
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
			       .bytes = as_xcalloc(as_expr_inputs(path->expr) + 1, 1) };

	prepare(&x);
	memcpy(x.bytes, path->inputs, as_expr_inputs(path->expr));
	if (sweep(&x)) {
		for (size_t k = 0; k < n; k++)
			if (!x.done[k])
				set_asked(&x, k);
	} else {
		size_t left = ask_all(&x, run_us);

		s->tallies[AS_SEARCH_LEFT_OUT] += left;
		if (left)
			come_again(&x);
	}
	s->tallies[AS_SEARCH_SOLVE_US] += (uint64_t)(as_now_us() - start);
	as_table_free(&x.sites);
	free(x.prefix);
	free(x.holds);
	free(x.done);
	free(x.bytes);
}
