/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * expr_simple: simple forms of expressions. Each rule is a step that keeps the value for all
 * inputs; tests/sym/test_expr.c compares them on random graphs. The rules are those that undo what
 * compilers and an x86's flags do to a comparison of a field with a number.
 */
#include "sym/expr_priv.h"

#include "base/err.h"

#define NODE(o, w, ...) (&(struct as_expr_node){ .op = (o), .width = (uint8_t)(w), __VA_ARGS__ })

static const struct as_expr_node *at(const struct as_expr *e, uint32_t i)
{
	return &e->nodes[i];
}

static bool is_num(const struct as_expr *e, uint32_t i, as_u128 value)
{
	return e->nodes[i].op == AS_EXPR_CONST && e->nodes[i].imm == value;
}

static bool is_full(const struct as_expr *e, uint32_t i)
{
	return is_num(e, i, as_expr_mask(e->nodes[i].width));
}

static uint32_t make_not(struct as_expr *e, uint32_t a)
{
	return as_expr_make(e, NODE(AS_EXPR_NOT, at(e, a)->width, .arg = { a }));
}

static uint32_t extract(struct as_expr *e, uint32_t a, unsigned lowest, unsigned width)
{
	return as_expr_make(e, NODE(AS_EXPR_EXTRACT, width, .arg = { a }, .imm = lowest));
}

/* ---- Parts and wholes ------------------------------------------------------------------------ */

static uint32_t simple_extract(struct as_expr *e, const struct as_expr_node *x)
{
	struct as_expr_node a = *at(e, x->arg[0]);
	unsigned lo = (unsigned)x->imm, w = x->width, w1;

	if (w == a.width)
		return x->arg[0];
	switch (a.op) {
	case AS_EXPR_EXTRACT:
		return extract(e, a.arg[0], lo + (unsigned)a.imm, w);
	case AS_EXPR_CONCAT:
		w1 = at(e, a.arg[1])->width;
		if (lo >= w1)
			return extract(e, a.arg[0], lo - w1, w);
		if (lo + w <= w1)
			return extract(e, a.arg[1], lo, w);
		return as_expr_make(e, NODE(AS_EXPR_CONCAT, w,
					    .arg = { extract(e, a.arg[0], 0, lo + w - w1),
						     extract(e, a.arg[1], lo, w1 - lo) }));
	case AS_EXPR_ZEXT:
	case AS_EXPR_SEXT:
		w1 = at(e, a.arg[0])->width;
		if (lo + w <= w1)
			return extract(e, a.arg[0], lo, w);
		if (a.op == AS_EXPR_ZEXT && lo >= w1)
			return as_expr_const(e, w, 0);
		if (a.op == AS_EXPR_SEXT && lo >= w1 - 1) /* copies of the sign */
			return as_expr_make(e, NODE(AS_EXPR_SEXT, w,
						    .arg = { extract(e, a.arg[0], w1 - 1, 1) }));
		if (!lo)
			return as_expr_make(e, NODE(a.op, w, .arg = { a.arg[0] }));
		break;
	case AS_EXPR_AND:
	case AS_EXPR_OR:
	case AS_EXPR_XOR:
		if (!as_expr_is_const(e, a.arg[0]) && !as_expr_is_const(e, a.arg[1]))
			break;
		return as_expr_make(e, NODE(a.op, w,
					    .arg = { extract(e, a.arg[0], lo, w),
						     extract(e, a.arg[1], lo, w) }));
	case AS_EXPR_LSHR: /* by a known number of bits */
		if (as_expr_is_const(e, a.arg[1]) && at(e, a.arg[1])->imm + lo + w <= a.width)
			return extract(e, a.arg[0], lo + (unsigned)at(e, a.arg[1])->imm, w);
		break;
	case AS_EXPR_SHL:
		if (as_expr_is_const(e, a.arg[1]) && at(e, a.arg[1])->imm <= lo)
			return extract(e, a.arg[0], lo - (unsigned)at(e, a.arg[1])->imm, w);
		break;
	case AS_EXPR_ITE:
		if (!as_expr_is_const(e, a.arg[1]) || !as_expr_is_const(e, a.arg[2]))
			break;
		return as_expr_make(e, NODE(AS_EXPR_ITE, w,
					    .arg = { a.arg[0], extract(e, a.arg[1], lo, w),
						     extract(e, a.arg[2], lo, w) }));
	case AS_EXPR_MUL:
		return as_expr_simple_magic(e, x);
	case AS_EXPR_ADD: /* its low bits need no others */
		if (lo || !as_expr_is_const(e, a.arg[1]))
			break;
		return as_expr_make(
			e, NODE(AS_EXPR_ADD, w,
				.arg = { extract(e, a.arg[0], 0, w), extract(e, a.arg[1], 0, w) }));
	default:
		break;
	}
	return 0;
}

