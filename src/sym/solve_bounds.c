/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * solve_bounds: the least and the greatest value (without sign) that a node can have, from those of
 * its arguments. They may be too wide, never too narrow.
 */
#include "sym/solve_priv.h"

#define ENTRIES_MAX 512u /* of a table that are looked at */

typedef struct solve_bound bound;

static unsigned bits_in(as_u128 x)
{
	uint64_t high = (uint64_t)(x >> 64), low = (uint64_t)x;

	return high  ? 128 - (unsigned)__builtin_clzll(high)
	       : low ? 64 - (unsigned)__builtin_clzll(low)
		     : 0;
}

/* Bits that are not the same for all values between two. */
static as_u128 loose(bound a)
{
	return as_expr_mask(bits_in(a.lo ^ a.hi));
}

bool as_bounds_product(bound a, bound b, as_u128 mask)
{
	return bits_in(a.hi) + bits_in(b.hi) <= 128 && a.hi * b.hi <= mask;
}

static bound sum(bound a, bound b, as_u128 mask)
{
	/* All of them stay below 2^width, or none does. */
	if (a.hi <= mask - b.hi || a.lo > mask - b.lo)
		return (bound){ (a.lo + b.lo) & mask, (a.hi + b.hi) & mask };
	return (bound){ 0, mask };
}

static bound difference(bound a, bound b, as_u128 mask)
{
	if (a.lo >= b.hi || a.hi < b.lo)
		return (bound){ (a.lo - b.hi) & mask, (a.hi - b.lo) & mask };
	return (bound){ 0, mask };
}

static bound remainder_of(bound a, bound b, as_u128 mask)
{
	bound r = { 0, a.hi };

	if (!b.lo)
		return (bound){ 0, b.hi ? mask : a.hi };
	if (b.lo == b.hi && a.lo / b.lo == a.hi / b.lo)
		return (bound){ a.lo % b.lo, a.hi % b.lo };
	if (r.hi > b.hi - 1)
		r.hi = b.hi - 1;
	return r;
}

static bound bitwise(enum as_expr_op op, bound a, bound b)
{
	as_u128 la = loose(a), lb = loose(b), low, open;

	switch (op) {
	case AS_EXPR_AND:
		open = (la & (b.hi | lb)) | (lb & (a.hi | la));
		low = a.lo & b.lo & ~open;
		break;
	case AS_EXPR_OR:
		open = la | lb;
		low = (a.lo | b.lo) & ~open;
		/* What is 1 in one of them is 1. */
		low |= (a.lo & ~la) | (b.lo & ~lb);
		open &= ~low;
		break;
	default:
		open = la | lb;
		low = (a.lo ^ b.lo) & ~open;
	}
	return (bound){ low, low | open };
}

static bound shifted(const struct as_expr_node *x, bound a, bound n, as_u128 mask)
{
	as_u128 sign = (as_u128)1 << (x->width - 1);
	unsigned k;

	if (n.lo != n.hi || n.lo >= x->width)
		return (bound){ 0, x->op == AS_EXPR_LSHR ? a.hi : mask };
	k = (unsigned)n.lo;
	if (x->op == AS_EXPR_SHL)
		return a.hi <= mask >> k ? (bound){ a.lo << k, a.hi << k } : (bound){ 0, mask };
	if (x->op == AS_EXPR_LSHR || a.hi < sign)
		return (bound){ a.lo >> k, a.hi >> k };
	if (a.lo >= sign)
		return (bound){ (a.lo >> k) | (mask & ~(mask >> k)),
				(a.hi >> k) | (mask & ~(mask >> k)) };
	return (bound){ 0, mask };
}

static bound part(const struct as_expr_node *x, bound a, as_u128 mask)
{
	as_u128 low = a.lo >> x->imm, high = a.hi >> x->imm;

	if ((low & ~mask) != (high & ~mask))
		return (bound){ 0, mask };
	return (bound){ low & mask, high & mask };
}

static bound extended(unsigned from, bound a, as_u128 mask)
{
	as_u128 sign = (as_u128)1 << (from - 1), up = mask & ~as_expr_mask(from);

	if (a.hi < sign)
		return a;
	return a.lo >= sign ? (bound){ a.lo | up, a.hi | up } : (bound){ 0, mask };
}

bound as_bounds_signed(bound a, unsigned width)
{
	as_u128 sign = (as_u128)1 << (width - 1);

	if (a.lo < sign && a.hi >= sign)
		return (bound){ 0, as_expr_mask(width) };
	return (bound){ a.lo ^ sign, a.hi ^ sign };
}

