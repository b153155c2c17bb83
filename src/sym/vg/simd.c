/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Vectors, byte by byte. Method: a vector is 8, 16 or 32 bytes, each with a node or without. An
 * operation on lanes puts a lane's bytes together, calculates, and takes the result apart; lanes
 * without a symbolic byte are calculated as numbers only. */
#include "simd.h"
#include "code.h"

Bool as_vg_model_is_vec(const struct op *op)
{
	return op->model > M_VEC;
}

static Bool lane_symbolic(const struct vec *v, UInt from, UInt bytes)
{
	for (UInt i = 0; i < bytes; i++)
		if (v->id[from + i])
			return True;
	return False;
}

static ULong lane_real(const struct vec *v, UInt from, UInt bytes)
{
	ULong r = 0;

	for (UInt i = bytes; i-- > 0;)
		r = r << 8 | v->real[from + i];
	return r;
}

static Id lane_node(const struct vec *v, UInt from, UInt bytes)
{
	Id r = 0;

	for (UInt i = bytes; i-- > 0;) {
		Id b = v->id[from + i] ? v->id[from + i] : as_vg_const(8, v->real[from + i]);

		r = r ? as_vg_concat(r, b) : b;
	}
	return r;
}

static void set_lane(struct vec *v, UInt from, UInt bytes, ULong real, Id n)
{
	for (UInt i = 0; i < bytes; i++) {
		Id b = n ? as_vg_extract(8, i * 8, n) : 0;

		v->real[from + i] = real >> 8 * i;
		v->id[from + i] = as_vg_live(b) ? b : 0;
	}
}

struct lane_op {
	const struct op *op;
	UInt width;
	UInt count; /* of a shift */
};

static ULong lane_value(const struct lane_op *p, ULong x, ULong y)
{
	UInt w = p->width, sym = p->op->sym;
	Wide all = as_vg_mask(w);

	switch (p->op->model) {
	case M_VBIN:
		return (ULong)as_vg_eval(sym, w, w, x, y, 0, 0);
	case M_VNOT:
		return (ULong)(~x & all);
	case M_VNEZ:
		return x ? (ULong)all : 0;
	case M_VSHIFT:
		return (ULong)as_vg_eval(sym, w, w, x, p->count, 0, 0);
	case M_VCMP:
		return p->op->how & 2 ? (as_vg_eval(sym, 1, w, y, x, 0, 0) ? (ULong)all : 0)
				      : (as_vg_eval(sym, 1, w, x, y, 0, 0) ? (ULong)all : 0);
	default: /* M_VPICK */
		return as_vg_eval(sym, 1, w, x, y, 0, 0) != ((p->op->how & 2) != 0) ? x : y;
	}
}

static Id lane_expr(const struct lane_op *p, Id x, Id y)
{
	UInt w = p->width, sym = p->op->sym;
	Id ones = as_vg_const(w, ~(Wide)0), zero = as_vg_const(w, 0), c;

	switch (p->op->model) {
	case M_VBIN:
		return as_vg_bin(sym, x, y);
	case M_VNOT:
		return as_vg_un(AS_SYM_NOT, x);
	case M_VNEZ:
		return as_vg_ite(as_vg_cmp(AS_SYM_EQ, x, zero), zero, ones);
	case M_VSHIFT:
		return as_vg_bin(sym, x, as_vg_const(w, p->count));
	case M_VCMP:
		c = p->op->how & 2 ? as_vg_cmp(sym, y, x) : as_vg_cmp(sym, x, y);
		return as_vg_ite(c, ones, zero);
	default: /* M_VPICK: the lesser, or with `how` the greater */
		c = as_vg_cmp(sym, x, y);
		return p->op->how & 2 ? as_vg_ite(c, y, x) : as_vg_ite(c, x, y);
	}
}

static void lanes(const struct op *op, const struct ins *in, UInt bytes, struct vec *out)
{
	struct lane_op p = { .op = op, .width = op->lane };
	Bool two = op->model == M_VBIN || op->model == M_VCMP || op->model == M_VPICK;
	struct vec a, b;
	UInt n = op->lane / 8;

	as_vg_ref_vec(in->a, &a);
	if (two)
		as_vg_ref_vec(in->b, &b);
	else if (op->model == M_VSHIFT) {
		if (as_vg_ref_id(in->b))
			as_vg_pin(as_vg_ref_id(in->b), AS_SYMLOG_WHY_DROPPED, as_vg_replay_site());
		p.count = (UInt)as_vg_ref_value(in->b);
	}
	for (UInt i = 0; i < bytes; i += n) {
		ULong x = lane_real(&a, i, n), y = two ? lane_real(&b, i, n) : 0;
		Id node = 0;

		if (lane_symbolic(&a, i, n) || (two && lane_symbolic(&b, i, n)))
			node = lane_expr(&p, lane_node(&a, i, n), two ? lane_node(&b, i, n) : 0);
		set_lane(out, i, n, lane_value(&p, x, y), node);
	}
}