static uint32_t simple_concat(struct as_expr *e, const struct as_expr_node *x)
{
	const struct as_expr_node *hi = at(e, x->arg[0]), *lo = at(e, x->arg[1]);

	if (is_num(e, x->arg[0], 0))
		return as_expr_make(e, NODE(AS_EXPR_ZEXT, x->width, .arg = { x->arg[1] }));
	if (hi->op == AS_EXPR_EXTRACT && lo->op == AS_EXPR_EXTRACT && hi->arg[0] == lo->arg[0] &&
	    lo->imm + lo->width == hi->imm)
		return extract(e, hi->arg[0], (unsigned)lo->imm, x->width);
	if (hi->op == AS_EXPR_ZEXT) {
		uint32_t in = hi->arg[0];
		unsigned w = at(e, in)->width + lo->width;

		return as_expr_make(
			e, NODE(AS_EXPR_ZEXT, x->width,
				.arg = { as_expr_make(e, NODE(AS_EXPR_CONCAT, w,
							      .arg = { in, x->arg[1] })) }));
	}
	return 0;
}

static uint32_t simple_extend(struct as_expr *e, const struct as_expr_node *x)
{
	const struct as_expr_node *a = at(e, x->arg[0]);

	if (a->width == x->width)
		return x->arg[0];
	if (a->op == AS_EXPR_ZEXT)
		return as_expr_make(e, NODE(AS_EXPR_ZEXT, x->width, .arg = { a->arg[0] }));
	if (x->op == AS_EXPR_ZEXT && a->op == AS_EXPR_EXTRACT && !a->imm)
		return as_expr_simple_fits(e, a, x->width);
	if (a->op == AS_EXPR_SEXT && x->op == AS_EXPR_SEXT)
		return as_expr_make(e, NODE(AS_EXPR_SEXT, x->width, .arg = { a->arg[0] }));
	if (x->op == AS_EXPR_SEXT && as_expr_is_positive(e, x->arg[0]))
		return as_expr_make(e, NODE(AS_EXPR_ZEXT, x->width, .arg = { x->arg[0] }));
	return 0;
}

/* ---- Arithmetic with a number; of operations that commute, the number is the second ---------- */

static bool commutes(enum as_expr_op op)
{
	return op == AS_EXPR_ADD || op == AS_EXPR_MUL || op == AS_EXPR_AND || op == AS_EXPR_OR ||
	       op == AS_EXPR_XOR || op == AS_EXPR_EQ;
}

static uint32_t with_self(struct as_expr *e, const struct as_expr_node *x)
{
	switch (x->op) {
	case AS_EXPR_SUB:
	case AS_EXPR_XOR:
		return as_expr_const(e, x->width, 0);
	case AS_EXPR_AND:
	case AS_EXPR_OR:
		return x->arg[0];
	case AS_EXPR_EQ:
	case AS_EXPR_ULE:
	case AS_EXPR_SLE:
		return as_expr_const(e, 1, 1);
	case AS_EXPR_ULT:
	case AS_EXPR_SLT:
		return as_expr_const(e, 1, 0);
	default:
		return 0;
	}
}

/* x AND a mask that ends with ones: a part of x. */
static uint32_t and_mask(struct as_expr *e, uint32_t a, as_u128 mask, unsigned width)
{
	unsigned n = 0;

	if (mask & (mask + 1))
		return 0;
	while (n < width && mask >> n & 1)
		n++;
	return n == width
		       ? a
		       : as_expr_make(e, NODE(AS_EXPR_ZEXT, width, .arg = { extract(e, a, 0, n) }));
}

