/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * solve_quick: works backwards from the value that a node should have to the values that its
 * arguments should have, down to bytes. Where there are several ways, `variant` picks one. What it
 * finds is tried on all conditions afterwards, so it may guess: a wrong guess costs an evaluation.
 *
 * Most branches of checkers compare a field with a number, so that this answers most questions.
 */
#include "sym/solve_priv.h"

#include <string.h>

#define VARIANTS 12u
#define DEPTH_MAX 200u
#define BITS_DEPTH 8u
#define STEPS_MAX 4096u /* of one variant; parts may be shared many times */

struct quick {
	struct solve_slice *slice;
	unsigned char *bytes;
	unsigned variant, steps;
};

static bool want(struct quick *q, uint32_t node, as_u128 value, unsigned depth);

static const struct as_expr_node *at(const struct quick *q, uint32_t node)
{
	return as_expr_at(q->slice->expr, node);
}

static as_u128 now(const struct quick *q, uint32_t node)
{
	return q->slice->values[node];
}

static bool is_num(const struct quick *q, uint32_t node)
{
	return at(q, node)->op == AS_EXPR_CONST;
}

/* Bits that can be 1 at all. */
static as_u128 bits_of(const struct quick *q, uint32_t node, unsigned depth)
{
	const struct as_expr_node *x = at(q, node);
	as_u128 all = as_expr_mask(x->width);

	if (depth > BITS_DEPTH)
		return all;
	switch (x->op) {
	case AS_EXPR_CONST:
		return x->imm;
	case AS_EXPR_ZEXT:
		return bits_of(q, x->arg[0], depth + 1);
	case AS_EXPR_CONCAT:
		return (bits_of(q, x->arg[0], depth + 1) << at(q, x->arg[1])->width |
			bits_of(q, x->arg[1], depth + 1)) &
		       all;
	case AS_EXPR_SHL:
		return is_num(q, x->arg[1]) && at(q, x->arg[1])->imm < x->width
			       ? bits_of(q, x->arg[0], depth + 1) << at(q, x->arg[1])->imm & all
			       : all;
	case AS_EXPR_AND:
		return bits_of(q, x->arg[0], depth + 1) & bits_of(q, x->arg[1], depth + 1);
	case AS_EXPR_OR:
	case AS_EXPR_XOR:
		return bits_of(q, x->arg[0], depth + 1) | bits_of(q, x->arg[1], depth + 1);
	default:
		return all;
	}
}

/* The inverse of an odd number modulo 2^128. */
static as_u128 inverse(as_u128 odd)
{
	as_u128 x = odd;

	for (unsigned i = 0; i < 7; i++)
		x *= 2 - odd * x;
	return x;
}

static bool want_product(struct quick *q, const struct as_expr_node *x, as_u128 value,
			 unsigned depth)
{
	as_u128 c;
	unsigned shift = 0;

	if (!is_num(q, x->arg[1]) || !at(q, x->arg[1])->imm)
		return false;
	c = at(q, x->arg[1])->imm;
	while (!(c & 1)) {
		if (value & (as_u128)1 << shift)
			return false;
		c >>= 1;
		shift++;
	}
	return want(q, x->arg[0], (value >> shift) * inverse(c) & as_expr_mask(x->width - shift),
		    depth);
}

/* Sums and the like: one argument stays as it is. */
static bool want_sum(struct quick *q, const struct as_expr_node *x, as_u128 value, unsigned depth)
{
	bool first = is_num(q, x->arg[1]) || (!is_num(q, x->arg[0]) && !(q->variant & 1));
	uint32_t change = x->arg[first ? 0 : 1];
	as_u128 other = now(q, x->arg[first ? 1 : 0]), mask = as_expr_mask(x->width);

	switch (x->op) {
	case AS_EXPR_ADD:
		return want(q, change, (value - other) & mask, depth);
	case AS_EXPR_SUB:
		return want(q, change, (first ? value + other : other - value) & mask, depth);
	default:
		return want(q, change, (value ^ other) & mask, depth);
	}
}

static bool want_and(struct quick *q, const struct as_expr_node *x, as_u128 value, unsigned depth)
{
	uint32_t a = x->arg[0], b = x->arg[1];
	as_u128 other;

	if (x->width == 1 && value)
		return want(q, a, 1, depth) && want(q, b, 1, depth);
	if (x->width == 1)
		return want(q, q->variant & 1 ? b : a, 0, depth);
	if (!is_num(q, b) && q->variant & 1) {
		a = x->arg[1];
		b = x->arg[0];
	}
	other = now(q, b);
	if (value & ~other)
		return !is_num(q, b) && want(q, a, value | now(q, a), depth) &&
		       want(q, b, value, depth);
	return want(q, a, (now(q, a) & ~other) | value, depth);
}

