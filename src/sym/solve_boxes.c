/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * solve_boxes: answers questions by bounds instead of by bits.
 *
 * Method. A box has a set of values for each byte. Bounds of all nodes follow from it, and from the
 * terms, which must be 1, follow narrower ones, down to the bytes, until nothing changes
 * (branch and prune). If nothing is left, the box has no answer. Some points of it are tried. Then
 * it is cut in two at the byte that weighs most in the words that the checker has read.
 * Comparisons and divisions of words, which are most of what checkers do with a field, need few
 * boxes where Z3 would take them apart into bits.
 *
 * Invariants
 *   1. "None" is said only if no box is left; an answer only if all terms were computed with it.
 *   2. What is computed is counted; above a limit somebody else is asked.
 */
#include "sym/solve_priv.h"

#include <stdlib.h>
#include <string.h>

#define INPUTS_MAX 16u
#define WORK_MAX 150000u /* nodes, */
#define PASSES 24u /* or that many times all of them */
#define NODES_MAX 100000u
#define ROUNDS_MAX 12u
#define SETS_WORK 2u /* computing a node for one value costs less than its bounds: one part in */

struct box {
	uint64_t set[INPUTS_MAX][4];
};

struct boxes {
	struct solve_slice *slice;
	struct solve_bound *all; /* of each node */
	uint32_t nodes[INPUTS_MAX]; /* of each input */
	unsigned weight[INPUTS_MAX];
	struct box *stack;
	size_t n, cap;
	unsigned char *bytes;
	uint64_t work, work_max;
};

/* ---- Sets of values -------------------------------------------------------------------------- */

static bool has(const uint64_t set[4], unsigned value)
{
	return set[value / 64] >> value % 64 & 1;
}

static unsigned count(const uint64_t set[4])
{
	unsigned n = 0;

	for (unsigned i = 0; i < 4; i++)
		n += (unsigned)__builtin_popcountll(set[i]);
	return n;
}

static unsigned least(const uint64_t set[4])
{
	unsigned v = 0;

	while (!has(set, v))
		v++;
	return v;
}

static unsigned greatest(const uint64_t set[4])
{
	unsigned v = 255;

	while (!has(set, v))
		v--;
	return v;
}

/* The value of a set that is nearest to one. */
static unsigned nearest(const uint64_t set[4], unsigned to)
{
	for (unsigned d = 0;; d++) {
		if (to >= d && has(set, to - d))
			return to - d;
		if (to + d < 256 && has(set, to + d))
			return to + d;
	}
}

/* False: nothing is left. */
static bool keep_between(uint64_t set[4], unsigned low, unsigned high)
{
	uint64_t left = 0;

	for (unsigned i = 0; i < 4; i++) {
		if (low > 64 * i)
			set[i] &= low >= 64 * i + 64 ? 0 : ~UINT64_C(0) << (low - 64 * i);
		if (high < 64 * i + 63)
			set[i] &= high < 64 * i ? 0 : ~UINT64_C(0) >> (63 - (high - 64 * i));
		left |= set[i];
	}
	return left;
}

/* ---- Pruning --------------------------------------------------------------------------------- */

static bool forwards(struct boxes *b, bool first)
{
	const struct solve_slice *s = b->slice;

	for (size_t i = 0; i < s->nodes.n; i++) {
		uint32_t node = s->nodes.nodes[i];
		const struct as_expr_node *x = as_expr_at(s->expr, node);
		struct solve_bound now, *at = &b->all[node];

		if (x->op == AS_EXPR_INPUT)
			continue;
		now = as_bounds_of(s->expr, x, b->all);
		if (first) {
			*at = now;
			continue;
		}
		at->lo = now.lo > at->lo ? now.lo : at->lo;
		at->hi = now.hi < at->hi ? now.hi : at->hi;
		if (at->lo > at->hi)
			return false;
	}
	return true;
}