static uint32_t with_number(struct as_expr *e, const struct as_expr_node *x)
{
	uint32_t a = x->arg[0], b = x->arg[1];
	as_u128 c = at(e, b)->imm;

	switch (x->op) {
	case AS_EXPR_SUB:
		return as_expr_make(e, NODE(AS_EXPR_ADD, x->width,
					    .arg = { a, as_expr_const(e, x->width, -c) }));
	case AS_EXPR_ADD:
		if (!c)
			return a;
		if (at(e, a)->op == AS_EXPR_ADD && as_expr_is_const(e, at(e, a)->arg[1])) {
			as_u128 sum = c + at(e, at(e, a)->arg[1])->imm;
			uint32_t in = at(e, a)->arg[0];

			return as_expr_make(e,
					    NODE(AS_EXPR_ADD, x->width,
						 .arg = { in, as_expr_const(e, x->width, sum) }));
		}
		return 0;
	case AS_EXPR_OR:
		return !c ? a : is_full(e, b) ? b : 0;
	case AS_EXPR_XOR:
		return !c ? a : is_full(e, b) ? make_not(e, a) : 0;
	case AS_EXPR_AND:
		return !c ? b : and_mask(e, a, c, x->width);
	case AS_EXPR_MUL:
		return c == 0 ? b : c == 1 ? a : 0;
	case AS_EXPR_UDIV:
		return c == 1 ? a : !c ? 0 : as_expr_simple_divide(e, x);
	case AS_EXPR_UREM:
		return !c	? a
		       : c == 1 ? as_expr_const(e, x->width, 0)
				: as_expr_simple_divide(e, x);
	case AS_EXPR_SHL:
	case AS_EXPR_LSHR:
	case AS_EXPR_ASHR:
		if (!c)
			return a;
		if ((x->op == AS_EXPR_LSHR ||
		     (x->op == AS_EXPR_ASHR && as_expr_is_positive(e, a))) &&
		    c < x->width)
			return as_expr_make(e, NODE(AS_EXPR_ZEXT, x->width,
						    .arg = { extract(e, a, (unsigned)c,
								     x->width - (unsigned)c) }));
		return c >= x->width && x->op != AS_EXPR_ASHR ? as_expr_const(e, x->width, 0) : 0;
	default:
		return 0;
	}
}

/* ---- Comparisons ----------------------------------------------------------------------------- */

/* The lowest 1 of a is bit n. */
static uint32_t eq_ctz(struct as_expr *e, uint32_t a, as_u128 n)
{
	unsigned w = at(e, a)->width, k = (unsigned)n;

	if (n > w)
		return as_expr_const(e, 1, 0);
	return n == w ? as_expr_op2(e, AS_EXPR_EQ, a, as_expr_const(e, w, 0))
		      : as_expr_op2(e, AS_EXPR_EQ, extract(e, a, 0, k + 1),
				    as_expr_const(e, k + 1, (as_u128)1 << k));
}

/* A number of bits, which may be cut to what is enough for it. */
static bool is_count(const struct as_expr *e, uint32_t a)
{
	enum as_expr_op op = at(e, a)->op;

	return op == AS_EXPR_CLZ || op == AS_EXPR_CTZ || op == AS_EXPR_POPCNT;
}

/* Parts of which one is a number or a bit are compared one by one. */
static uint32_t eq_parts(struct as_expr *e, const struct as_expr_node *x, as_u128 c)
{
	uint32_t hi = x->arg[0], lo = x->arg[1];
	unsigned w = at(e, lo)->width, wh = at(e, hi)->width;

	if (w > 1 && wh > 1 && !as_expr_is_const(e, hi) && !as_expr_is_const(e, lo))
		return 0;
	lo = as_expr_op2(e, AS_EXPR_EQ, lo, as_expr_const(e, w, c));
	hi = as_expr_op2(e, AS_EXPR_EQ, hi, as_expr_const(e, wh, c >> w));
	return as_expr_op2(e, AS_EXPR_AND, hi, lo);
}