/* From which operand and byte the byte `i` of the result comes; -1: it is zero. */
static Int source(const struct op *op, UInt i, UInt bytes)
{
	UInt n = op->lane, lane = op->lane / 8, half = bytes / 2;

	switch (op->how) {
	case B_LOW:
		return (Int)(n + i);
	case B_KEEP:
		return i < n ? (Int)i : -1;
	case B_SETLOW:
		return i < n ? (Int)(32 + i) : (Int)i;
	case B_JOIN:
		return i < n ? (Int)(32 + i) : (Int)(i - n);
	case B_JOIN4:
		return (Int)(32 * (3 - i / 8) + i % 8);
	case B_WEAVE_LOW:
	case B_WEAVE_HIGH: {
		UInt from = i / lane / 2 * lane + i % lane;

		from += op->how == B_WEAVE_HIGH ? half : 0;
		return (Int)(i / lane % 2 ? from : 32 + from);
	}
	default: { /* B_EVEN */
		UInt k = i % half;

		return (Int)((i < half ? 32 : 0) + k / lane * 2 * lane + k % lane);
	}
	}
}

static void moves(const struct op *op, const struct ins *in, UInt bytes, struct vec *out)
{
	struct vec v[4];

	as_vg_ref_vec(in->a, &v[0]);
	if (in->b != NO_REF)
		as_vg_ref_vec(in->b, &v[1]);
	if (in->c != NO_REF)
		as_vg_ref_vec(in->c, &v[2]);
	if (in->d != NO_REF)
		as_vg_ref_vec(in->d, &v[3]);
	for (UInt i = 0; i < bytes; i++) {
		Int s = source(op, i, bytes);

		out->id[i] = s < 0 ? 0 : v[s / 32].id[s % 32];
		out->real[i] = s < 0 ? 0 : v[s / 32].real[s % 32];
	}
}

static void sign_bits(const struct op *op, const struct ins *in, struct vec *out)
{
	struct vec a;
	UInt bits = 0;
	Id n = 0;
	Bool any = False;

	as_vg_ref_vec(in->a, &a);
	for (UInt i = op->lane; i-- > 0;) {
		Id b = a.id[i] ? as_vg_extract(1, 7, a.id[i]) : as_vg_const(1, a.real[i] >> 7);

		any |= a.id[i] != 0;
		n = n ? as_vg_concat(n, b) : b;
		bits = bits << 1 | a.real[i] >> 7;
	}
	set_lane(out, 0, op->lane / 8, bits, any ? n : 0);
}

static void pin_vec(struct vec *v, UInt bytes)
{
	for (UInt i = 0; i < bytes; i++)
		if (v->id[i])
			as_vg_pin(v->id[i], AS_SYMLOG_WHY_DROPPED, as_vg_replay_site());
}

static void permute(const struct op *op, const struct ins *in, UInt bytes, struct vec *out)
{
	struct vec a, by;

	as_vg_ref_vec(in->a, &a);
	as_vg_ref_vec(in->b, &by);
	pin_vec(&by, bytes);
	for (UInt i = 0; i < bytes; i++) {
		UInt from = by.real[i] & (bytes - 1);
		Bool zero = op->how && by.real[i] & 0x80;

		out->id[i] = zero ? 0 : a.id[from];
		out->real[i] = zero ? 0 : a.real[from];
	}
}

/* Shifts of all 128 bits; what x86 has is by whole bytes. */
static void whole(const struct op *op, const struct ins *in, UInt bytes, struct vec *out)
{
	struct vec a;
	UInt by = (UInt)as_vg_ref_value(in->b) & 0xff;

	if (as_vg_ref_id(in->b))
		as_vg_pin(as_vg_ref_id(in->b), AS_SYMLOG_WHY_DROPPED, as_vg_replay_site());
	as_vg_ref_vec(in->a, &a);
	tl_assert(by % 8 == 0);
	by /= 8;
	for (UInt i = 0; i < bytes; i++) {
		Int from = op->sym == AS_SYM_SHL ? (Int)i - (Int)by : (Int)(i + by);
		Bool in_it = from >= 0 && from < (Int)bytes;

		out->id[i] = in_it ? a.id[from] : 0;
		out->real[i] = in_it ? a.real[from] : 0;
	}
}

void as_vg_model_vec(const struct op *op, const struct ins *in, struct vec *out)
{
	UInt bytes = as_vg_type_bytes(in->type);

	switch (op->model) {
	case M_VBYTES:
		moves(op, in, bytes, out);
		return;
	case M_VMSB:
		sign_bits(op, in, out);
		return;
	case M_VPERM:
		permute(op, in, bytes, out);
		return;
	case M_VWHOLE:
		whole(op, in, bytes, out);
		return;
	default:
		lanes(op, in, bytes, out);
		return;
	}
}
