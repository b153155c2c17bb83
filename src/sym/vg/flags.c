/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The flags of amd64 as VEX keeps them: an operation, two operands and what is left of the old
 * flags (the thunk), from which helper functions calculate flags when somebody asks. Method: the
 * operation is known when the helper runs; each flag becomes an expression of the operands. The
 * numbers of the operations are those of VEX (guest_amd64_defs.h, which is not installed); the
 * results are compared with what the real helper returned. */
#include "code.h"

/* Kinds of operations, four widths each, in VEX's order. */
enum kind {
	K_ADD,
	K_SUB,
	K_ADC,
	K_SBB,
	K_LOGIC,
	K_INC,
	K_DEC,
	K_SHL,
	K_SHR,
	K_ROL,
	K_ROR,
	K_UMUL,
	K_SMUL,
	K_ANDN, /* from here on, two widths each: 32 and 64 */
	K_BLSI,
	K_BLSMSK,
	K_BLSR, /* also BZHI */
	K_COPY
};

enum {
	COND_O,
	COND_B = 2,
	COND_Z = 4,
	COND_BE = 6,
	COND_S = 8,
	COND_P = 10,
	COND_L = 12,
	COND_LE = 14
};

enum { BIT_C = 0, BIT_P = 2, BIT_A = 4, BIT_Z = 6, BIT_S = 7, BIT_O = 11 };

struct thunk {
	UInt kind, width;
	Id dep1, dep2, ndep; /* 64 bits */
	Id l, r, res; /* operands and result, narrow */
	Id old_c; /* 1 bit */
};

static Id bit(Id n, UInt i)
{
	return as_vg_extract(1, i, n);
}

static Id top(Id n)
{
	return bit(n, as_vg_width(n) - 1);
}

static Id not_(Id n)
{
	return as_vg_un(AS_SYM_NOT, n);
}

static Id zero_of(Id n)
{
	return as_vg_cmp(AS_SYM_EQ, n, as_vg_const(as_vg_width(n), 0));
}

static Id xor_(Id a, Id b)
{
	return as_vg_bin(AS_SYM_XOR, a, b);
}

static Bool read_op(struct thunk *t, UInt op)
{
	static const UChar widths[4] = { 8, 16, 32, 64 };

	if (op == 0) {
		t->kind = K_COPY;
		t->width = 64;
		return True;
	}
	if (op > 60)
		return False;
	if (op > 52) {
		t->kind = K_ANDN + (op - 53) / 2;
		t->width = widths[2 + (op - 53) % 2];
		return True;
	}
	t->kind = (op - 1) / 4;
	t->width = widths[(op - 1) % 4];
	return True;
}

static void prepare(struct thunk *t)
{
	UInt w = t->width;
	Id carry;

	t->l = as_vg_extract(w, 0, t->dep1);
	t->r = as_vg_extract(w, 0, t->dep2);
	t->old_c = bit(t->ndep, BIT_C);
	switch (t->kind) {
	case K_ADD:
		t->res = as_vg_bin(AS_SYM_ADD, t->l, t->r);
		return;
	case K_SUB:
		t->res = as_vg_bin(AS_SYM_SUB, t->l, t->r);
		return;
	case K_ADC:
	case K_SBB:
		carry = as_vg_ext(AS_SYM_ZEXT, w, t->old_c);
		t->r = xor_(t->r, carry);
		t->res = as_vg_bin(t->kind == K_ADC ? AS_SYM_ADD : AS_SYM_SUB, t->l, t->r);
		t->res = as_vg_bin(t->kind == K_ADC ? AS_SYM_ADD : AS_SYM_SUB, t->res, carry);
		return;
	case K_UMUL:
	case K_SMUL:
		t->res = as_vg_bin(AS_SYM_MUL, t->l, t->r);
		return;
	default:
		t->res = t->l;
		return;
	}
}

static Id overflows(const struct thunk *t)
{
	UInt ext = t->kind == K_UMUL ? AS_SYM_ZEXT : AS_SYM_SEXT, w = t->width;
	Id wide = as_vg_bin(AS_SYM_MUL, as_vg_ext(ext, 2 * w, t->l), as_vg_ext(ext, 2 * w, t->r));
	Id high = as_vg_extract(w, w, wide);

	if (t->kind == K_UMUL)
		return not_(zero_of(high));
	return not_(
		as_vg_cmp(AS_SYM_EQ, high, as_vg_bin(AS_SYM_ASHR, t->res, as_vg_const(w, w - 1))));
}