static bool backwards(struct boxes *b, bool *changed)
{
	const struct solve_slice *s = b->slice;

	for (size_t i = 0; i < s->n; i++) {
		struct solve_bound *at = &b->all[s->terms[i]];

		if (!at->hi)
			return false;
		*changed = *changed || !at->lo;
		at->lo = 1;
	}
	for (size_t i = s->nodes.n; i-- > 0;) {
		uint32_t node = s->nodes.nodes[i];

		if (!as_bounds_narrow(s->expr, as_expr_at(s->expr, node), b->all[node], b->all,
				      changed))
			return false;
	}
	return true;
}

/* False: the box has no answer. */
static bool prune(struct boxes *b, struct box *box)
{
	const struct solve_slice *s = b->slice;
	bool changed = true;

	for (unsigned round = 0; changed && round < ROUNDS_MAX; round++) {
		changed = false;
		for (uint32_t k = 0; k < s->n_inputs; k++) {
			unsigned low = least(box->set[k]), high = greatest(box->set[k]);

			b->all[b->nodes[k]] = (struct solve_bound){ low, high };
		}
		b->work += 2 * s->nodes.n;
		if (!forwards(b, !round) || !backwards(b, &changed))
			return false;
		for (uint32_t k = 0; k < s->n_inputs; k++) {
			const struct solve_bound *at = &b->all[b->nodes[k]];

			if (!keep_between(box->set[k], (unsigned)at->lo, (unsigned)at->hi))
				return false;
		}
	}
	return true;
}

/* ---- Terms of one byte ----------------------------------------------------------------------- */

/* Removes the values of a byte for which a term that depends on nothing else is not 1. */
static bool filter(struct boxes *b, struct box *box, uint32_t term, uint32_t k)
{
	struct solve_slice *s = b->slice;
	struct as_expr_slice part;
	unsigned char *byte = &b->bytes[s->inputs[k]], was = *byte;

	as_expr_slice(s->expr, &term, 1, &part);
	b->work += part.n * count(box->set[k]) / SETS_WORK;
	for (unsigned v = 0; v < 256; v++) {
		if (!has(box->set[k], v))
			continue;
		*byte = (unsigned char)v;
		as_expr_eval_slice(s->expr, &part, b->bytes, s->values);
		if (s->values[term] != 1)
			box->set[k][v / 64] &= ~(UINT64_C(1) << v % 64);
	}
	*byte = was;
	as_expr_slice_free(&part);
	return count(box->set[k]);
}

static bool filter_all(struct boxes *b, struct box *box)
{
	const struct solve_slice *s = b->slice;

	for (size_t i = 0; i < s->n && b->work <= b->work_max; i++) {
		uint32_t input, support = as_expr_support(s->expr, s->terms[i]);

		if (as_expr_set_n(s->expr, support) != 1)
			continue;
		as_expr_set_list(s->expr, support, &input, 1);
		for (uint32_t k = 0; k < s->n_inputs; k++)
			if (s->inputs[k] == input && !filter(b, box, s->terms[i], k))
				return false;
	}
	return true;
}

/* ---- Boxes ----------------------------------------------------------------------------------- */

/* How far each byte is shifted to the left where words are put together. */
static void weigh(struct boxes *b)
{
	const struct solve_slice *s = b->slice;
	unsigned *up = as_xcalloc((uint64_t)as_expr_n(s->expr) + 1, sizeof(*up));

	for (size_t i = s->nodes.n; i-- > 0;) {
		uint32_t node = s->nodes.nodes[i];
		const struct as_expr_node *x = as_expr_at(s->expr, node);

		for (unsigned k = 0; k < as_expr_op_args(x->op); k++) {
			unsigned w = up[node];

			if (x->op == AS_EXPR_CONCAT && !k)
				w += as_expr_at(s->expr, x->arg[1])->width;
			if (w > up[x->arg[k]] && w < 256)
				up[x->arg[k]] = w;
		}
	}
	for (uint32_t k = 0; k < s->n_inputs; k++)
		b->weight[k] = up[b->nodes[k]];
	free(up);
}

