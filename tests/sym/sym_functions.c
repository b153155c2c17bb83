/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sym_functions DISK: some hundred small functions, each of which decides something about 16 bytes
 * of its own. Prints a digit for each. test_differential.c compiles it without and with
 * optimization, makes all bytes unknown, and asks for the other decision.
 */
#define _GNU_SOURCE
#include "sym_fresh.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Of two numbers a and b of a type T. */
#define OPS(F, T)                                                           \
	F(T, add, (T)(a + b) == (T)0x5a)                                    \
	F(T, sub, (T)(a - b) < (T)0x31)                                     \
	F(T, mul_const, (T)(a * 3 + 7) > b)                                 \
	F(T, mul, (T)(a * b) == (T)0x21)                                    \
	F(T, div_const, a / 7 == 5)                                         \
	F(T, mod_const, a % 10 == 3)                                        \
	F(T, div, b != 0 && b != (T)-1 && a / b == 3)                       \
	F(T, mod, (T)(a % (T)((b & 15) + 1)) == 2)                          \
	F(T, shl, (T)((u64)a << 3) == (T)0x58)                              \
	F(T, shr, (T)(a >> 2) < b)                                          \
	F(T, shl_by, (T)((u64)a << (b & 7)) == (T)0x40)                     \
	F(T, shr_by, (T)(a >> (b & 7)) == 3)                                \
	F(T, not, (T)~a == b)                                               \
	F(T, neg, (T) - (u64)a > b)                                         \
	F(T, and, (a & b) == 0x12)                                          \
	F(T, or, (a | b) == 0x77)                                           \
	F(T, xor, (T)(a ^ b) == (T)0x3c)                                    \
	F(T, lt, a < b)                                                     \
	F(T, le, a <= b)                                                    \
	F(T, gt_const, a > 0x41)                                            \
	F(T, ge_const, a >= 0x55)                                           \
	F(T, le_const, a <= 9)                                              \
	F(T, eq, a == b)                                                    \
	F(T, ne_const, a != 0x61)                                           \
	F(T, bit, a & 8)                                                    \
	F(T, bits, !(a & 0x11))                                             \
	F(T, bit_by, (u64)a >> (b % BITS(T)) & 1)                           \
	F(T, next, a == (T)(b + 1))                                         \
	F(T, max, (a > b ? a : b) == 0x66)                                  \
	F(T, popcount, __builtin_popcountll((u64)a) == 5)                   \
	F(T, ctz, a &&__builtin_ctzll((u64)a) == 4)                         \
	F(T, clz, a &&__builtin_clzll((u64)a) > 58)                         \
	F(T, rotate, (T)((u64)a << 5 | (u64)a >> (BITS(T) - 5)) == (T)0x2b) \
	F(T, bswap32, __builtin_bswap32((u32)a) == 0x11000000)              \
	F(T, widen, (i64)a - (i64)b == 100)                                 \
	F(T, range, a >= 20 && a <= 30)                                     \
	F(T, sum, (T)(a + b) > (T)a && (T)(a - 1) < (T)b)                   \
	F(T, high, (u64)((u128)(u64)a * 0x123456789abcdef1u >> 64) == 7)

static int dense(unsigned n)
{
	switch (n) {
	case 0:
		return 3;
	case 1:
		return 1;
	case 2:
		return 4;
	case 3:
		return 1;
	case 4:
		return 5;
	case 5:
		return 9;
	case 6:
		return 2;
	default:
		return 0;
	}
}

static int sparse(unsigned n)
{
	switch (n) {
	case 0xef53:
		return 1;
	case 0x137f:
		return 2;
	case 0x2468:
		return 3;
	case 0x4d5a:
		return 4;
	default:
		return 0;
	}
}

static u32 sum_of(const u8 *p, unsigned n)
{
	u32 sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum = sum * 31 + p[i];
	return sum;
}

static unsigned length_of(const u8 *p, unsigned most)
{
	unsigned n = 0;

	while (n < most && p[n])
		n++;
	return n;
}

static const u8 squares[16] = { 0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225 };

static u32 be32(const u8 *p)
{
	return (u32)p[0] << 24 | (u32)p[1] << 16 | (u32)p[2] << 8 | p[3];
}

