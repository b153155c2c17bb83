/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * expr_divide: simple forms of divisions by a number, and of products with one.
 *
 * Method. A compiler divides by 10 with a multiplication: the high bits of x * 0xcccccccd. It
 * multiplies by 10 with shifts and sums, and gets the remainder as x - x / 10 * 10. A solver needs
 * seconds to look through that, and every printf of a field does it for each digit. Here it becomes
 * a division again, and a comparison of a quotient becomes one of what was divided.
 *
 * Invariants
 *   1. A product becomes a quotient only if that is true for all values of the factor: with
 *      C = (2^k + e) / d and x < 2^n, x * C >> k is x / d if e * (2^n - 1) < 2^k.
 *   2. "Scaled" is meant modulo 2^width: node = base * factor, the base extended with zeros.
 */
#include "sym/expr_priv.h"

#define NODE(o, w, ...) (&(struct as_expr_node){ .op = (o), .width = (uint8_t)(w), __VA_ARGS__ })

static const struct as_expr_node *at(const struct as_expr *e, uint32_t i)
{
	return &e->nodes[i];
}

static unsigned bits_in(as_u128 x)
{
	unsigned n = 0;

	for (; x; x >>= 1)
		n++;
	return n;
}

#define MOST_DEPTH 6u

/* The greatest value that a node may have, at most. */
static as_u128 most(const struct as_expr *e, uint32_t a, unsigned depth)
{
	const struct as_expr_node *x = at(e, a);
	as_u128 all = as_expr_mask(x->width), m, c;

	if (x->op == AS_EXPR_CONST)
		return x->imm;
	if (!depth || !x->arg[0])
		return all;
	m = most(e, x->arg[0], depth - 1);
	c = x->arg[1] && as_expr_is_const(e, x->arg[1]) ? at(e, x->arg[1])->imm : 0;
	switch (x->op) {
	case AS_EXPR_ZEXT:
		return m;
	case AS_EXPR_EXTRACT:
		return m >> x->imm < all ? m >> x->imm : all;
	case AS_EXPR_ADD:
		return c && m <= all - c ? m + c : all;
	case AS_EXPR_MUL:
		return c && m <= all / c ? m * c : all;
	case AS_EXPR_UDIV:
		return c ? m / c : all;
	case AS_EXPR_UREM:
		return c && c - 1 < m ? c - 1 : m;
	case AS_EXPR_CONCAT:
		return m << at(e, x->arg[1])->width | as_expr_mask(at(e, x->arg[1])->width);
	case AS_EXPR_ITE:
		m = most(e, x->arg[1], depth - 1);
		c = most(e, x->arg[2], depth - 1);
		return m > c ? m : c;
	default:
		return all;
	}
}

/* Whether a number with a sign is never negative. */
bool as_expr_is_positive(const struct as_expr *e, uint32_t a)
{
	return most(e, a, MOST_DEPTH) < (as_u128)1 << (at(e, a)->width - 1);
}

/* Cut off, or extended with zeros. */
static uint32_t resize(struct as_expr *e, uint32_t a, unsigned width)
{
	unsigned w = at(e, a)->width;

	return w == width  ? a
	       : w < width ? as_expr_make(e, NODE(AS_EXPR_ZEXT, width, .arg = { a }))
			   : as_expr_make(e, NODE(AS_EXPR_EXTRACT, width, .arg = { a }));
}

static uint32_t by_number(struct as_expr *e, enum as_expr_op op, uint32_t a, as_u128 c)
{
	return as_expr_op2(e, op, a, as_expr_const(e, at(e, a)->width, c));
}

/* ---- Products -------------------------------------------------------------------------------- */

struct scaled {
	uint32_t base;
	as_u128 factor;
};

/* What a node is a multiple of. */
static struct scaled scaled(const struct as_expr *e, uint32_t a, unsigned depth)
{
	const struct as_expr_node *x = at(e, a);
	struct scaled s = { a, 1 };
	unsigned w = x->width;

	if (!depth)
		return s;
	if (x->op == AS_EXPR_ZEXT) {
		unsigned in = at(e, x->arg[0])->width;

		s = scaled(e, x->arg[0], depth - 1);
		/* The product must not lose bits where it is narrow. */
		if (bits_in(s.factor) + at(e, s.base)->width > 127 ||
		    as_expr_mask(at(e, s.base)->width) * s.factor > as_expr_mask(in))
			s = (struct scaled){ x->arg[0], 1 };
	} else if (x->op == AS_EXPR_MUL && as_expr_is_const(e, x->arg[1])) {
		s = scaled(e, x->arg[0], depth - 1);
		s.factor *= at(e, x->arg[1])->imm;
	} else if (x->op == AS_EXPR_CONCAT && as_expr_is_const(e, x->arg[1]) &&
		   !at(e, x->arg[1])->imm) {
		s = scaled(e, x->arg[0], depth - 1);
		s.factor <<= at(e, x->arg[1])->width;
	} else if (x->op == AS_EXPR_SHL && as_expr_is_const(e, x->arg[1]) &&
		   at(e, x->arg[1])->imm < w) {
		s = scaled(e, x->arg[0], depth - 1);
		s.factor <<= at(e, x->arg[1])->imm;
	} else if (x->op == AS_EXPR_EXTRACT && !x->imm) {
		s = scaled(e, x->arg[0], depth - 1);
	}
	s.factor &= as_expr_mask(w);
	return s;
}

