/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sym_instructions: for sym_fresh.def: instructions that compilers choose rarely: carries, double
 * shifts, bit tests, exchanges, those that repeat.
 */
#ifndef TESTS_SYM_INSTRUCTIONS_H
#define TESTS_SYM_INSTRUCTIONS_H

#include "sym_more.h"

/* Nine bits: the carry is one of them. */
static inline u8 x_rotate_carry(u8 v, u8 by)
{
	__asm__("btl $0, %k1\n\trclb $2, %0" : "+q"(v) : "r"((u32)by) : "cc");
	return v;
}

static inline u32 x_swap_low(u32 v)
{
	__asm__("xchgb %h0, %b0" : "+Q"(v));
	return v;
}

/* The carry out of 128 bits. */
static inline int x_carry_chain(const u8 *p)
{
	u64 a, b;
	u8 carry;

	memcpy(&a, p, 8);
	memcpy(&b, p + 8, 8);
	__asm__("addq %1, %1\n\tadcq %2, %2\n\tsetc %0" : "=q"(carry), "+r"(a), "+r"(b) : : "cc");
	return carry;
}

static inline int x_borrow_chain(const u8 *p)
{
	u32 a, b, c, d;
	u8 borrow;

	memcpy(&a, p, 4);
	memcpy(&b, p + 4, 4);
	memcpy(&c, p + 8, 4);
	memcpy(&d, p + 12, 4);
	__asm__("subl %3, %1\n\tsbbl %4, %2\n\tsetb %0"
		: "=&q"(borrow), "+&r"(a), "+&r"(b)
		: "r"(c), "r"(d)
		: "cc");
	return borrow;
}

static inline u32 x_shift_double(u32 a, u32 b, unsigned by)
{
	__asm__("shldl %%cl, %1, %0" : "+r"(a) : "r"(b), "c"(by) : "cc");
	return a;
}

static inline u32 x_bit_test(u32 v, u32 by)
{
	__asm__("btsl %1, %0\n\tbtcl $31, %0" : "+r"(v) : "r"(by & 31) : "cc");
	return v;
}

static inline u32 x_exchange_add(u8 a, u8 b)
{
	u8 old = b;

	__asm__("xaddb %1, %0" : "+q"(a), "+q"(old) : : "cc");
	return (u32)a << 8 | old;
}

static inline u32 x_compare_exchange(u32 a, u32 b)
{
	u32 have = a, want = 0x11223344;

	__asm__("lock cmpxchgl %2, %1" : "+a"(want), "+m"(have) : "r"(b) : "cc");
	return have;
}

/* How many bytes are not the one that is looked for, by one instruction that repeats. */
static inline unsigned x_scan(const u8 *p, u8 what)
{
	u64 left = 16;
	const u8 *at = p;

	__asm__("cld\n\trepne scasb" : "+D"(at), "+c"(left) : "a"(what) : "cc", "memory");
	return (unsigned)(at - p) - 1;
}

static inline unsigned x_copy_by(const u8 *p)
{
	u8 to[16] = { 0 };
	u64 n = 4;
	const u8 *from = p + (p[0] & 1);
	u8 *at = to;

	__asm__("cld\n\trep movsb" : "+S"(from), "+D"(at), "+c"(n) : : "memory");
	return (unsigned)to[1] << 8 | to[2];
}

static inline int x_even(u8 v)
{
	u8 even;

	__asm__("testb %1, %1\n\tsetp %0" : "=q"(even) : "q"(v) : "cc");
	return even;
}

/* An increment leaves the carry as it is. */
static inline u8 x_flags_kept(u8 a, u8 b)
{
	u8 carry;

	__asm__("addb %2, %1\n\tincb %1\n\tsetc %0" : "=&q"(carry), "+&q"(a) : "q"(b) : "cc");
	return (u8)(a ^ carry << 7);
}

#endif
