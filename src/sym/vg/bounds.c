/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the path says about the size of values.
 *
 * Method: a branch on a compare with a constant bounds the other side, as an unsigned number and
 * as a signed one. A later compare that follows from the bounds is no branch. A loop up to a
 * symbolic count therefore costs a bound for each turn, and at its end the count is known.
 *
 * Invariants
 *  1. Bounds follow from the events in the log, and from those that as_vg_bounds_flush will add.
 *  2. `top` values are stored as their distance from the greatest number: zero memory is no
 *     bound. */
#include "pub_tool_aspacemgr.h"
#include "vg.h"

struct bounds {
	ULong low, top; /* unsigned: low <= x <= max - top */
	ULong slow, stop; /* signed, both moved so that the least number is 0 */
};

#define HELD_MAX 4096
#define PASS_MAX 4

static struct bounds *all;
static Id held[HELD_MAX]; /* bounds of these are not in the log yet */
static UInt held_count;

void as_vg_bounds_start(void)
{
	if (!all)
		all = VG_(am_shadow_alloc)(as_vg_head->nodes_room * sizeof *all);
	held_count = 0;
}

/* A compare with a constant: `x` and what the compare says of it. */
struct fact {
	Id x;
	UInt width;
	Bool is_signed, is_eq;
	Bool is_upper; /* x <= value, else value <= x */
	ULong value;
};

static ULong max_of(UInt width)
{
	return (ULong)as_vg_mask(width);
}

static ULong flip(UInt width, ULong v)
{
	return v ^ 1ull << (width - 1);
}

/* Reads the compare `n`, which is `holds`. False if it says nothing that bounds can hold. */
static Bool read_fact(UInt op, Id a, Id b, Bool holds, struct fact *f)
{
	Bool swap = as_vg_is_const(a), strict = op == AS_SYM_ULT || op == AS_SYM_SLT;
	ULong v;

	if (as_vg_is_const(a) == as_vg_is_const(b) || as_vg_width(a) > 64 || as_vg_width(a) < 2)
		return False;
	f->x = swap ? b : a;
	f->width = as_vg_width(a);
	f->is_signed = op == AS_SYM_SLT || op == AS_SYM_SLE;
	f->is_eq = op == AS_SYM_EQ;
	v = (ULong)as_vg_value(swap ? a : b);
	if (f->is_signed)
		v = flip(f->width, v);
	f->value = v;
	if (f->is_eq)
		return True;
	/* x < v, x <= v, v < x, v <= x, or the opposite of one of them */
	f->is_upper = swap != holds;
	if (strict == holds) {
		/* x < v is x <= v - 1; v < x is v + 1 <= x */
		if (f->is_upper && v == 0)
			return False;
		if (!f->is_upper && v == max_of(f->width))
			return False;
		f->value = f->is_upper ? v - 1 : v + 1;
	}
	return True;
}

static void raise(ULong *to, ULong v)
{
	if (v > *to)
		*to = v;
}

static void learn(const struct fact *f)
{
	struct bounds *b = &all[f->x];
	ULong max = max_of(f->width), half = max >> 1;

	if (f->is_upper)
		raise(f->is_signed ? &b->stop : &b->top, max - f->value);
	else
		raise(f->is_signed ? &b->slow : &b->low, f->value);
	if (b->slow > half) { /* not negative: what is signed is unsigned, too */
		raise(&b->low, flip(f->width, b->slow));
		raise(&b->top, max - flip(f->width, max - b->stop));
	}
	if (max - b->top <= half) {
		raise(&b->slow, flip(f->width, b->low));
		raise(&b->stop, max - flip(f->width, max - b->top));
	}
}

/* What is known of x + constant, or of a wider x, is known of x, and what is known of a word is
 * known of its higher part: compilers test whether x lies between two numbers by one compare of a
 * difference, and bitmaps are read by the higher bits. */
static void pass_on(Id n)
{
	for (UInt depth = 0; depth < PASS_MAX; depth++) {
		const struct as_symlog_node *x = &as_vg_nodes[n];
		const struct bounds *b = &all[n];
		ULong max = max_of(x->width), by = 0, high = max - b->top;
		struct fact f = { .x = x->a, .value = b->low };
		UInt down = 0;

		if (x->op == AS_SYM_CONCAT)
			down = as_vg_width(x->b);
		else if (x->op == AS_SYM_ADD && as_vg_is_const(x->b))
			by = (ULong)as_vg_value(x->b);
		else if (x->op != AS_SYM_ZEXT)
			return;
		f.width = as_vg_width(x->a);
		if (f.width < 2 || as_vg_is_const(x->a))
			return;
		f.value = ((f.value - by) & max) >> down;
		high = ((high - by) & max) >> down;
		if (f.value > high || high > max_of(f.width))
			return;
		learn(&f);
		f.is_upper = True;
		f.value = high;
		learn(&f);
		n = x->a;
	}
}