static uint32_t eq_number(struct as_expr *e, uint32_t a, as_u128 c)
{
	struct as_expr_node x = *at(e, a);
	unsigned w;

	if (x.width == 1)
		return c ? a : make_not(e, a);
	switch (x.op) {
	case AS_EXPR_ZEXT:
		w = at(e, x.arg[0])->width;
		if (c >> w)
			return as_expr_const(e, 1, 0);
		return as_expr_op2(e, AS_EXPR_EQ, x.arg[0], as_expr_const(e, w, c));
	case AS_EXPR_XOR:
	case AS_EXPR_ADD:
		if (as_expr_is_const(e, x.arg[1])) {
			as_u128 d = at(e, x.arg[1])->imm;

			d = x.op == AS_EXPR_XOR ? c ^ d : c - d;
			return as_expr_op2(e, AS_EXPR_EQ, x.arg[0], as_expr_const(e, x.width, d));
		}
		return !c && x.op == AS_EXPR_XOR ? as_expr_op2(e, AS_EXPR_EQ, x.arg[0], x.arg[1])
						 : 0;
	case AS_EXPR_SUB:
		return !c ? as_expr_op2(e, AS_EXPR_EQ, x.arg[0], x.arg[1]) : 0;
	case AS_EXPR_NOT:
		return as_expr_op2(e, AS_EXPR_EQ, x.arg[0], as_expr_const(e, x.width, ~c));
	case AS_EXPR_ITE:
		if (!as_expr_is_const(e, x.arg[1]) || !as_expr_is_const(e, x.arg[2]))
			return 0;
		if (is_num(e, x.arg[1], c))
			return is_num(e, x.arg[2], c) ? as_expr_const(e, 1, 1) : x.arg[0];
		return is_num(e, x.arg[2], c) ? make_not(e, x.arg[0]) : as_expr_const(e, 1, 0);
	case AS_EXPR_CONCAT:
		return eq_parts(e, &x, c);
	case AS_EXPR_CTZ:
		return eq_ctz(e, x.arg[0], c);
	case AS_EXPR_EXTRACT:
		if (x.imm || x.width < 8 || !is_count(e, x.arg[0]))
			return 0;
		return as_expr_op2(e, AS_EXPR_EQ, x.arg[0],
				   as_expr_const(e, at(e, x.arg[0])->width, c));
	default:
		return 0;
	}
}

/* An extended value is compared with a number: the number is cut, or it decides. */
static uint32_t compare_zext(struct as_expr *e, const struct as_expr_node *x, bool number_first)
{
	uint32_t in = at(e, x->arg[number_first ? 1 : 0])->arg[0];
	as_u128 c = at(e, x->arg[number_first ? 0 : 1])->imm;
	unsigned w = at(e, in)->width, wide = at(e, x->arg[0])->width;
	bool is_signed = x->op == AS_EXPR_SLT || x->op == AS_EXPR_SLE;
	bool or_equal = x->op == AS_EXPR_ULE || x->op == AS_EXPR_SLE;
	uint32_t number;

	if (wide == w)
		return 0;
	if (c >> w) /* larger than all, or less than 0 */
		return as_expr_const(e, 1, number_first == (is_signed && c >> (wide - 1)));
	number = as_expr_const(e, w, c);
	return as_expr_op2(e, or_equal ? AS_EXPR_ULE : AS_EXPR_ULT, number_first ? number : in,
			   number_first ? in : number);
}

static uint32_t simple_compare(struct as_expr *e, const struct as_expr_node *x)
{
	struct as_expr_node a = *at(e, x->arg[0]), b = *at(e, x->arg[1]);
	bool number = b.op == AS_EXPR_CONST;
	uint32_t r = as_expr_simple_bounds(e, x);

	if (r)
		return r;
	if (x->op == AS_EXPR_EQ)
		return number ? eq_number(e, x->arg[0], b.imm) : 0;
	/* Both extended alike: compare what was extended. */
	if (a.op == AS_EXPR_ZEXT && b.op == AS_EXPR_ZEXT &&
	    at(e, a.arg[0])->width == at(e, b.arg[0])->width && a.width > at(e, a.arg[0])->width) {
		enum as_expr_op op = x->op == AS_EXPR_SLT   ? AS_EXPR_ULT
				     : x->op == AS_EXPR_SLE ? AS_EXPR_ULE
							    : (enum as_expr_op)x->op;

		return as_expr_op2(e, op, a.arg[0], b.arg[0]);
	}
	if (a.op == AS_EXPR_ZEXT && number)
		r = compare_zext(e, x, false);
	if (b.op == AS_EXPR_ZEXT && a.op == AS_EXPR_CONST)
		r = compare_zext(e, x, true);
	if (r)
		return r;
	if (number && !b.imm && x->op == AS_EXPR_ULT)
		return as_expr_const(e, 1, 0);
	if (number && !b.imm && x->op == AS_EXPR_ULE)
		return as_expr_op2(e, AS_EXPR_EQ, x->arg[0], x->arg[1]);
	if (a.op == AS_EXPR_CONST && !a.imm && x->op == AS_EXPR_ULE)
		return as_expr_const(e, 1, 1);
	return 0;
}