#define SCALED_DEPTH 6u

static struct scaled scaled_in(const struct as_expr *e, uint32_t a)
{
	struct scaled s = scaled(e, a, SCALED_DEPTH);

	return at(e, s.base)->width <= at(e, a)->width ? s : (struct scaled){ a, 1 };
}

/* Whether `part` is `whole` / d. */
static bool is_quotient(const struct as_expr *e, uint32_t part, uint32_t whole, as_u128 d)
{
	const struct as_expr_node *q = at(e, part), *x = at(e, whole);

	if (q->op != AS_EXPR_UDIV || !as_expr_is_const(e, q->arg[1]) || d < 2)
		return false;
	if (q->arg[0] == whole)
		return at(e, q->arg[1])->imm == d;
	return x->op == AS_EXPR_UDIV && as_expr_is_const(e, x->arg[1]) && x->arg[0] == q->arg[0] &&
	       bits_in(at(e, x->arg[1])->imm) + bits_in(d) < 128 &&
	       at(e, q->arg[1])->imm == at(e, x->arg[1])->imm * d;
}

/* An extended value plus a number that the narrow one can take, too. */
static uint32_t narrow_sum(struct as_expr *e, const struct as_expr_node *x)
{
	const struct as_expr_node *a = at(e, x->arg[0]);
	as_u128 c = at(e, x->arg[1])->imm, all;

	if (x->op != AS_EXPR_ADD || a->op != AS_EXPR_ZEXT || !as_expr_is_const(e, x->arg[1]))
		return 0;
	all = as_expr_mask(at(e, a->arg[0])->width);
	if (c > all || most(e, a->arg[0], MOST_DEPTH) > all - c)
		return 0;
	return resize(e, by_number(e, AS_EXPR_ADD, a->arg[0], c), x->width);
}

uint32_t as_expr_simple_sum(struct as_expr *e, const struct as_expr_node *x)
{
	struct scaled a = scaled_in(e, x->arg[0]), b = scaled_in(e, x->arg[1]);
	as_u128 mask = as_expr_mask(x->width), minus = -b.factor & mask;

	if (as_expr_is_const(e, a.base) || as_expr_is_const(e, b.base))
		return narrow_sum(e, x);
	if (x->op == AS_EXPR_SUB)
		minus = b.factor;
	if (a.base == b.base)
		return by_number(e, AS_EXPR_MUL, resize(e, a.base, x->width),
				 (x->op == AS_EXPR_SUB ? a.factor - minus : a.factor + b.factor) &
					 mask);
	/* x - x / d * d */
	if (a.factor == 1 && is_quotient(e, b.base, a.base, minus))
		return resize(e, by_number(e, AS_EXPR_UREM, a.base, minus), x->width);
	if (b.factor == 1 && x->op == AS_EXPR_ADD &&
	    is_quotient(e, a.base, b.base, -a.factor & mask))
		return resize(e, by_number(e, AS_EXPR_UREM, b.base, -a.factor & mask), x->width);
	return 0;
}

/* ---- Quotients ------------------------------------------------------------------------------- */

uint32_t as_expr_simple_magic(struct as_expr *e, const struct as_expr_node *x)
{
	const struct as_expr_node *mul = at(e, x->arg[0]);
	unsigned k = (unsigned)x->imm, n;
	as_u128 c, d, over;
	uint32_t in;

	if (mul->op != AS_EXPR_MUL || !as_expr_is_const(e, mul->arg[1]) ||
	    at(e, mul->arg[0])->op != AS_EXPR_ZEXT)
		return 0;
	in = at(e, mul->arg[0])->arg[0];
	c = at(e, mul->arg[1])->imm;
	n = bits_in(most(e, in, MOST_DEPTH));
	/* The product has all its bits, and numbers below fit. */
	if (n + bits_in(c) > mul->width || k < n || k > 120 || bits_in(c) > 120 || !c)
		return 0;
	d = (((as_u128)1 << k) + c - 1) / c;
	if (d < 2)
		return 0;
	over = c * d - ((as_u128)1 << k);
	if (over && bits_in(over) + n > k)
		return 0;
	if (d > as_expr_mask(at(e, in)->width))
		return as_expr_const(e, x->width, 0);
	return resize(e, by_number(e, AS_EXPR_UDIV, in, d), x->width);
}

