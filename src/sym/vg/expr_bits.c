/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Simplification of expressions as they are made. Method: local rules, no search. Their aim is that
 * a value that goes to memory byte by byte and comes back is the same node, that shifts and masks
 * of whole bytes vanish, and that a compare names the field it is about. The value of the result is
 * the value of what was asked for (checked by as_vg_check in tests of branches). */
#include "vg.h"

static UInt op_of(Id n)
{
	return as_vg_nodes[n].op;
}

static Id arg(Id n, UInt i)
{
	return i == 0 ? as_vg_nodes[n].a : i == 1 ? as_vg_nodes[n].b : as_vg_nodes[n].c;
}

static Bool is(Id n, Wide value)
{
	return as_vg_is_const(n) && as_vg_value(n) == (value & as_vg_mask(as_vg_width(n)));
}

/* ---- Pieces of bits ------------------------------------------------------------------------ */

static Id extract_concat(UInt width, UInt lo, Id a)
{
	Id high = arg(a, 0), low = arg(a, 1);
	UInt split = as_vg_width(low);

	if (lo >= split)
		return as_vg_extract(width, lo - split, high);
	if (lo + width <= split)
		return as_vg_extract(width, lo, low);
	return as_vg_concat(as_vg_extract(lo + width - split, 0, high),
			    as_vg_extract(split - lo, lo, low));
}

Id as_vg_extract(UInt width, UInt lo, Id a)
{
	Id in = arg(a, 0);

	if (lo == 0 && width == as_vg_width(a))
		return a;
	switch (op_of(a)) {
	case AS_SYM_EXTRACT:
		return as_vg_extract(width, lo + (UInt)as_vg_nodes[a].imm[0], in);
	case AS_SYM_CONCAT:
		return extract_concat(width, lo, a);
	case AS_SYM_ZEXT:
	case AS_SYM_SEXT:
		if (lo + width <= as_vg_width(in))
			return as_vg_extract(width, lo, in);
		if (op_of(a) == AS_SYM_SEXT)
			break;
		if (lo >= as_vg_width(in))
			return as_vg_const(width, 0);
		return as_vg_ext(AS_SYM_ZEXT, width, as_vg_extract(as_vg_width(in) - lo, lo, in));
	case AS_SYM_AND:
	case AS_SYM_OR:
	case AS_SYM_XOR:
		if (!as_vg_is_const(arg(a, 1)) || as_vg_is_opaque(a))
			break;
		return as_vg_bin(op_of(a), as_vg_extract(width, lo, in),
				 as_vg_extract(width, lo, arg(a, 1)));
	case AS_SYM_ADD: /* of a word with a constant, calculated in more bits; bytes are joined */
		if (lo || width <= 8 || !as_vg_is_const(arg(a, 1)) || as_vg_is_opaque(a) ||
		    (op_of(in) != AS_SYM_ZEXT && op_of(in) != AS_SYM_SEXT) ||
		    as_vg_width(arg(in, 0)) != width)
			break;
		return as_vg_bin(AS_SYM_ADD, arg(in, 0), as_vg_extract(width, 0, arg(a, 1)));
	default:
		break;
	}
	return as_vg_raw(AS_SYM_EXTRACT, width, a, 0, 0, lo);
}

/* Are the two extracts of one node, side by side? Then they are one. */
static Id joined(Id high, Id low)
{
	UInt lo;

	if (op_of(high) != AS_SYM_EXTRACT || op_of(low) != AS_SYM_EXTRACT ||
	    arg(high, 0) != arg(low, 0))
		return 0;
	lo = (UInt)as_vg_nodes[low].imm[0];
	if (as_vg_nodes[high].imm[0] != lo + as_vg_width(low))
		return 0;
	return as_vg_extract(as_vg_width(high) + as_vg_width(low), lo, arg(low, 0));
}

/* `high` is made of copies of the sign of `low`. */
static Bool is_sign_of(Id high, Id low)
{
	UInt w = as_vg_width(low);

	if (op_of(high) == AS_SYM_ASHR && arg(high, 0) == low && is(arg(high, 1), w - 1))
		return True;
	return op_of(high) == AS_SYM_EXTRACT && op_of(arg(high, 0)) == AS_SYM_ASHR &&
	       arg(arg(high, 0), 0) == low && is(arg(arg(high, 0), 1), w - 1);
}

