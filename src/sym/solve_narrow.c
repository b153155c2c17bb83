/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * solve_narrow: from the bounds of a node to narrower ones of its arguments (the backward half of
 * HC4, Benhamou et al., ICLP 1999). A value of an argument is only cut off if no value of the node
 * within its bounds can come from it.
 */
#include "sym/solve_priv.h"

typedef struct solve_bound bound;

struct narrowing {
	const struct as_expr *e;
	bound *all;
	bool changed;
};

/* False: nothing is left. */
static bool cut(struct narrowing *n, uint32_t node, as_u128 lo, as_u128 hi)
{
	bound *b = &n->all[node];

	if (lo > b->lo) {
		b->lo = lo;
		n->changed = true;
	}
	if (hi < b->hi) {
		b->hi = hi;
		n->changed = true;
	}
	return b->lo <= b->hi;
}

static bool is_one(bound b)
{
	return b.lo == b.hi;
}

/* The argument plus c, modulo 2^width, is within the bounds. */
static bool cut_round(struct narrowing *n, uint32_t node, as_u128 c, bound to, as_u128 mask)
{
	as_u128 low = (to.lo - c) & mask, high = (to.hi - c) & mask;
	bound at = n->all[node];

	if (to.lo == 0 && to.hi == mask)
		return true;
	if (low <= high)
		return cut(n, node, low, high);
	/* Up to `high`, or from `low` on. */
	if (at.lo > high && !cut(n, node, low, mask))
		return false;
	return n->all[node].hi >= low || cut(n, node, 0, high);
}

static bool cut_sum(struct narrowing *n, const struct as_expr_node *x, bound to, as_u128 mask)
{
	bound a = n->all[x->arg[0]], b = n->all[x->arg[1]];
	as_u128 low, high;

	if (is_one(b))
		return cut_round(n, x->arg[0], b.lo, to, mask);
	if (is_one(a))
		return cut_round(n, x->arg[1], a.lo, to, mask);
	if (a.hi > mask - b.hi)
		return true;
	low = to.lo > b.hi ? to.lo - b.hi : 0;
	high = to.hi < b.lo ? 0 : to.hi - b.lo;
	if (to.hi < b.lo || !cut(n, x->arg[0], low, high))
		return false;
	low = to.lo > a.hi ? to.lo - a.hi : 0;
	return to.hi >= a.lo && cut(n, x->arg[1], low, to.hi - a.lo);
}

static bool cut_difference(struct narrowing *n, const struct as_expr_node *x, bound to,
			   as_u128 mask)
{
	bound a = n->all[x->arg[0]], b = n->all[x->arg[1]];

	if (is_one(b))
		return cut_round(n, x->arg[0], -b.lo & mask, to, mask);
	if (a.lo < b.hi)
		return true;
	/* a = to + b, b = a - to; nothing wraps around. */
	if (!cut(n, x->arg[0], to.lo > mask - b.lo ? mask : to.lo + b.lo,
		 to.hi > mask - b.hi ? mask : to.hi + b.hi))
		return false;
	return a.hi >= to.lo && cut(n, x->arg[1], a.lo > to.hi ? a.lo - to.hi : 0, a.hi - to.lo);
}

static bool cut_product(struct narrowing *n, const struct as_expr_node *x, bound to, as_u128 mask)
{
	bound a = n->all[x->arg[0]], b = n->all[x->arg[1]];

	if (!is_one(b) || !b.lo || !as_bounds_product(a, b, mask))
		return true;
	return cut(n, x->arg[0], to.lo / b.lo + (to.lo % b.lo != 0), to.hi / b.lo);
}

