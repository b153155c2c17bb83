/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scalar operations: as an expression (as_vg_model) and as a number (as_vg_model_value). The two
 * must agree; every branch checks that they do. */
#include "code.h"

static Id divide(const struct op *op, Id a, Id b, UInt narrow)
{
	Bool is_signed = op->sym == AS_SYM_SDIV;
	UInt wide = as_vg_width(a);
	Id zero = as_vg_cmp(AS_SYM_EQ, b, as_vg_const(as_vg_width(b), 0));
	Id q, r;

	if (!as_vg_is_const(zero))
		as_vg_branch(zero, False, as_vg_replay_site(), AS_SYMLOG_B_BOUND);
	b = as_vg_ext(is_signed ? AS_SYM_SEXT : AS_SYM_ZEXT, wide, b);
	q = as_vg_bin(op->sym, a, b);
	r = as_vg_bin(is_signed ? AS_SYM_SREM : AS_SYM_UREM, a, b);
	return as_vg_concat(as_vg_extract(narrow, 0, r), as_vg_extract(narrow, 0, q));
}

static Id compare(const struct op *op, Id a, Id b)
{
	Id r = as_vg_cmp(op->sym, a, b);

	return op->how & 1 ? as_vg_un(AS_SYM_NOT, r) : r;
}

static Id shift(const struct op *op, Id a, Id b)
{
	UInt w = as_vg_width(a);

	/* The count has 8 bits, and a shifted value at least 8. */
	return as_vg_bin(op->sym, a, as_vg_ext(AS_SYM_ZEXT, w, b));
}

Id as_vg_model(const struct op *op, const struct ins *in)
{
	Id a = as_vg_ref_node(in->a), b = in->b != NO_REF ? as_vg_ref_node(in->b) : 0;
	UInt w = as_vg_type_bits(in->type);
	Id zero, r;

	switch (op->model) {
	case M_BIN:
		if (op->sym == AS_SYM_UDIV || op->sym == AS_SYM_SDIV)
			return as_vg_extract(w, 0, divide(op, a, b, w));
		return as_vg_bin(op->sym, a, b);
	case M_SHIFT:
		return shift(op, a, b);
	case M_UN:
		return as_vg_un(op->sym, a);
	case M_CMP:
		return compare(op, a, b);
	case M_NEZ:
		zero = as_vg_const(as_vg_width(a), 0);
		r = as_vg_un(AS_SYM_NOT, as_vg_cmp(AS_SYM_EQ, a, zero));
		return w == 1 ? r : as_vg_ext(AS_SYM_SEXT, w, r);
	case M_ZEXT:
	case M_SEXT:
		return as_vg_ext(op->sym, w, a);
	case M_TRUNC:
		return as_vg_extract(w, 0, a);
	case M_HIGH:
		return as_vg_extract(w, w, a);
	case M_CONCAT:
		return as_vg_concat(a, b);
	case M_MULL:
		return as_vg_bin(AS_SYM_MUL, as_vg_ext(op->sym, w, a), as_vg_ext(op->sym, w, b));
	case M_DIVMOD:
		return divide(op, a, b, w / 2);
	case M_DIVMODW:
		return divide(op, a, b, w / 2);
	case M_MAX:
		return as_vg_ite(as_vg_cmp(AS_SYM_ULT, a, b), b, a);
	case M_MOVE:
		return a;
	default:
		tl_assert2(0, "model %u is not scalar", op->model);
	}
}

static Wide divide_value(const struct op *op, UInt wa, Wide a, UInt wb, Wide b, UInt narrow)
{
	UInt ext = op->sym == AS_SYM_SDIV ? AS_SYM_SEXT : AS_SYM_ZEXT;
	UInt rem = op->sym == AS_SYM_SDIV ? AS_SYM_SREM : AS_SYM_UREM;
	Wide q, r;

	b = wa == wb ? b : as_vg_eval(ext, wa, wb, b, 0, 0, 0);
	q = as_vg_eval(op->sym, wa, wa, a, b, 0, 0);
	r = as_vg_eval(rem, wa, wa, a, b, 0, 0);
	return (r & as_vg_mask(narrow)) << narrow | (q & as_vg_mask(narrow));
}

Wide as_vg_model_value(const struct op *op, const struct ins *in)
{
	Wide a = as_vg_ref_value(in->a), b = in->b != NO_REF ? as_vg_ref_value(in->b) : 0;
	UInt wa = as_vg_type_bits(as_vg_ref_type(in->a));
	UInt wb = in->b != NO_REF ? as_vg_type_bits(as_vg_ref_type(in->b)) : 0;
	UInt w = as_vg_type_bits(in->type);

	switch (op->model) {
	case M_BIN:
	case M_SHIFT:
	case M_UN:
		return as_vg_eval(op->sym, w, wa, a, b, 0, 0);
	case M_CMP:
		return as_vg_eval(op->sym, 1, wa, a, b, 0, 0) ^ (op->how & 1);
	case M_NEZ:
		return a ? as_vg_mask(w) : 0;
	case M_ZEXT:
	case M_SEXT:
		return as_vg_eval(op->sym, w, wa, a, 0, 0, 0);
	case M_TRUNC:
		return a & as_vg_mask(w);
	case M_HIGH:
		return a >> w & as_vg_mask(w);
	case M_CONCAT:
		return a << wb | b;
	case M_MULL:
		return (as_vg_eval(op->sym, w, wa, a, 0, 0, 0) *
			as_vg_eval(op->sym, w, wb, b, 0, 0, 0)) &
		       as_vg_mask(w);
	case M_DIVMOD:
	case M_DIVMODW:
		return divide_value(op, wa, a, wb, b, w / 2);
	case M_MAX:
		return a < b ? b : a;
	case M_MOVE:
		return a;
	default:
		tl_assert2(0, "model %u is not scalar", op->model);
	}
}