Id as_vg_concat(Id high, Id low)
{
	UInt width = as_vg_width(high) + as_vg_width(low);
	Id one;

	if (is(high, 0))
		return as_vg_ext(AS_SYM_ZEXT, width, low);
	if (is_sign_of(high, low))
		return as_vg_ext(AS_SYM_SEXT, width, low);
	one = joined(high, low);
	if (one)
		return one;
	if (op_of(high) == AS_SYM_CONCAT && (one = joined(arg(high, 1), low)))
		return as_vg_concat(arg(high, 0), one);
	if (op_of(high) == AS_SYM_CONCAT && as_vg_is_const(arg(high, 1)) && as_vg_is_const(low))
		return as_vg_concat(arg(high, 0),
				    as_vg_raw(AS_SYM_CONCAT,
					      as_vg_width(arg(high, 1)) + as_vg_width(low),
					      arg(high, 1), low, 0, 0));
	if (op_of(high) == AS_SYM_ZEXT)
		return as_vg_ext(AS_SYM_ZEXT, width, as_vg_concat(arg(high, 0), low));
	return as_vg_raw(AS_SYM_CONCAT, width, high, low, 0, 0);
}

Id as_vg_ext(UInt op, UInt width, Id a)
{
	if (as_vg_width(a) == width)
		return a;
	if (op_of(a) == AS_SYM_ZEXT)
		return as_vg_ext(AS_SYM_ZEXT, width, arg(a, 0));
	if (op == AS_SYM_SEXT && op_of(a) == AS_SYM_SEXT)
		return as_vg_ext(AS_SYM_SEXT, width, arg(a, 0));
	return as_vg_raw(op, width, a, 0, 0, 0);
}

/* ---- Arithmetic ---------------------------------------------------------------------------- */

static Bool commutes(UInt op)
{
	return op == AS_SYM_ADD || op == AS_SYM_MUL || op == AS_SYM_AND || op == AS_SYM_OR ||
	       op == AS_SYM_XOR || op == AS_SYM_EQ;
}

static Id shift_by_const(UInt op, Id a, Id b)
{
	UInt w = as_vg_width(a);
	Wide by = as_vg_value(b);

	if (by == 0)
		return a;
	if (op == AS_SYM_ASHR)
		return 0;
	if (by >= w)
		return as_vg_const(w, 0);
	if (op == AS_SYM_LSHR)
		return as_vg_ext(AS_SYM_ZEXT, w, as_vg_extract(w - (UInt)by, (UInt)by, a));
	return as_vg_concat(as_vg_extract(w - (UInt)by, 0, a), as_vg_const((UInt)by, 0));
}

/* A mask of whole bytes picks bytes; one of the low bits is an extract. */
static Id and_mask(Id a, Id b)
{
	UInt w = as_vg_width(a);
	Wide m = as_vg_value(b);
	Id r = 0;

	if (m == 0)
		return b;
	if (m == as_vg_mask(w))
		return a;
	if ((m & (m + 1)) == 0) {
		UInt bits = 0;

		while (m >> bits & 1)
			bits++;
		return as_vg_ext(AS_SYM_ZEXT, w, as_vg_extract(bits, 0, a));
	}
	if (w % 8)
		return 0;
	for (UInt i = 0; i < w; i += 8)
		if ((m >> i & 0xff) != 0 && (m >> i & 0xff) != 0xff)
			return 0;
	for (UInt i = 0; i < w; i += 8) {
		Id byte = m >> i & 1 ? as_vg_extract(8, i, a) : as_vg_const(8, 0);

		r = r ? as_vg_concat(byte, r) : byte;
	}
	return r;
}

static Bool has_parts(Id n)
{
	return op_of(n) == AS_SYM_CONCAT || op_of(n) == AS_SYM_ZEXT;
}

/* Two values that have no byte in common are one, put together. */
static Id or_parts(Id a, Id b)
{
	UInt w = as_vg_width(a);
	Id r = 0;

	if (w % 8 || w > 64 || !has_parts(a) || !has_parts(b) || as_vg_is_opaque(a) ||
	    as_vg_is_opaque(b))
		return 0;
	for (UInt i = 0; i < w; i += 8)
		if (!is(as_vg_extract(8, i, a), 0) && !is(as_vg_extract(8, i, b), 0))
			return 0;
	for (UInt i = 0; i < w; i += 8) {
		Id x = as_vg_extract(8, i, a);
		Id byte = is(x, 0) ? as_vg_extract(8, i, b) : x;

		r = r ? as_vg_concat(byte, r) : byte;
	}
	return r;
}