static bool want_or(struct quick *q, const struct as_expr_node *x, as_u128 value, unsigned depth)
{
	uint32_t a = x->arg[0], b = x->arg[1];
	as_u128 bits_a, bits_b, other;

	if (x->width == 1 && !value)
		return want(q, a, 0, depth) && want(q, b, 0, depth);
	if (x->width == 1)
		return want(q, q->variant & 1 ? b : a, 1, depth);
	bits_a = bits_of(q, a, 0);
	bits_b = bits_of(q, b, 0);
	/* Parts that are put together, as by a change of byte order. */
	if (!(bits_a & bits_b))
		return !(value & ~(bits_a | bits_b)) && want(q, a, value & bits_a, depth) &&
		       want(q, b, value & bits_b, depth);
	other = now(q, b);
	if (other & ~value)
		return !is_num(q, b) && want(q, a, value, depth) && want(q, b, 0, depth);
	return want(q, a, (now(q, a) & other) | (value & ~other), depth);
}

static bool want_shift(struct quick *q, const struct as_expr_node *x, as_u128 value, unsigned depth)
{
	as_u128 mask = as_expr_mask(x->width), old = now(q, x->arg[0]);
	unsigned k;

	if (!is_num(q, x->arg[1]) || at(q, x->arg[1])->imm >= x->width) {
		/* 1 << n */
		if (x->op == AS_EXPR_SHL && value && !(value & (value - 1)) && old == 1) {
			for (k = 0; !(value >> k & 1);)
				k++;
			return want(q, x->arg[1], k, depth);
		}
		return false;
	}
	k = (unsigned)at(q, x->arg[1])->imm;
	if (x->op == AS_EXPR_SHL) {
		if (value & as_expr_mask(k))
			return false;
		return want(q, x->arg[0], value >> k | (old & ~(mask >> k)), depth);
	}
	return want(q, x->arg[0], ((value << k) | (old & as_expr_mask(k))) & mask, depth);
}

/* ---- Comparisons ----------------------------------------------------------------------------- */

static bool want_differ(struct quick *q, const struct as_expr_node *x, unsigned depth)
{
	bool first = is_num(q, x->arg[1]) || (!is_num(q, x->arg[0]) && !(q->variant & 1));
	as_u128 other = now(q, x->arg[first ? 1 : 0]);
	unsigned width = at(q, x->arg[0])->width;
	const as_u128 tries[] = {
		other + 1, other ^ 1, 0, other - 1, ~other, 1, (as_u128)1 << (width - 1)
	};
	as_u128 value = tries[q->variant / 2 % (sizeof(tries) / sizeof(tries[0]))];

	value &= as_expr_mask(width);
	return value != other && want(q, x->arg[first ? 0 : 1], value, depth);
}

/* The low one must become less than the high one, or equal. */
static bool want_less(struct quick *q, uint32_t low, uint32_t high, bool or_equal, bool is_signed,
		      unsigned depth)
{
	unsigned width = at(q, low)->width;
	as_u128 mask = as_expr_mask(width), step = or_equal ? 0 : 1;
	as_u128 least = is_signed ? (as_u128)1 << (width - 1) : 0;
	as_u128 most = is_signed ? mask >> 1 : mask;
	bool change_low = is_num(q, high) || (!is_num(q, low) && !(q->variant & 1));
	as_u128 value;

	if (change_low) {
		value = now(q, high);
		if (value == least && !or_equal)
			return false;
		switch (q->variant / 2 % 4) {
		case 0:
			value -= step;
			break;
		case 1:
			value = least;
			break;
		case 2:
			value = is_signed || value <= step ? 0 : (value - step) / 2;
			break;
		default:
			value -= step + 1;
		}
		return want(q, low, value & mask, depth);
	}
	value = now(q, low);
	if (value == most && !or_equal)
		return false;
	switch (q->variant / 2 % 3) {
	case 0:
		value += step;
		break;
	case 1:
		value = most;
		break;
	default:
		value += step + 1;
	}
	return want(q, high, value & mask, depth);
}

static bool want_compare(struct quick *q, const struct as_expr_node *x, as_u128 value,
			 unsigned depth)
{
	bool is_signed = x->op == AS_EXPR_SLT || x->op == AS_EXPR_SLE;
	bool or_equal = x->op == AS_EXPR_ULE || x->op == AS_EXPR_SLE;

	if (x->op == AS_EXPR_EQ) {
		bool first = is_num(q, x->arg[1]) || (!is_num(q, x->arg[0]) && !(q->variant & 1));

		if (!value)
			return want_differ(q, x, depth);
		return want(q, x->arg[first ? 0 : 1], now(q, x->arg[first ? 1 : 0]), depth);
	}
	return value ? want_less(q, x->arg[0], x->arg[1], or_equal, is_signed, depth)
		     : want_less(q, x->arg[1], x->arg[0], !or_equal, is_signed, depth);
}