/* x is not `value`: this helps where the value is at the edge. */
static void learn_not(const struct fact *f)
{
	struct bounds *b = &all[f->x];
	ULong max = max_of(f->width);

	if (f->value == b->low)
		raise(&b->low, f->value + 1);
	else if (f->value == max - b->top)
		raise(&b->top, max - f->value + 1);
}

Bool as_vg_bounds_decide(UInt op, Id a, Id b, Bool *answer)
{
	struct fact f;
	const struct bounds *k;
	ULong low, high, max;

	if (!read_fact(op, a, b, True, &f))
		return False;
	k = &all[f.x];
	max = max_of(f.width);
	low = f.is_signed ? k->slow : k->low;
	high = max - (f.is_signed ? k->stop : k->top);
	if (f.is_eq) {
		*answer = False;
		return f.value < low || f.value > high;
	}
	if (f.is_upper ? high <= f.value : low >= f.value) {
		*answer = True;
		return True;
	}
	*answer = False;
	return f.is_upper ? low > f.value : high < f.value;
}

/* The path has fixed `width` bits of `n`; the highest ones bound it. */
void as_vg_bounds_high(Id n, UInt from, UInt width, ULong bits)
{
	UInt w = as_vg_width(n);
	struct fact f = { .x = n, .width = w, .value = bits << from };

	if (w > 64 || w < 2 || from + width != w)
		return;
	learn(&f);
	f.is_upper = True;
	f.value |= max_of(from);
	learn(&f);
}

/* Makes a range narrower by what the path says. */
void as_vg_bounds_narrow(Id n, ULong *min, ULong *max)
{
	const struct bounds *b = &all[n];
	ULong top = max_of(as_vg_width(n)) - b->top;

	if (b->low > *min)
		*min = b->low;
	if (top < *max)
		*max = top;
}

/* The branch on `n` had this outcome. Returns x if its value is known now, else 0. `bound` says
 * whether bounds hold all of what the branch says. */
Id as_vg_bounds_learn(Id n, Bool taken, Bool *bound, Id *about)
{
	struct fact f;
	struct bounds *b;

	*bound = False;
	while (as_vg_nodes[n].op == AS_SYM_NOT) {
		n = as_vg_nodes[n].a;
		taken = !taken;
	}
	if (as_vg_nodes[n].op < AS_SYM_EQ || as_vg_nodes[n].op > AS_SYM_SLE ||
	    !read_fact(as_vg_nodes[n].op, as_vg_nodes[n].a, as_vg_nodes[n].b, taken, &f))
		return 0;
	if (f.is_eq) {
		if (taken)
			return 0; /* path.c fixes it */
		b = &all[f.x];
		*bound = f.value == b->low || f.value == max_of(f.width) - b->top;
		learn_not(&f);
	} else {
		learn(&f);
		*bound = True;
	}
	pass_on(f.x);
	*about = f.x;
	b = &all[f.x];
	return b->low == max_of(f.width) - b->top || b->slow == max_of(f.width) - b->stop ? f.x : 0;
}

/* The bounds of `x` say something that is not in the log. */
Bool as_vg_bounds_hold(Id x)
{
	for (UInt i = 0; i < held_count; i++)
		if (held[i] == x)
			return True;
	if (held_count == HELD_MAX)
		return False;
	held[held_count++] = x;
	return True;
}

/* Calls `f` for each bound that is held, as a node that is true. */
void as_vg_bounds_flush(void (*f)(Id n))
{
	for (UInt i = 0; i < held_count; i++) {
		Id x = held[i];
		UInt w = as_vg_width(x);
		const struct bounds b = all[x];
		ULong max = max_of(w);

		if (b.low)
			f(as_vg_raw(AS_SYM_ULE, 1, as_vg_const(w, b.low), x, 0, 0));
		if (b.top)
			f(as_vg_raw(AS_SYM_ULE, 1, x, as_vg_const(w, max - b.top), 0, 0));
		if (b.slow)
			f(as_vg_raw(AS_SYM_SLE, 1, as_vg_const(w, flip(w, b.slow)), x, 0, 0));
		if (b.stop)
			f(as_vg_raw(AS_SYM_SLE, 1, x, as_vg_const(w, flip(w, max - b.stop)), 0, 0));
	}
	held_count = 0;
}