/* A quotient that was cut to as many bits as it has, and is extended again. */
uint32_t as_expr_simple_fits(struct as_expr *e, const struct as_expr_node *cut, unsigned width)
{
	const struct as_expr_node *q = at(e, cut->arg[0]);

	if (q->op != AS_EXPR_UDIV || !as_expr_is_const(e, q->arg[1]) || !at(e, q->arg[1])->imm ||
	    as_expr_mask(q->width) / at(e, q->arg[1])->imm > as_expr_mask(cut->width) ||
	    q->width > width)
		return 0;
	return resize(e, cut->arg[0], width);
}

/* By a number that is not 0 or 1. */
uint32_t as_expr_simple_divide(struct as_expr *e, const struct as_expr_node *x)
{
	const struct as_expr_node a = *at(e, x->arg[0]);
	as_u128 c = at(e, x->arg[1])->imm;
	bool quotient = x->op == AS_EXPR_UDIV;
	unsigned w, shift = bits_in(c) - 1;

	if (!(c & (c - 1))) {
		uint32_t part =
			as_expr_make(e, NODE(AS_EXPR_EXTRACT, quotient ? x->width - shift : shift,
					     .arg = { x->arg[0] }, .imm = quotient ? shift : 0));

		return resize(e, part, x->width);
	}
	if (a.op == AS_EXPR_ZEXT) {
		w = at(e, a.arg[0])->width;
		if (c > as_expr_mask(w))
			return quotient ? as_expr_const(e, x->width, 0) : x->arg[0];
		return resize(e, by_number(e, x->op, a.arg[0], c), x->width);
	}
	if (quotient && a.op == AS_EXPR_UDIV && as_expr_is_const(e, a.arg[1]) &&
	    at(e, a.arg[1])->imm) {
		as_u128 d = at(e, a.arg[1])->imm;

		if (c > as_expr_mask(x->width) / d)
			return as_expr_const(e, x->width, 0);
		return by_number(e, AS_EXPR_UDIV, a.arg[0], c * d);
	}
	return 0;
}

/* low <= x, and x <= high; the bounds are numbers of 128 bits. */
static uint32_t at_least(struct as_expr *e, uint32_t x, as_u128 low)
{
	unsigned w = at(e, x)->width;

	if (!low || low > as_expr_mask(w))
		return as_expr_const(e, 1, !low);
	return as_expr_op2(e, AS_EXPR_ULE, as_expr_const(e, w, low), x);
}

static uint32_t at_most(struct as_expr *e, uint32_t x, as_u128 high)
{
	unsigned w = at(e, x)->width;

	if (high >= as_expr_mask(w))
		return as_expr_const(e, 1, 1);
	return as_expr_op2(e, AS_EXPR_ULE, x, as_expr_const(e, w, high));
}

static bool is_divided(const struct as_expr *e, uint32_t a)
{
	return at(e, a)->op == AS_EXPR_UDIV && as_expr_is_const(e, at(e, a)->arg[1]) &&
	       at(e, at(e, a)->arg[1])->imm && at(e, a)->width <= 64;
}

/* A quotient is compared with a number. */
uint32_t as_expr_simple_bounds(struct as_expr *e, const struct as_expr_node *x)
{
	bool first = is_divided(e, x->arg[0]) && as_expr_is_const(e, x->arg[1]);
	bool second = is_divided(e, x->arg[1]) && as_expr_is_const(e, x->arg[0]);
	as_u128 k, c;
	uint32_t in;

	if (!first && !second)
		return 0;
	k = at(e, x->arg[first ? 1 : 0])->imm;
	c = at(e, at(e, x->arg[first ? 0 : 1])->arg[1])->imm;
	in = at(e, x->arg[first ? 0 : 1])->arg[0];
	switch (x->op) {
	case AS_EXPR_EQ: {
		as_u128 mask = as_expr_mask(at(e, in)->width);

		if (k * c > mask)
			return as_expr_const(e, 1, 0);
		/* The last quotient may have fewer numbers. */
		if (k * c + c - 1 >= mask)
			return at_least(e, in, k * c);
		return at_most(e, by_number(e, AS_EXPR_ADD, in, -(k * c) & mask), c - 1);
	}
	case AS_EXPR_ULE:
		return first ? at_most(e, in, k * c + c - 1) : at_least(e, in, k * c);
	case AS_EXPR_ULT:
		if (first && !k)
			return as_expr_const(e, 1, 0);
		return first ? at_most(e, in, k * c - 1) : at_least(e, in, (k + 1) * c);
	default:
		return 0;
	}
}
