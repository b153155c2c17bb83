/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sym_shapes: what the functions of sym_shapes.def are made of: bit fields, rotations, overflow,
 * wide arithmetic, tables, strings that are not aligned, moves that overlap.
 */
#ifndef TESTS_SYM_SHAPES_H
#define TESTS_SYM_SHAPES_H

#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef unsigned __int128 u128;
typedef __int128 i128;

#define BITS(T) (sizeof(T) * 8)

static inline u16 le16(const u8 *p)
{
	u16 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline u32 le32(const u8 *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

struct s_fields {
	u32 a : 3, b : 7, c : 11, d : 11;
	i32 e : 5, f : 9, g : 18;
	u64 h : 33, i : 31;
};

static inline struct s_fields fields_of(const u8 *p)
{
	struct s_fields s;

	memcpy(&s, p, sizeof(s));
	return s;
}

static inline struct s_fields fields_set(const u8 *p)
{
	struct s_fields s = fields_of(p);

	s.c = s.b * 3;
	s.f = s.e - 2;
	s.h += s.i;
	return s;
}

#define ROTATED(T)                                                     \
	static inline T rotated_##T(T v, unsigned by)                  \
	{                                                              \
		by %= BITS(T);                                         \
		return (T)(v << by | v >> ((BITS(T) - by) % BITS(T))); \
	}
ROTATED(u8);
ROTATED(u16);
ROTATED(u32);
ROTATED(u64);

static inline u32 bits_reversed(u32 v)
{
	v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
	v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
	v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
	return __builtin_bswap32(v);
}

static inline i128 wide_of(const u8 *p)
{
	i128 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline int overflows_add(i32 a, i32 b)
{
	i32 sum;

	return __builtin_add_overflow(a, b, &sum);
}

static inline int overflows_mul(u32 a, u32 b)
{
	u32 product;

	return __builtin_mul_overflow(a, b, &product);
}

static inline int overflows_mul_signed(i64 a, i64 b)
{
	i64 product;

	return __builtin_mul_overflow(a, b, &product);
}

static inline int overflows_sub(u8 a, u8 b)
{
	u8 rest;

	return __builtin_sub_overflow(a, b, &rest);
}

/* A jump table with holes, and one within another. */
static inline int opcodes(unsigned n, unsigned m)
{
	static volatile int sink;

	(void)sink;
	switch (n) {
	case 1:
		sink = 1;
		return 10;
	case 2:
		sink = 2;
		return 20 + (int)m;
	case 3:
		sink = 3;
		return m == 7 ? 31 : 30;
	case 5:
		sink = 5;
		return 50;
	case 8:
		switch (m) {
		case 0:
			sink = 6;
			return 80;
		case 1:
			sink = 7;
			return 81;
		case 2:
			sink = 8;
			return 82;
		case 3:
			sink = 9;
			return 83;
		case 4:
			sink = 10;
			return 84;
		default:
			sink = 11;
			return 89;
		}
	case 9:
		sink = 12;
		return 90;
	case 12:
		sink = 13;
		return 120;
	case 13:
		sink = 14;
		return 130;
	default:
		return 0;
	}
}

static const i16 signed_table[32]
	__attribute__((unused)) = { -1,	 5,    -9, 300, -700, 12, 0,  7,  -32768, 32767, 44,
				    -44, 1000, 2,  3,	4,    5,  6,  -6, -5,	  -4,	 -3,
				    8,	 9,    10, 11,	-11,  13, 14, 15, 16,	  -17 };
static const u32 word_table[4][4] __attribute__((unused)) = { { 1, 2, 3, 4 },
							      { 0x10, 0x20, 0x30, 0x40 },
							      { 0xdead, 0xbeef, 0xcafe, 0xf00d },
							      { 9, 8, 7, 6 } };
static const char *const name_table[8]
	__attribute__((unused)) = { "ext2", "ext3", "ext4", "xfs", "jfs", "minix", "vfat", "lab" };

/* CRC-16 of the polynomial 0x1021, by a table of nibbles. */
static const u16 crc_nibbles[16] __attribute__((unused)) = { 0x0000, 0x1021, 0x2042, 0x3063,
							     0x4084, 0x50a5, 0x60c6, 0x70e7,
							     0x8108, 0x9129, 0xa14a, 0xb16b,
							     0xc18c, 0xd1ad, 0xe1ce, 0xf1ef };

static inline u16 crc16(const u8 *p, unsigned n)
{
	u16 crc = 0xffff;

	for (unsigned i = 0; i < n; i++) {
		crc = (u16)(crc << 4 ^ crc_nibbles[crc >> 12 ^ p[i] >> 4]);
		crc = (u16)(crc << 4 ^ crc_nibbles[crc >> 12 ^ (p[i] & 15)]);
	}
	return crc;
}

static inline unsigned gcd(unsigned a, unsigned b)
{
	while (b) {
		unsigned rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static inline u32 root_of(u32 v)
{
	u32 root = 0;

	for (u32 bit = 1u << 14; bit; bit >>= 2) {
		if (v >= root + bit) {
			v -= root + bit;
			root = (root >> 1) + bit;
		} else
			root >>= 1;
	}
	return root;
}

static inline u64 varint(const u8 *p)
{
	u64 v = 0;

	for (unsigned i = 0; i < 5; i++) {
		v |= (u64)(p[i] & 127) << 7 * i;
		if (!(p[i] & 128))
			break;
	}
	return v;
}

static inline int hex_digit(u8 c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

static inline int hex(const u8 *p, unsigned n)
{
	int v = 0;

	for (unsigned i = 0; i < n; i++) {
		int d = hex_digit(p[i]);

		if (d < 0)
			return -1;
		v = v * 16 + d;
	}
	return v;
}

static inline int decimal(const u8 *p, unsigned n)
{
	int v = 0;

	for (unsigned i = 0; i < n && p[i] >= '0' && p[i] <= '9'; i++)
		v = v * 10 + p[i] - '0';
	return v;
}

/* The bytes of a word that went through memory in pieces. */
static inline int moved(const u8 *p)
{
	u8 b[32];

	memset(b, 0xee, sizeof(b));
	memcpy(b + 5, p, 16);
	memmove(b + 2, b + 5, 16);
	memmove(b + 9, b + 4, 12);
	return b[9] == 0x41 && b[20] == 0x7a && b[2] == 3;
}

static inline int copied_string(const u8 *p)
{
	char name[17];

	memcpy(name, p + 1, 15);
	name[15] = '\0';
	return !strcmp(name, "journal");
}

#endif