static Id carry(const struct thunk *t)
{
	switch (t->kind) {
	case K_ADD:
		return as_vg_cmp(AS_SYM_ULT, t->res, t->l);
	case K_SUB:
		return as_vg_cmp(AS_SYM_ULT, t->l, t->r);
	case K_ADC:
		return as_vg_ite(t->old_c, as_vg_cmp(AS_SYM_ULE, t->res, t->l),
				 as_vg_cmp(AS_SYM_ULT, t->res, t->l));
	case K_SBB:
		return as_vg_ite(t->old_c, as_vg_cmp(AS_SYM_ULE, t->l, t->r),
				 as_vg_cmp(AS_SYM_ULT, t->l, t->r));
	case K_LOGIC:
	case K_ANDN:
		return as_vg_const(1, 0);
	case K_BLSI:
		return not_(zero_of(t->dep2));
	case K_BLSMSK:
	case K_BLSR:
		return zero_of(t->dep2);
	case K_INC:
	case K_DEC:
		return t->old_c;
	case K_SHL:
		return top(t->r);
	case K_SHR:
		return bit(t->r, 0);
	case K_ROL:
		return bit(t->l, 0);
	case K_ROR:
		return top(t->l);
	case K_UMUL:
	case K_SMUL:
		return overflows(t);
	default:
		return bit(t->dep1, BIT_C);
	}
}

static Id overflow(const struct thunk *t)
{
	Wide sign = (Wide)1 << (t->width - 1);

	switch (t->kind) {
	case K_ADD:
	case K_ADC:
		return as_vg_bin(AS_SYM_AND, not_(xor_(top(t->l), top(t->r))),
				 xor_(top(t->l), top(t->res)));
	case K_SUB:
	case K_SBB:
		return as_vg_bin(AS_SYM_AND, xor_(top(t->l), top(t->r)),
				 xor_(top(t->l), top(t->res)));
	case K_LOGIC:
	case K_ANDN:
	case K_BLSI:
	case K_BLSMSK:
	case K_BLSR:
		return as_vg_const(1, 0);
	case K_INC:
		return as_vg_cmp(AS_SYM_EQ, t->res, as_vg_const(t->width, sign));
	case K_DEC:
		return as_vg_cmp(AS_SYM_EQ, t->res, as_vg_const(t->width, sign - 1));
	case K_SHL:
	case K_SHR:
		return xor_(top(t->r), top(t->l));
	case K_ROL:
		return xor_(top(t->l), bit(t->l, 0));
	case K_ROR:
		return xor_(top(t->l), bit(t->l, t->width - 2));
	case K_UMUL:
	case K_SMUL:
		return overflows(t);
	default:
		return bit(t->dep1, BIT_O);
	}
}

/* ROL and ROR leave the other flags as they were; of ANDN and those after it, VEX makes some 0. */
static Id other(const struct thunk *t, UInt which)
{
	if (t->kind >= K_ANDN && t->kind <= K_BLSR &&
	    (which == BIT_P || (which == BIT_Z && t->kind == K_BLSMSK)))
		return as_vg_const(1, 0);
	if (t->kind == K_COPY)
		return bit(t->dep1, which);
	if (t->kind == K_ROL || t->kind == K_ROR)
		return bit(t->ndep, which);
	return 0;
}

static Id parity(const struct thunk *t)
{
	Id r = bit(t->res, 0);

	if (other(t, BIT_P))
		return other(t, BIT_P);
	for (UInt i = 1; i < 8; i++)
		r = xor_(r, bit(t->res, i));
	return not_(r);
}

static Id zero(const struct thunk *t)
{
	return other(t, BIT_Z) ? other(t, BIT_Z) : zero_of(t->res);
}

static Id sign(const struct thunk *t)
{
	return other(t, BIT_S) ? other(t, BIT_S) : top(t->res);
}

