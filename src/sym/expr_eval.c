/* SPDX-License-Identifier: GPL-2.0-or-later */
/* expr_eval: computes expressions on concrete bytes. Meanings are those of SMT-LIB. */
#include "sym/expr_priv.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

typedef __int128 as_i128;

static as_i128 to_signed(as_u128 value, unsigned width)
{
	unsigned up = 128 - width;

	return (as_i128)(value << up) >> up;
}

static as_u128 divide(enum as_expr_op op, as_u128 a, as_u128 b, unsigned width)
{
	as_i128 x = to_signed(a, width), y = to_signed(b, width);

	switch (op) {
	case AS_EXPR_UDIV:
		return b ? a / b : ~(as_u128)0;
	case AS_EXPR_UREM:
		return b ? a % b : a;
	case AS_EXPR_SDIV:
		if (!b)
			return x < 0 ? 1 : ~(as_u128)0;
		/* The smallest number has no positive one. */
		return y == -1 ? -a : (as_u128)(x / y);
	default:
		if (!b)
			return a;
		return y == -1 ? 0 : (as_u128)(x % y);
	}
}

static as_u128 shift(enum as_expr_op op, as_u128 a, as_u128 amount, unsigned width)
{
	if (amount >= width) {
		if (op != AS_EXPR_ASHR)
			return 0;
		amount = width - 1;
		return (as_u128)(to_signed(a, width) < 0 ? -1 : 0);
	}
	switch (op) {
	case AS_EXPR_SHL:
		return a << amount;
	case AS_EXPR_LSHR:
		return a >> amount;
	default:
		return (as_u128)(to_signed(a, width) >> amount);
	}
}

static as_u128 count(enum as_expr_op op, as_u128 a, unsigned width)
{
	unsigned n = 0;

	if (op == AS_EXPR_POPCNT)
		return (unsigned)__builtin_popcountll((uint64_t)a) +
		       (unsigned)__builtin_popcountll((uint64_t)(a >> 64));
	while (n < width && !(a >> (op == AS_EXPR_CTZ ? n : width - 1 - n) & 1))
		n++;
	return n;
}

static as_u128 compute(const struct as_expr *e, const struct as_expr_node *x, as_u128 a, as_u128 b,
		       as_u128 c)
{
	unsigned w = x->arg[0] ? e->nodes[x->arg[0]].width : x->width;

	switch ((enum as_expr_op)x->op) {
	case AS_EXPR_CONST:
	case AS_EXPR_INPUT:
		return x->imm;
	case AS_EXPR_ADD:
		return a + b;
	case AS_EXPR_SUB:
		return a - b;
	case AS_EXPR_MUL:
		return a * b;
	case AS_EXPR_UDIV:
	case AS_EXPR_UREM:
	case AS_EXPR_SDIV:
	case AS_EXPR_SREM:
		return divide(x->op, a, b, w);
	case AS_EXPR_AND:
		return a & b;
	case AS_EXPR_OR:
		return a | b;
	case AS_EXPR_XOR:
		return a ^ b;
	case AS_EXPR_NOT:
		return ~a;
	case AS_EXPR_NEG:
		return -a;
	case AS_EXPR_SHL:
	case AS_EXPR_LSHR:
	case AS_EXPR_ASHR:
		return shift(x->op, a, b, w);
	case AS_EXPR_CONCAT:
		return a << e->nodes[x->arg[1]].width | b;
	case AS_EXPR_EXTRACT:
		return a >> x->imm;
	case AS_EXPR_ZEXT:
		return a;
	case AS_EXPR_SEXT:
		return (as_u128)to_signed(a, w);
	case AS_EXPR_EQ:
		return a == b;
	case AS_EXPR_ULT:
		return a < b;
	case AS_EXPR_ULE:
		return a <= b;
	case AS_EXPR_SLT:
		return to_signed(a, w) < to_signed(b, w);
	case AS_EXPR_SLE:
		return to_signed(a, w) <= to_signed(b, w);
	case AS_EXPR_ITE:
		return a ? b : c;
	case AS_EXPR_CLZ:
	case AS_EXPR_CTZ:
	case AS_EXPR_POPCNT:
		return count(x->op, a, w);
	case AS_EXPR_TABLE:
		return as_expr_table_at(e, (uint32_t)x->imm, a, x->width);
	case AS_EXPR_OPS:
		break;
	}
	as_assert(!"an operation that is not known");
	return 0;
}

as_u128 as_expr_compute(const struct as_expr *e, const struct as_expr_node *x, const as_u128 v[3])
{
	return compute(e, x, v[0], v[1], v[2]) & as_expr_mask(x->width);
}

static void eval_one(const struct as_expr *e, uint32_t i, const unsigned char *bytes,
		     as_u128 *values)
{
	const struct as_expr_node *x = &e->nodes[i];

	/* values[0] is that of arguments that do not count. */
	values[i] = x->op == AS_EXPR_INPUT ? bytes[as_expr_input_of(e, (uint64_t)x->imm)]
					   : compute(e, x, values[x->arg[0]], values[x->arg[1]],
						     values[x->arg[2]]) &
						     as_expr_mask(x->width);
}

void as_expr_eval_slice(const struct as_expr *e, const struct as_expr_slice *slice,
			const unsigned char *bytes, as_u128 *values)
{
	values[0] = 0;
	for (size_t i = 0; i < slice->n; i++)
		eval_one(e, slice->nodes[i], bytes, values);
}

void as_expr_eval(const struct as_expr *e, const unsigned char *bytes, as_u128 *values)
{
	values[0] = 0;
	for (uint32_t i = 1; i < e->n; i++)
		eval_one(e, i, bytes, values);
}

void as_expr_slice(const struct as_expr *e, const uint32_t *roots, size_t n,
		   struct as_expr_slice *out)
{
	unsigned char *needed;
	uint32_t top = 0;

	for (size_t i = 0; i < n; i++)
		top = roots[i] > top ? roots[i] : top;
	needed = as_xcalloc(top + 1, 1);
	*out = (struct as_expr_slice){ 0 };
	for (size_t i = 0; i < n; i++)
		needed[roots[i]] = 1;
	/* Arguments have lower numbers. */
	for (uint32_t i = top; i; i--) {
		if (!needed[i])
			continue;
		out->n++;
		for (unsigned k = 0; k < 3; k++)
			needed[e->nodes[i].arg[k]] = 1;
	}
	out->nodes = as_xmalloc((out->n + 1) * sizeof(*out->nodes));
	out->n = 0;
	for (uint32_t i = 1; i <= top; i++)
		if (needed[i])
			out->nodes[out->n++] = i;
	free(needed);
}

void as_expr_slice_free(struct as_expr_slice *slice)
{
	free(slice->nodes);
	*slice = (struct as_expr_slice){ 0 };
}