static bool cut_quotient(struct narrowing *n, const struct as_expr_node *x, bound to, as_u128 mask)
{
	bound a = n->all[x->arg[0]], b = n->all[x->arg[1]];

	if (is_one(b) && b.lo) {
		as_u128 c = b.lo;

		if (to.lo > mask / c)
			return false;
		return cut(n, x->arg[0], to.lo * c, to.hi >= mask / c ? mask : to.hi * c + (c - 1));
	}
	/* A number divided by something. */
	if (is_one(a) && b.lo) {
		as_u128 low = to.hi >= a.lo ? 1 : a.lo / (to.hi + 1) + 1;

		return cut(n, x->arg[1], low, to.lo ? a.lo / to.lo : mask);
	}
	return true;
}

static bool cut_remainder(struct narrowing *n, const struct as_expr_node *x, bound to, as_u128 mask)
{
	bound a = n->all[x->arg[0]], b = n->all[x->arg[1]];
	as_u128 c = b.lo, base, low, high;

	if (!is_one(b) || !c)
		return true;
	if (to.lo >= c)
		return false;
	if (to.hi >= c)
		to.hi = c - 1;
	/* The first and the last value with such a remainder. */
	base = a.lo - a.lo % c;
	low = a.lo % c <= to.hi ? (a.lo % c < to.lo ? base + to.lo : a.lo)
	      : base > mask - c || base + c > mask - to.lo ? mask
							   : base + c + to.lo;
	base = a.hi - a.hi % c;
	if (a.hi % c >= to.lo)
		high = a.hi % c > to.hi ? base + to.hi : a.hi;
	else if (base < c)
		return false;
	else
		high = base - c + to.hi;
	return cut(n, x->arg[0], low, high);
}

/* Of 1 bit: the usual logic. Wider: what must be 0 or all ones. */
static bool cut_bits(struct narrowing *n, const struct as_expr_node *x, bound to, as_u128 mask)
{
	uint32_t a = x->arg[0], b = x->arg[1];
	as_u128 neutral = x->op == AS_EXPR_AND ? mask : 0;

	if (x->op == AS_EXPR_XOR) {
		if (is_one(to) && is_one(n->all[b]))
			return cut(n, a, to.lo ^ n->all[b].lo, to.lo ^ n->all[b].lo);
		if (is_one(to) && is_one(n->all[a]))
			return cut(n, b, to.lo ^ n->all[a].lo, to.lo ^ n->all[a].lo);
		return true;
	}
	if (x->op == AS_EXPR_AND) {
		/* Neither is less than what they have in common. */
		if (!cut(n, a, to.lo, mask) || !cut(n, b, to.lo, mask))
			return false;
	} else if (!cut(n, a, 0, to.hi) || !cut(n, b, 0, to.hi)) {
		return false;
	}
	if (is_one(n->all[b]) && n->all[b].lo == neutral)
		return cut(n, a, to.lo, to.hi);
	if (is_one(n->all[a]) && n->all[a].lo == neutral)
		return cut(n, b, to.lo, to.hi);
	return true;
}

static bool cut_shift(struct narrowing *n, const struct as_expr_node *x, bound to, as_u128 mask)
{
	bound a = n->all[x->arg[0]], b = n->all[x->arg[1]];
	unsigned k = (unsigned)b.lo;

	if (!is_one(b) || b.lo >= x->width)
		return true;
	if (x->op == AS_EXPR_LSHR)
		return to.lo <= mask >> k &&
		       cut(n, x->arg[0], to.lo << k,
			   to.hi > mask >> k ? mask : to.hi << k | as_expr_mask(k));
	if (x->op == AS_EXPR_SHL && a.hi <= mask >> k)
		return cut(n, x->arg[0], (to.lo >> k) + ((to.lo & as_expr_mask(k)) != 0),
			   to.hi >> k);
	return true;
}

/* ---- Parts ----------------------------------------------------------------------------------- */