static Id with_const(UInt op, Id a, Id b)
{
	UInt w = as_vg_width(a);

	switch (op) {
	case AS_SYM_ADD:
	case AS_SYM_SUB:
		if (is(b, 0))
			return a;
		if (op == AS_SYM_SUB)
			return as_vg_bin(AS_SYM_ADD, a, as_vg_const(w, -as_vg_value(b)));
		if (op_of(a) == AS_SYM_ADD && as_vg_is_const(arg(a, 1)))
			return as_vg_bin(AS_SYM_ADD, arg(a, 0),
					 as_vg_const(w, as_vg_value(arg(a, 1)) + as_vg_value(b)));
		return 0;
	case AS_SYM_MUL:
		return is(b, 0) ? b : is(b, 1) ? a : 0;
	case AS_SYM_UDIV:
	case AS_SYM_SDIV:
		return is(b, 1) ? a : 0;
	case AS_SYM_AND:
		return and_mask(a, b);
	case AS_SYM_OR:
		return is(b, 0) ? a : is(b, ~(Wide)0) ? b : 0;
	case AS_SYM_XOR:
		return is(b, 0) ? a : is(b, ~(Wide)0) ? as_vg_un(AS_SYM_NOT, a) : 0;
	case AS_SYM_SHL:
	case AS_SYM_LSHR:
	case AS_SYM_ASHR:
		return shift_by_const(op, a, b);
	default:
		return 0;
	}
}

static Bool divides(UInt op)
{
	return op >= AS_SYM_UDIV && op <= AS_SYM_SREM;
}

/* Wide divisions of what was extended before are narrow ones, which solvers like better. */
static Id narrow_divide(UInt op, Id a, Id b)
{
	Bool is_signed = op == AS_SYM_SDIV || op == AS_SYM_SREM;
	UInt ext = is_signed ? AS_SYM_SEXT : AS_SYM_ZEXT;
	UInt w = as_vg_width(a), narrow;

	if (op_of(a) != ext)
		return 0;
	narrow = as_vg_width(arg(a, 0));
	if (op_of(b) == ext && as_vg_width(arg(b, 0)) == narrow)
		return as_vg_ext(ext, w, as_vg_bin(op, arg(a, 0), arg(b, 0)));
	if (!is_signed && as_vg_is_const(b) && as_vg_value(b) <= as_vg_mask(narrow))
		return as_vg_ext(ext, w,
				 as_vg_bin(op, arg(a, 0), as_vg_const(narrow, as_vg_value(b))));
	return 0;
}

Id as_vg_bin(UInt op, Id a, Id b)
{
	UInt w = as_vg_width(a);
	Id r = 0;

	tl_assert(as_vg_width(b) == w);
	if (as_vg_is_opaque(a) || as_vg_is_opaque(b))
		return as_vg_raw(op, w, a, b, 0, 0);
	if (commutes(op) && as_vg_is_const(a)) {
		Id t = a;

		a = b;
		b = t;
	}
	if (as_vg_is_const(a))
		return as_vg_raw(op, w, a, b, 0, 0);
	if (as_vg_is_const(b))
		r = with_const(op, a, b);
	else if (a == b && (op == AS_SYM_SUB || op == AS_SYM_XOR))
		r = as_vg_const(w, 0);
	else if (a == b && (op == AS_SYM_AND || op == AS_SYM_OR))
		r = a;
	else if (op == AS_SYM_OR || op == AS_SYM_XOR || op == AS_SYM_ADD)
		r = or_parts(a, b);
	if (!r && divides(op))
		r = narrow_divide(op, a, b);
	return r ? r : as_vg_raw(op, w, a, b, 0, 0);
}

Id as_vg_un(UInt op, Id a)
{
	if (op == AS_SYM_NOT && op_of(a) == AS_SYM_NOT)
		return arg(a, 0);
	return as_vg_raw(op, as_vg_width(a), a, 0, 0, 0);
}

/* ---- Compares ------------------------------------------------------------------------------ */