static u64 le64(const u8 *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Of the bytes p. */
#define OTHERS(F)                                                            \
	F(switch_dense, dense(p[0]) == 5)                                    \
	F(switch_sparse, sparse(p[0] | p[1] << 8) == 3)                      \
	F(memcmp_const, !memcmp(p, "MAGIC", 5))                              \
	F(memcmp_both, !memcmp(p, p + 8, 8))                                 \
	F(memcmp_16, !memcmp(p, "0123456789abcdef", 16))                     \
	F(memcmp_less, memcmp(p, "MMM", 3) < 0)                              \
	F(string, !strncmp((const char *)p, "lost+found", 11))               \
	F(length, length_of(p, 16) == 5)                                     \
	F(strnlen, strnlen((const char *)p, 16) == 7)                        \
	F(memchr, memchr(p, '/', 16) == p + 4)                               \
	F(hash, (sum_of(p, 6) & 0xff) == 0x42)                               \
	F(table, squares[p[0] & 15] == 81)                                   \
	F(table_two, squares[p[0] & 15] + squares[p[1] & 15] == 90)          \
	F(be32, be32(p) == 0x11223344)                                       \
	F(be32_less, be32(p) < be32(p + 4))                                  \
	F(le64, le64(p) == 0x8877665544332211u)                              \
	F(le64_sum, le64(p) + le64(p + 8) == 0x1234567812345678u)            \
	F(mul128, (u64)((u128)le64(p) * le64(p + 8) >> 64) > 0x1000)         \
	F(nested, p[0] > 10 && p[1] > p[0] && p[2] > p[1] && p[3] == 0xaa)   \
	F(count, (p[0] == 1) + (p[1] == 2) + (p[2] == 3) + (p[3] == 4) == 4) \
	F(carry, le64(p) > le64(p) + le64(p + 8))

#define DEFINE_OP(T, name, cond)                                     \
	static __attribute__((noinline)) int T##_##name(const u8 *p) \
	{                                                            \
		T a, b;                                              \
                                                                     \
		memcpy(&a, p, sizeof(a));                            \
		memcpy(&b, p + 8, sizeof(b));                        \
		return (cond) ? 1 : 0;                               \
	}
#define DEFINE(name, cond)                                         \
	static __attribute__((noinline)) int o_##name(const u8 *p) \
	{                                                          \
		return (cond) ? 1 : 0;                             \
	}
#define EACH_TYPE(F) \
	OPS(F, u8)   \
	OPS(F, u16) OPS(F, u32) OPS(F, u64) OPS(F, i8) OPS(F, i16) OPS(F, i32) OPS(F, i64)

EACH_TYPE(DEFINE_OP)
OTHERS(DEFINE)
#define F DEFINE
#include "sym_fresh.def"
#include "sym_more.def"
#include "sym_shapes.def"
#undef F

enum {
#define ROW_OP(T, name, cond) N_##T##_##name,
#define ROW(name, cond) N_##name,
	EACH_TYPE(ROW_OP) OTHERS(ROW)
#define F ROW
#include "sym_fresh.def"
#include "sym_more.def"
#include "sym_shapes.def"
#undef F
		N
};

static u8 disk[16 * N + 16];
static char out[N + 1];

static __attribute__((noinline)) void yes(unsigned i)
{
	out[i] = '1';
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void no(unsigned i)
{
	out[i] = '0';
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	int fd;

	if (argc < 2) {
		printf("%d\n", N);
		return 0;
	}
	fd = open(argv[1], O_RDONLY);
	if (fd < 0 || read(fd, disk, 16 * N) != (ssize_t)(16 * N))
		return 8;
		/* A place in the code for each. */
#define CALL(number, function)                      \
	if (function(disk + 16 * (size_t)(number))) \
		yes(number);                        \
	else                                        \
		no(number);
#define CALL_OP(T, name, cond) CALL(N_##T##_##name, T##_##name)
#define CALL_OTHER(name, cond) CALL(N_##name, o_##name)
	EACH_TYPE(CALL_OP)
	OTHERS(CALL_OTHER)
#define F CALL_OTHER
#include "sym_fresh.def"
#include "sym_more.def"
#include "sym_shapes.def"
#undef F
	printf("%s\n", out);
	return 0;
}