static bool cut_concat(struct narrowing *n, const struct as_expr_node *x, bound to)
{
	unsigned w = as_expr_at(n->e, x->arg[1])->width;
	as_u128 mask = as_expr_mask(w);
	bound a;

	if (!cut(n, x->arg[0], to.lo >> w, to.hi >> w))
		return false;
	a = n->all[x->arg[0]];
	return !is_one(a) || cut(n, x->arg[1], to.lo >> w == a.lo ? to.lo & mask : 0,
				 to.hi >> w == a.lo ? to.hi & mask : mask);
}

static bool cut_extract(struct narrowing *n, const struct as_expr_node *x, bound to)
{
	bound a = n->all[x->arg[0]];
	unsigned low = (unsigned)x->imm, top = low + x->width;
	as_u128 above = top >= 128 ? 0 : a.lo >> top << top;

	if (top < 128 && a.lo >> top != a.hi >> top)
		return true;
	return cut(n, x->arg[0], above | to.lo << low, above | to.hi << low | as_expr_mask(low));
}

static bool cut_extended(struct narrowing *n, const struct as_expr_node *x, bound to)
{
	unsigned w = as_expr_at(n->e, x->arg[0])->width;
	as_u128 sign = (as_u128)1 << (w - 1), mask = as_expr_mask(w);
	as_u128 up = as_expr_mask(x->width) & ~mask;
	bound a = n->all[x->arg[0]];

	if (x->op == AS_EXPR_ZEXT || a.hi < sign || to.hi < sign)
		return cut(n, x->arg[0], to.lo, to.hi);
	if (a.lo >= sign || to.lo >= sign)
		return to.hi >= (sign | up) &&
		       cut(n, x->arg[0], to.lo < (sign | up) ? sign : to.lo & mask, to.hi & mask);
	return true;
}

static bool cut_choice(struct narrowing *n, const struct as_expr_node *x, bound to)
{
	bound b = n->all[x->arg[1]], c = n->all[x->arg[2]], *cond = &n->all[x->arg[0]];

	if ((b.hi < to.lo || b.lo > to.hi) && !cut(n, x->arg[0], 0, 0))
		return false;
	if ((c.hi < to.lo || c.lo > to.hi) && !cut(n, x->arg[0], 1, 1))
		return false;
	return !is_one(*cond) || cut(n, x->arg[cond->lo ? 1 : 2], to.lo, to.hi);
}

#define ENTRIES_MAX 512u

static bool cut_index(struct narrowing *n, const struct as_expr_node *x, bound to)
{
	bound a = n->all[x->arg[0]];
	as_u128 low = a.lo, high = a.hi, v;

	if (a.hi - a.lo > ENTRIES_MAX)
		return true;
	for (; low <= high; low++) {
		v = as_expr_table_at(n->e, (uint32_t)x->imm, low, x->width);
		if (v >= to.lo && v <= to.hi)
			break;
	}
	for (; high > low; high--) {
		v = as_expr_table_at(n->e, (uint32_t)x->imm, high, x->width);
		if (v >= to.lo && v <= to.hi)
			break;
	}
	return low <= high && cut(n, x->arg[0], low, high);
}

/* ---- Comparisons ----------------------------------------------------------------------------- */

static bool cut_unequal(struct narrowing *n, uint32_t a, uint32_t b)
{
	bound one = n->all[b];
	bound at = n->all[a];

	if (!is_one(one) || at.lo > one.lo || at.hi < one.lo)
		return true;
	if (is_one(at))
		return false;
	if (at.lo == one.lo)
		return cut(n, a, at.lo + 1, at.hi);
	return at.hi != one.lo || cut(n, a, at.lo, at.hi - 1);
}

/* From bounds with a sign: those that do not hold both signs can be cut. */
static bool cut_from(struct narrowing *n, uint32_t node, bound to, bool is_signed, unsigned width)
{
	as_u128 sign = (as_u128)1 << (width - 1);

	if (!is_signed)
		return cut(n, node, to.lo, to.hi);
	/* Negative numbers are the lower half of `to`, and the upper one of the node's bounds. */
	if (to.hi < sign)
		return cut(n, node, to.lo | sign, to.hi | sign);
	if (to.lo >= sign)
		return cut(n, node, to.lo ^ sign, to.hi ^ sign);
	return true;
}