static bool want_part(struct quick *q, const struct as_expr_node *x, as_u128 value, unsigned depth)
{
	const struct as_expr_node *a = at(q, x->arg[0]);
	unsigned w;
	as_u128 part;

	switch (x->op) {
	case AS_EXPR_CONCAT:
		w = at(q, x->arg[1])->width;
		return want(q, x->arg[0], value >> w, depth) &&
		       want(q, x->arg[1], value & as_expr_mask(w), depth);
	case AS_EXPR_EXTRACT:
		part = as_expr_mask(x->width) << x->imm;
		return want(q, x->arg[0], (now(q, x->arg[0]) & ~part) | value << x->imm, depth);
	case AS_EXPR_ZEXT:
		return !(value & ~as_expr_mask(a->width)) && want(q, x->arg[0], value, depth);
	default: /* AS_EXPR_SEXT */
		part = as_expr_mask(x->width) & ~as_expr_mask(a->width - 1u);
		return ((value & part) == 0 || (value & part) == part) &&
		       want(q, x->arg[0], value & as_expr_mask(a->width), depth);
	}
}

/* A byte offset at which a table has the value. */
static bool want_entry(struct quick *q, const struct as_expr_node *x, as_u128 value, unsigned depth)
{
	uint32_t bytes = as_expr_table_bytes(q->slice->expr, (uint32_t)x->imm);
	unsigned skip = q->variant / 2;

	for (uint32_t off = 0; off + x->width / 8 <= bytes; off++)
		if (as_expr_table_at(q->slice->expr, (uint32_t)x->imm, off, x->width) == value &&
		    !(off & ~bits_of(q, x->arg[0], 0)) && !skip--)
			return want(q, x->arg[0], off, depth);
	return false;
}

static bool want(struct quick *q, uint32_t node, as_u128 value, unsigned depth)
{
	const struct as_expr_node *x = at(q, node);

	if (depth > DEPTH_MAX || q->steps++ > STEPS_MAX)
		return false;
	depth++;
	switch ((enum as_expr_op)x->op) {
	case AS_EXPR_INPUT:
		q->bytes[as_expr_input_of(q->slice->expr, (uint64_t)x->imm)] = (unsigned char)value;
		return true;
	case AS_EXPR_CONST:
		return x->imm == value;
	case AS_EXPR_ADD:
	case AS_EXPR_SUB:
	case AS_EXPR_XOR:
		return want_sum(q, x, value, depth);
	case AS_EXPR_MUL:
		return want_product(q, x, value, depth);
	case AS_EXPR_UDIV:
		return is_num(q, x->arg[1]) &&
		       want(q, x->arg[0], value * at(q, x->arg[1])->imm & as_expr_mask(x->width),
			    depth);
	case AS_EXPR_UREM:
		if (!is_num(q, x->arg[1]) || at(q, x->arg[1])->imm <= value)
			return false;
		return want(q, x->arg[0], now(q, x->arg[0]) - now(q, node) + value, depth);
	case AS_EXPR_AND:
		return want_and(q, x, value, depth);
	case AS_EXPR_OR:
		return want_or(q, x, value, depth);
	case AS_EXPR_NOT:
		return want(q, x->arg[0], ~value & as_expr_mask(x->width), depth);
	case AS_EXPR_NEG:
		return want(q, x->arg[0], -value & as_expr_mask(x->width), depth);
	case AS_EXPR_SHL:
	case AS_EXPR_LSHR:
	case AS_EXPR_ASHR:
		return want_shift(q, x, value, depth);
	case AS_EXPR_CONCAT:
	case AS_EXPR_EXTRACT:
	case AS_EXPR_ZEXT:
	case AS_EXPR_SEXT:
		return want_part(q, x, value, depth);
	case AS_EXPR_EQ:
	case AS_EXPR_ULT:
	case AS_EXPR_ULE:
	case AS_EXPR_SLT:
	case AS_EXPR_SLE:
		return want_compare(q, x, value, depth);
	case AS_EXPR_ITE: {
		bool yes = !(q->variant & 1) == (now(q, x->arg[0]) != 0);

		return want(q, x->arg[yes ? 1 : 2], value, depth) && want(q, x->arg[0], yes, depth);
	}
	case AS_EXPR_TABLE:
		return want_entry(q, x, value, depth);
	default:
		return false;
	}
}

bool as_solve_quick(struct solve_slice *slice, unsigned char *bytes)
{
	uint32_t inputs = as_expr_inputs(slice->expr);
	struct quick q = { .slice = slice, .bytes = bytes };

	for (q.variant = 0; q.variant < VARIANTS; q.variant++) {
		bool found;

		memcpy(bytes, slice->hint, inputs);
		q.steps = 0;
		found = want(&q, slice->terms[slice->n - 1], 1, 0) &&
			memcmp(bytes, slice->hint, inputs) && as_slice_holds(slice, bytes);
		if (found)
			return true;
		/* Values are those of the hint again. */
		as_expr_eval_slice(slice->expr, &slice->nodes, slice->hint, slice->values);
	}
	memcpy(bytes, slice->hint, inputs);
	return false;
}