/* Whether a point of the box is an answer: near the hint, or a corner. */
static bool try_points(struct boxes *b, const struct box *box)
{
	const struct solve_slice *s = b->slice;

	for (unsigned way = 0; way < 3; way++) {
		for (uint32_t k = 0; k < s->n_inputs; k++) {
			const uint64_t *set = box->set[k];
			unsigned v = way == 0	? nearest(set, s->hint[s->inputs[k]])
				     : way == 1 ? least(set)
						: greatest(set);

			b->bytes[s->inputs[k]] = (unsigned char)v;
		}
		b->work += s->nodes.n;
		if (as_slice_holds(b->slice, b->bytes))
			return true;
	}
	return false;
}

static void push(struct boxes *b, const struct box *box)
{
	if (b->n == b->cap) {
		b->cap = b->cap ? 2 * b->cap : 16;
		b->stack = as_xrealloc(b->stack, b->cap * sizeof(*b->stack));
	}
	b->stack[b->n++] = *box;
}

/* Both halves; the one with the hint is looked at first. */
static void split(struct boxes *b, const struct box *box)
{
	const struct solve_slice *s = b->slice;
	struct box low = *box, high = *box;
	uint32_t at = UINT32_MAX;
	unsigned middle, n;

	for (uint32_t k = 0; k < s->n_inputs; k++)
		if (count(box->set[k]) > 1 && (at == UINT32_MAX || b->weight[k] > b->weight[at]))
			at = k;
	if (at == UINT32_MAX)
		return; /* it was one point, which was tried */
	n = count(box->set[at]) / 2;
	for (middle = 0; n; middle++)
		n -= has(box->set[at], middle);
	keep_between(low.set[at], 0, middle - 1);
	keep_between(high.set[at], middle, 255);
	if (s->hint[s->inputs[at]] < middle) {
		push(b, &high);
		push(b, &low);
	} else {
		push(b, &low);
		push(b, &high);
	}
}

static enum as_solved look(struct boxes *b)
{
	bool filtered = false;

	while (b->n) {
		struct box box = b->stack[--b->n];

		if (b->work > b->work_max)
			return AS_SOLVED_LATE;
		if (!prune(b, &box))
			continue;
		if (try_points(b, &box))
			return AS_SOLVED;
		/* The first box, all others are in it. */
		if (!filtered) {
			filtered = true;
			if (filter_all(b, &box))
				push(b, &box);
			continue;
		}
		split(b, &box);
	}
	return AS_SOLVED_NONE;
}

enum as_solved as_solve_boxes(struct solve_slice *s, unsigned char *bytes)
{
	struct boxes b = { .slice = s, .bytes = bytes };
	enum as_solved solved;
	struct box all;

	if (!s->n_inputs || s->n_inputs > INPUTS_MAX || s->nodes.n > NODES_MAX)
		return AS_SOLVED_LATE;
	b.work_max = s->nodes.n * PASSES > WORK_MAX ? s->nodes.n * PASSES : WORK_MAX;
	b.all = as_xcalloc((uint64_t)as_expr_n(s->expr) + 1, sizeof(*b.all));
	for (uint32_t k = 0; k < s->n_inputs; k++)
		b.nodes[k] = as_expr_input(s->expr, as_expr_input_off(s->expr, s->inputs[k]));
	weigh(&b);
	memset(&all, 0xff, sizeof(all));
	push(&b, &all);
	solved = look(&b);
	if (solved != AS_SOLVED) {
		memcpy(bytes, s->hint, as_expr_inputs(s->expr));
		as_expr_eval_slice(s->expr, &s->nodes, s->hint, s->values);
	}
	free(b.stack);
	free(b.all);
	return solved;
}