/* EQ(a, b), b constant. */
static Id eq_const(Id a, Id b)
{
	Wide v = as_vg_value(b);
	Id in = arg(a, 0);

	if (as_vg_width(a) == 1)
		return v ? a : as_vg_un(AS_SYM_NOT, a);
	switch (op_of(a)) {
	case AS_SYM_ZEXT:
		if (v > as_vg_mask(as_vg_width(in)))
			return as_vg_const(1, 0);
		return as_vg_cmp(AS_SYM_EQ, in, as_vg_const(as_vg_width(in), v));
	case AS_SYM_SEXT:
		if (as_vg_eval(AS_SYM_SEXT, as_vg_width(a), as_vg_width(in),
			       v & as_vg_mask(as_vg_width(in)), 0, 0, 0) != v)
			return as_vg_const(1, 0);
		return as_vg_cmp(AS_SYM_EQ, in, as_vg_const(as_vg_width(in), v));
	case AS_SYM_SUB:
	case AS_SYM_XOR:
		return v == 0 ? as_vg_cmp(AS_SYM_EQ, in, arg(a, 1)) : 0;
	case AS_SYM_ADD:
		if (!as_vg_is_const(arg(a, 1)))
			return 0;
		return as_vg_cmp(AS_SYM_EQ, in,
				 as_vg_const(as_vg_width(a), v - as_vg_value(arg(a, 1))));
	case AS_SYM_NOT:
		return as_vg_cmp(AS_SYM_EQ, in, as_vg_const(as_vg_width(a), ~v));
	case AS_SYM_CONCAT:
		if (!as_vg_is_const(arg(a, 1)) && !as_vg_is_const(in))
			return 0;
		return as_vg_bin(
			AS_SYM_AND,
			as_vg_cmp(AS_SYM_EQ, in,
				  as_vg_const(as_vg_width(in), v >> as_vg_width(arg(a, 1)))),
			as_vg_cmp(AS_SYM_EQ, arg(a, 1), as_vg_const(as_vg_width(arg(a, 1)), v)));
	case AS_SYM_ITE:
		if (!as_vg_is_const(arg(a, 1)) || !as_vg_is_const(arg(a, 2)))
			return 0;
		return as_vg_ite(in, as_vg_const(1, as_vg_value(arg(a, 1)) == v),
				 as_vg_const(1, as_vg_value(arg(a, 2)) == v));
	default:
		return 0;
	}
}

static Id unsigned_const(UInt op, Id a, Id b)
{
	Id in = arg(a, 0);
	Wide v;

	if (as_vg_is_const(b)) {
		v = as_vg_value(b);
		if (op == AS_SYM_ULT && v == 0)
			return as_vg_const(1, 0);
		if (op == AS_SYM_ULE && v == as_vg_mask(as_vg_width(a)))
			return as_vg_const(1, 1);
		if (op_of(a) == AS_SYM_ZEXT) {
			if (v > as_vg_mask(as_vg_width(in)))
				return as_vg_const(1, 1);
			return as_vg_cmp(op, in, as_vg_const(as_vg_width(in), v));
		}
	} else if (as_vg_is_const(a) && op_of(b) == AS_SYM_ZEXT) {
		v = as_vg_value(a);
		if (v > as_vg_mask(as_vg_width(arg(b, 0))))
			return as_vg_const(1, 0);
		return as_vg_cmp(op, as_vg_const(as_vg_width(arg(b, 0)), v), arg(b, 0));
	} else if (op_of(a) == AS_SYM_ZEXT && op_of(b) == AS_SYM_ZEXT &&
		   as_vg_width(in) == as_vg_width(arg(b, 0))) {
		return as_vg_cmp(op, in, arg(b, 0));
	}
	return 0;
}

Id as_vg_cmp(UInt op, Id a, Id b)
{
	Id r = 0;
	Bool known;

	tl_assert(as_vg_width(a) == as_vg_width(b));
	if (as_vg_is_opaque(a) || as_vg_is_opaque(b))
		return as_vg_raw(op, 1, a, b, 0, 0);
	if (a == b)
		return as_vg_const(1, op == AS_SYM_EQ || op == AS_SYM_ULE || op == AS_SYM_SLE);
	if (op == AS_SYM_EQ && as_vg_is_const(a)) {
		Id t = a;

		a = b;
		b = t;
	}
	if (op == AS_SYM_EQ && as_vg_is_const(b) && !as_vg_is_const(a))
		r = eq_const(a, b);
	else if (op == AS_SYM_EQ && op_of(a) == op_of(b) &&
		 (op_of(a) == AS_SYM_ZEXT || op_of(a) == AS_SYM_SEXT) &&
		 as_vg_width(arg(a, 0)) == as_vg_width(arg(b, 0)))
		r = as_vg_cmp(op, arg(a, 0), arg(b, 0));
	else if (op == AS_SYM_ULT || op == AS_SYM_ULE)
		r = unsigned_const(op, a, b);
	if (r)
		return r;
	if (as_vg_bounds_decide(op, a, b, &known))
		return as_vg_const(1, known);
	return as_vg_raw(op, 1, a, b, 0, 0);
}