/* a < b, or a <= b. */
static bool cut_less(struct narrowing *n, uint32_t a, uint32_t b, bool or_equal, bool is_signed)
{
	unsigned w = as_expr_at(n->e, a)->width;
	bound x = n->all[a], y = n->all[b];
	as_u128 step = or_equal ? 0 : 1, mask = as_expr_mask(w);

	if (is_signed) {
		x = as_bounds_signed(x, w);
		y = as_bounds_signed(y, w);
	}
	if (y.hi < step || x.lo > mask - step || x.lo + step > y.hi)
		return false;
	x.hi = x.hi > y.hi - step ? y.hi - step : x.hi;
	y.lo = y.lo < x.lo + step ? x.lo + step : y.lo;
	return cut_from(n, a, x, is_signed, w) && cut_from(n, b, y, is_signed, w);
}

static bool cut_compare(struct narrowing *n, const struct as_expr_node *x, bound to)
{
	uint32_t a = x->arg[0], b = x->arg[1];
	bool is_signed = x->op == AS_EXPR_SLT || x->op == AS_EXPR_SLE;
	bool or_equal = x->op == AS_EXPR_ULE || x->op == AS_EXPR_SLE;

	if (!is_one(to))
		return true;
	if (x->op == AS_EXPR_EQ)
		return to.lo ? cut(n, a, n->all[b].lo, n->all[b].hi) &&
				       cut(n, b, n->all[a].lo, n->all[a].hi)
			     : cut_unequal(n, a, b) && cut_unequal(n, b, a);
	return to.lo ? cut_less(n, a, b, or_equal, is_signed)
		     : cut_less(n, b, a, !or_equal, is_signed);
}

static bool narrow(struct narrowing *n, const struct as_expr_node *x, bound to)
{
	as_u128 mask = as_expr_mask(x->width);

	switch (x->op) {
	case AS_EXPR_ADD:
		return cut_sum(n, x, to, mask);
	case AS_EXPR_SUB:
		return cut_difference(n, x, to, mask);
	case AS_EXPR_MUL:
		return cut_product(n, x, to, mask);
	case AS_EXPR_UDIV:
		return cut_quotient(n, x, to, mask);
	case AS_EXPR_UREM:
		return cut_remainder(n, x, to, mask);
	case AS_EXPR_AND:
	case AS_EXPR_OR:
	case AS_EXPR_XOR:
		return cut_bits(n, x, to, mask);
	case AS_EXPR_NOT:
		return cut(n, x->arg[0], mask - to.hi, mask - to.lo);
	case AS_EXPR_SHL:
	case AS_EXPR_LSHR:
		return cut_shift(n, x, to, mask);
	case AS_EXPR_CONCAT:
		return cut_concat(n, x, to);
	case AS_EXPR_EXTRACT:
		return cut_extract(n, x, to);
	case AS_EXPR_ZEXT:
	case AS_EXPR_SEXT:
		return cut_extended(n, x, to);
	case AS_EXPR_ITE:
		return cut_choice(n, x, to);
	case AS_EXPR_TABLE:
		return cut_index(n, x, to);
	case AS_EXPR_EQ:
	case AS_EXPR_ULT:
	case AS_EXPR_ULE:
	case AS_EXPR_SLT:
	case AS_EXPR_SLE:
		return cut_compare(n, x, to);
	default:
		return true;
	}
}

bool as_bounds_narrow(const struct as_expr *e, const struct as_expr_node *x, bound to, bound *all,
		      bool *changed)
{
	struct narrowing n = { .e = e, .all = all };
	bool left = narrow(&n, x, to);

	*changed = *changed || n.changed;
	return left;
}