static bound compared(enum as_expr_op op, bound a, bound b, unsigned width)
{
	bool yes, no;

	if (op == AS_EXPR_SLT || op == AS_EXPR_SLE) {
		a = as_bounds_signed(a, width);
		b = as_bounds_signed(b, width);
	}
	switch (op) {
	case AS_EXPR_EQ:
		yes = a.lo == a.hi && b.lo == b.hi && a.lo == b.lo;
		no = a.hi < b.lo || b.hi < a.lo;
		break;
	case AS_EXPR_ULT:
	case AS_EXPR_SLT:
		yes = a.hi < b.lo;
		no = a.lo >= b.hi;
		break;
	default:
		yes = a.hi <= b.lo;
		no = a.lo > b.hi;
	}
	return (bound){ yes, !no };
}

static bound entries(const struct as_expr *e, const struct as_expr_node *x, bound a, as_u128 mask)
{
	bound r = { mask, 0 };

	if (a.hi - a.lo > ENTRIES_MAX)
		return (bound){ 0, mask };
	for (as_u128 off = a.lo;; off++) {
		as_u128 v = as_expr_table_at(e, (uint32_t)x->imm, off, x->width);

		r.lo = v < r.lo ? v : r.lo;
		r.hi = v > r.hi ? v : r.hi;
		if (off == a.hi)
			return r;
	}
}

static bound of_two(const struct as_expr *e, const struct as_expr_node *x, bound a, bound b,
		    as_u128 mask)
{
	unsigned w0 = as_expr_at(e, x->arg[0])->width;

	switch (x->op) {
	case AS_EXPR_ADD:
		return sum(a, b, mask);
	case AS_EXPR_SUB:
		return difference(a, b, mask);
	case AS_EXPR_MUL:
		return as_bounds_product(a, b, mask) ? (bound){ a.lo * b.lo, a.hi * b.hi }
						     : (bound){ 0, mask };
	case AS_EXPR_UDIV:
		return b.lo ? (bound){ a.lo / b.hi, a.hi / b.lo } : (bound){ 0, mask };
	case AS_EXPR_UREM:
		return remainder_of(a, b, mask);
	case AS_EXPR_AND:
	case AS_EXPR_OR:
	case AS_EXPR_XOR:
		return bitwise(x->op, a, b);
	case AS_EXPR_SHL:
	case AS_EXPR_LSHR:
	case AS_EXPR_ASHR:
		return shifted(x, a, b, mask);
	case AS_EXPR_CONCAT: {
		unsigned w = as_expr_at(e, x->arg[1])->width;

		return (bound){ a.lo << w | b.lo, a.hi << w | b.hi };
	}
	case AS_EXPR_EQ:
	case AS_EXPR_ULT:
	case AS_EXPR_ULE:
	case AS_EXPR_SLT:
	case AS_EXPR_SLE:
		return compared(x->op, a, b, w0);
	default:
		return (bound){ 0, mask };
	}
}

bound as_bounds_of(const struct as_expr *e, const struct as_expr_node *x, const bound *all)
{
	bound a = all[x->arg[0]], b = all[x->arg[1]], c = all[x->arg[2]];
	as_u128 mask = as_expr_mask(x->width);
	unsigned n = as_expr_op_args(x->op);

	if (x->op == AS_EXPR_CONST)
		return (bound){ x->imm, x->imm };
	if (n && a.lo == a.hi && (n < 2 || b.lo == b.hi) && (n < 3 || c.lo == c.hi)) {
		const as_u128 v[3] = { a.lo, b.lo, c.lo };
		as_u128 value = as_expr_compute(e, x, v);

		return (bound){ value, value };
	}
	switch (x->op) {
	case AS_EXPR_NOT:
		return (bound){ mask - a.hi, mask - a.lo };
	case AS_EXPR_NEG:
		return a.lo ? (bound){ -a.hi & mask, -a.lo & mask } : (bound){ 0, mask };
	case AS_EXPR_EXTRACT:
		return part(x, a, mask);
	case AS_EXPR_ZEXT:
		return a;
	case AS_EXPR_SEXT:
		return extended(as_expr_at(e, x->arg[0])->width, a, mask);
	case AS_EXPR_ITE:
		if (a.lo == a.hi)
			return a.lo ? b : c;
		return (bound){ b.lo < c.lo ? b.lo : c.lo, b.hi > c.hi ? b.hi : c.hi };
	case AS_EXPR_TABLE:
		return entries(e, x, a, mask);
	case AS_EXPR_CLZ:
	case AS_EXPR_CTZ:
	case AS_EXPR_POPCNT:
		return (bound){ 0, x->width < mask ? x->width : mask };
	default:
		return n == 2 ? of_two(e, x, a, b, mask) : (bound){ 0, mask };
	}
}