/* Bit 4 of the sum of the low digits. */
static Id adjust(const struct thunk *t)
{
	Id one;

	if (other(t, BIT_A))
		return other(t, BIT_A);
	switch (t->kind) {
	case K_ADD:
	case K_SUB:
	case K_ADC:
	case K_SBB:
		return xor_(bit(t->res, 4), xor_(bit(t->l, 4), bit(t->r, 4)));
	case K_INC:
	case K_DEC:
		one = as_vg_const(t->width, 1);
		one = as_vg_bin(t->kind == K_INC ? AS_SYM_SUB : AS_SYM_ADD, t->res, one);
		return xor_(bit(t->res, 4), bit(one, 4));
	default:
		return as_vg_const(1, 0);
	}
}

static Id condition(const struct thunk *t, UInt cond)
{
	Bool plain = t->kind == K_SUB;
	Id less;

	switch (cond & ~1u) {
	case COND_O:
		return overflow(t);
	case COND_B:
		return carry(t);
	case COND_Z:
		return plain ? as_vg_cmp(AS_SYM_EQ, t->l, t->r) : zero(t);
	case COND_BE:
		if (plain)
			return as_vg_cmp(AS_SYM_ULE, t->l, t->r);
		return as_vg_bin(AS_SYM_OR, carry(t), zero(t));
	case COND_S:
		return sign(t);
	case COND_P:
		return parity(t);
	case COND_L:
		if (plain)
			return as_vg_cmp(AS_SYM_SLT, t->l, t->r);
		return xor_(sign(t), overflow(t));
	default: /* COND_LE */
		if (plain)
			return as_vg_cmp(AS_SYM_SLE, t->l, t->r);
		less = xor_(sign(t), overflow(t));
		return as_vg_bin(AS_SYM_OR, less, zero(t));
	}
}

static Id all(const struct thunk *t)
{
	Id flags[12] = { [BIT_C] = carry(t), [BIT_P] = parity(t), [BIT_A] = adjust(t),
			 [BIT_Z] = zero(t),  [BIT_S] = sign(t),	  [BIT_O] = overflow(t) };
	Id r = 0;

	for (UInt i = 0; i < 12; i++) {
		Id f = flags[i] ? flags[i] : as_vg_const(1, 0);

		r = r ? as_vg_concat(f, r) : f;
	}
	return as_vg_ext(AS_SYM_ZEXT, 64, r);
}

Id as_vg_flags(UInt helper, const UShort *args)
{
	struct thunk t;
	UInt first = helper == H_CONDITION ? 1 : 0;
	Id r;

	if (as_vg_ref_id(args[first]))
		as_vg_pin(as_vg_ref_id(args[first]), AS_SYMLOG_WHY_DROPPED, as_vg_replay_site());
	if (!read_op(&t, (UInt)as_vg_ref_value(args[first])))
		return 0;
	t.dep1 = as_vg_ref_node(args[first + 1]);
	t.dep2 = as_vg_ref_node(args[first + 2]);
	t.ndep = as_vg_ref_node(args[first + 3]);
	prepare(&t);
	if (helper == H_RFLAGS_ALL)
		return all(&t);
	if (helper == H_RFLAGS_C)
		return as_vg_ext(AS_SYM_ZEXT, 64, carry(&t));
	r = condition(&t, (UInt)as_vg_ref_value(args[0]));
	if (as_vg_ref_value(args[0]) & 1)
		r = not_(r);
	return as_vg_ext(AS_SYM_ZEXT, 64, r);
}

/* The helper by its name in VEX; H_NONE: no model of it. */
UInt as_vg_flag_helper(const HChar *name)
{
	static const struct {
		const HChar *name;
		UInt helper;
	} rows[] = { { "amd64g_calculate_condition", H_CONDITION },
		     { "amd64g_calculate_rflags_c", H_RFLAGS_C },
		     { "amd64g_calculate_rflags_all", H_RFLAGS_ALL },
		     { "amd64g_calc_crc32b", H_CRC },
		     { "amd64g_calc_crc32w", H_CRC },
		     { "amd64g_calc_crc32l", H_CRC },
		     { "amd64g_calc_crc32q", H_CRC } };

	for (UInt i = 0; i < sizeof rows / sizeof *rows; i++)
		if (VG_(strcmp)(rows[i].name, name) == 0)
			return rows[i].helper;
	return H_NONE;
}