static uint32_t simple_ite(struct as_expr *e, const struct as_expr_node *x)
{
	if (as_expr_is_const(e, x->arg[0]))
		return at(e, x->arg[0])->imm ? x->arg[1] : x->arg[2];
	if (x->arg[1] == x->arg[2])
		return x->arg[1];
	if (is_num(e, x->arg[1], 1) && is_num(e, x->arg[2], 0))
		return as_expr_make(e, NODE(AS_EXPR_ZEXT, x->width, .arg = { x->arg[0] }));
	if (x->width == 1 && is_num(e, x->arg[1], 0) && is_num(e, x->arg[2], 1))
		return make_not(e, x->arg[0]);
	return 0;
}

/* ---- All ------------------------------------------------------------------------------------- */

static uint32_t simpler(struct as_expr *e, const struct as_expr_node *x)
{
	uint32_t r = 0;

	switch (x->op) {
	case AS_EXPR_EXTRACT:
		return simple_extract(e, x);
	case AS_EXPR_CONCAT:
		return simple_concat(e, x);
	case AS_EXPR_ZEXT:
	case AS_EXPR_SEXT:
		return simple_extend(e, x);
	case AS_EXPR_ITE:
		return simple_ite(e, x);
	case AS_EXPR_NOT:
		return at(e, x->arg[0])->op == AS_EXPR_NOT ? at(e, x->arg[0])->arg[0] : 0;
	case AS_EXPR_NEG:
		return at(e, x->arg[0])->op == AS_EXPR_NEG ? at(e, x->arg[0])->arg[0] : 0;
	default:
		break;
	}
	if (as_expr_op_args(x->op) != 2)
		return 0;
	if (x->arg[0] == x->arg[1])
		r = with_self(e, x);
	if (!r && as_expr_is_const(e, x->arg[1]))
		r = with_number(e, x);
	if (!r && x->op >= AS_EXPR_EQ && x->op <= AS_EXPR_SLE)
		r = simple_compare(e, x);
	if (!r && (x->op == AS_EXPR_ADD || x->op == AS_EXPR_SUB))
		r = as_expr_simple_sum(e, x);
	return r;
}

uint32_t as_expr_simplify(struct as_expr *e, const struct as_expr_node *node)
{
	struct as_expr_node x = *node;
	unsigned n = as_expr_op_args(x.op);
	as_u128 v[3] = { 0 };
	bool known = n > 0;
	uint32_t r;

	for (unsigned i = 0; i < n; i++) {
		known = known && as_expr_is_const(e, x.arg[i]);
		v[i] = at(e, x.arg[i])->imm;
	}
	if (known)
		return as_expr_const(e, x.width, as_expr_compute(e, &x, v));
	if (commutes(x.op) && (as_expr_is_const(e, x.arg[0]) ||
			       (!as_expr_is_const(e, x.arg[1]) && x.arg[0] > x.arg[1]))) {
		uint32_t swap = x.arg[0];

		x.arg[0] = x.arg[1];
		x.arg[1] = swap;
	}
	/* A rule may go down a chain of nodes. */
	if (e->depth >= EXPR_DEPTH_MAX)
		return as_expr_intern(e, &x);
	e->depth++;
	r = simpler(e, &x);
	e->depth--;
	return r ? r : as_expr_intern(e, &x);
}
