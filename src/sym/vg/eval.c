/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The value of one operation. This is the meaning of the operations of log.h; the driver's solver
 * must agree with it. */
#include "vg.h"

static __int128 sign(Wide v, UInt width)
{
	if (width >= 128)
		return (__int128)v;
	Wide top = (Wide)1 << (width - 1);

	return (__int128)((v ^ top) - top);
}

static UInt clz(Wide v, UInt width)
{
	UInt n = 0;

	while (n < width && !(v >> (width - 1 - n) & 1))
		n++;
	return n;
}

static UInt ctz(Wide v, UInt width)
{
	UInt n = 0;

	while (n < width && !(v >> n & 1))
		n++;
	return n;
}

static UInt popcnt(Wide v)
{
	UInt n = 0;

	for (; v; v &= v - 1)
		n++;
	return n;
}

static Wide divide(UInt op, UInt width, Wide a, Wide b)
{
	if (!b)
		return 0;
	switch (op) {
	case AS_SYM_UDIV:
		return a / b;
	case AS_SYM_UREM:
		return a % b;
	case AS_SYM_SDIV:
		return b == as_vg_mask(width) ? -a : (Wide)(sign(a, width) / sign(b, width));
	default:
		return b == as_vg_mask(width) ? 0 : (Wide)(sign(a, width) % sign(b, width));
	}
}

static Wide shift(UInt op, UInt width, Wide a, Wide b)
{
	if (b >= width)
		return op == AS_SYM_ASHR && a >> (width - 1) & 1 ? ~(Wide)0 : 0;
	switch (op) {
	case AS_SYM_SHL:
		return a << (UInt)b;
	case AS_SYM_LSHR:
		return a >> (UInt)b;
	default:
		return (Wide)(sign(a, width) >> (UInt)b);
	}
}

static Wide eval(UInt op, UInt width, UInt wa, Wide a, Wide b, Wide c, ULong imm)
{
	switch (op) {
	case AS_SYM_ADD:
		return a + b;
	case AS_SYM_SUB:
		return a - b;
	case AS_SYM_MUL:
		return a * b;
	case AS_SYM_UDIV:
	case AS_SYM_UREM:
	case AS_SYM_SDIV:
	case AS_SYM_SREM:
		return divide(op, width, a, b);
	case AS_SYM_AND:
		return a & b;
	case AS_SYM_OR:
		return a | b;
	case AS_SYM_XOR:
		return a ^ b;
	case AS_SYM_NOT:
		return ~a;
	case AS_SYM_NEG:
		return -a;
	case AS_SYM_SHL:
	case AS_SYM_LSHR:
	case AS_SYM_ASHR:
		return shift(op, width, a, b);
	case AS_SYM_CONCAT:
		return a << (width - wa) | b;
	case AS_SYM_EXTRACT:
		return a >> imm;
	case AS_SYM_ZEXT:
		return a;
	case AS_SYM_SEXT:
		return (Wide)sign(a, wa);
	case AS_SYM_EQ:
		return a == b;
	case AS_SYM_ULT:
		return a < b;
	case AS_SYM_ULE:
		return a <= b;
	case AS_SYM_SLT:
		return sign(a, wa) < sign(b, wa);
	case AS_SYM_SLE:
		return sign(a, wa) <= sign(b, wa);
	case AS_SYM_ITE:
		return a ? b : c;
	case AS_SYM_CLZ:
		return clz(a, width);
	case AS_SYM_CTZ:
		return ctz(a, width);
	case AS_SYM_POPCNT:
		return popcnt(a);
	default:
		tl_assert2(0, "operation %u has no value", op);
	}
}

Wide as_vg_eval(UInt op, UInt width, UInt width_a, Wide a, Wide b, Wide c, ULong imm)
{
	return eval(op, width, width_a, a, b, c, imm) & as_vg_mask(width);
}