Id as_vg_ite(Id c, Id a, Id b)
{
	tl_assert(as_vg_width(c) == 1 && as_vg_width(a) == as_vg_width(b));
	if (as_vg_is_const(c))
		return as_vg_value(c) ? a : b;
	if (a == b)
		return a;
	if (is(a, 1) && is(b, 0) && as_vg_width(a) == 1)
		return c;
	if (is(a, 0) && is(b, 1) && as_vg_width(a) == 1)
		return as_vg_un(AS_SYM_NOT, c);
	if (as_vg_width(a) > 1 && is(a, ~(Wide)0) && is(b, 0))
		return as_vg_ext(AS_SYM_SEXT, as_vg_width(a), c);
	return as_vg_raw(AS_SYM_ITE, as_vg_width(a), c, a, b, 0);
}

/* ---- Ranges -------------------------------------------------------------------------------- */

static Bool range_const(const struct as_symlog_node *x, ULong *min, ULong *max)
{
	ULong c = as_vg_nodes[x->b].value[0];
	ULong top = (ULong)as_vg_mask(x->width);

	switch (x->op) {
	case AS_SYM_ADD: {
		/* A negative constant takes away; what goes below zero wraps, and tells nothing. */
		ULong low = (*min + c) & top, high = (*max + c) & top;

		if (low > high || high - low != *max - *min)
			return False;
		*min = low;
		*max = high;
		return True;
	}
	case AS_SYM_AND:
		*min = 0;
		*max = c < *max ? c : *max;
		return True;
	case AS_SYM_MUL:
		if (c && *max > top / c)
			return False;
		*min *= c;
		*max *= c;
		return True;
	case AS_SYM_UREM:
		if (!c)
			return False;
		*min = 0;
		*max = c - 1 < *max ? c - 1 : *max;
		return True;
	case AS_SYM_UDIV:
		if (!c)
			return False;
		*min /= c;
		*max /= c;
		return True;
	default:
		return False;
	}
}

static Bool range_pair(const struct as_symlog_node *x, UInt depth, ULong *min, ULong *max)
{
	ULong amin, amax, bmin, bmax, top = (ULong)as_vg_mask(x->width);

	if (!as_vg_range(x->a, depth, &amin, &amax))
		return False;
	if (x->op == AS_SYM_CONCAT) {
		UInt low = as_vg_width(x->b);

		if (!as_vg_range(x->b, depth, &bmin, &bmax))
			return False;
		*min = amin << low | bmin;
		*max = amax << low | bmax;
		return True;
	}
	*min = amin;
	*max = amax;
	if (as_vg_is_const(x->b))
		return range_const(x, min, max);
	if (x->op != AS_SYM_ADD || !as_vg_range(x->b, depth, &bmin, &bmax) || amax > top - bmax)
		return False;
	*min = amin + bmin;
	*max = amax + bmax;
	return True;
}

static Bool range_of(Id n, UInt depth, ULong *min, ULong *max)
{
	const struct as_symlog_node *x = &as_vg_nodes[n];

	if (x->width > 64 || depth > 12)
		return False;
	*min = 0;
	*max = (ULong)as_vg_mask(x->width);
	if (!as_vg_live(n) && !as_vg_is_opaque(n)) {
		*min = *max = x->value[0]; /* the path has fixed it */
		return True;
	}
	switch (x->op) {
	case AS_SYM_CONST:
		*min = *max = x->value[0];
		return True;
	case AS_SYM_EXTRACT: /* of the highest bits: what a bitmap is read by */
		if (x->imm[0] + x->width != as_vg_width(x->a))
			return True;
		if (!as_vg_range(x->a, depth + 1, min, max))
			return False;
		*min >>= x->imm[0];
		*max >>= x->imm[0];
		return True;
	case AS_SYM_ZEXT:
		return as_vg_range(x->a, depth + 1, min, max);
	case AS_SYM_ADD:
	case AS_SYM_AND:
	case AS_SYM_MUL:
	case AS_SYM_UREM:
	case AS_SYM_UDIV:
	case AS_SYM_CONCAT:
		if (range_pair(x, depth + 1, min, max))
			return True;
		*min = 0;
		*max = (ULong)as_vg_mask(x->width);
		return True;
	case AS_SYM_ITE: {
		ULong min2, max2;

		if (!as_vg_range(x->b, depth + 1, min, max) ||
		    !as_vg_range(x->c, depth + 1, &min2, &max2))
			return False;
		*min = min2 < *min ? min2 : *min;
		*max = max2 > *max ? max2 : *max;
		return True;
	}
	default:
		return True;
	}
}

Bool as_vg_range(Id n, UInt depth, ULong *min, ULong *max)
{
	if (!range_of(n, depth, min, max))
		return False;
	as_vg_bounds_narrow(n, min, max);
	return True;
}
