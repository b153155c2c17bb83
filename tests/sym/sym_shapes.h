/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sym_shapes: more functions for sym_functions.c, by the shape of their code: bit fields, rotations,
 * overflow, wide arithmetic, tables, strings that are not aligned, moves that overlap, loops that a
 * compiler turns into vectors, floating point on the way.
 */
#ifndef TESTS_SYM_SHAPES_H
#define TESTS_SYM_SHAPES_H

typedef __int128 i128;

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
ROTATED(u8)
ROTATED(u16) ROTATED(u32) ROTATED(u64)

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
static int opcodes(unsigned n, unsigned m)
{
	static volatile int sink;

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

static const i16 signed_table[32] = { -1,  5,	 -9, 300, -700, 12, 0,	7,  -32768, 32767, 44,
				      -44, 1000, 2,  3,	  4,	5,  6,	-6, -5,	    -4,	   -3,
				      8,   9,	 10, 11,  -11,	13, 14, 15, 16,	    -17 };
static const u32 word_table[4][4] = { { 1, 2, 3, 4 },
				      { 0x10, 0x20, 0x30, 0x40 },
				      { 0xdead, 0xbeef, 0xcafe, 0xf00d },
				      { 9, 8, 7, 6 } };
static const char *const name_table[8] = { "ext2", "ext3",  "ext4", "xfs",
					   "jfs",  "minix", "vfat", "lab" };

/* CRC-16 of the polynomial 0x1021, by a table of nibbles. */
static const u16 crc_nibbles[16] = {
	0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
	0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef
};

static u16 crc16(const u8 *p, unsigned n)
{
	u16 crc = 0xffff;

	for (unsigned i = 0; i < n; i++) {
		crc = (u16)(crc << 4 ^ crc_nibbles[crc >> 12 ^ p[i] >> 4]);
		crc = (u16)(crc << 4 ^ crc_nibbles[crc >> 12 ^ (p[i] & 15)]);
	}
	return crc;
}

static unsigned gcd(unsigned a, unsigned b)
{
	while (b) {
		unsigned rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static u32 root_of(u32 v)
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

static u64 varint(const u8 *p)
{
	u64 v = 0;

	for (unsigned i = 0; i < 5; i++) {
		v |= (u64)(p[i] & 127) << 7 * i;
		if (!(p[i] & 128))
			break;
	}
	return v;
}

static int hex_digit(u8 c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

static int hex(const u8 *p, unsigned n)
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

static int decimal(const u8 *p, unsigned n)
{
	int v = 0;

	for (unsigned i = 0; i < n && p[i] >= '0' && p[i] <= '9'; i++)
		v = v * 10 + p[i] - '0';
	return v;
}

/* The bytes of a word that went through memory in pieces. */
static int moved(const u8 *p)
{
	u8 b[32];

	memset(b, 0xee, sizeof(b));
	memcpy(b + 5, p, 16);
	memmove(b + 2, b + 5, 16);
	memmove(b + 9, b + 4, 12);
	return b[9] == 0x41 && b[20] == 0x7a && b[2] == 3;
}

static int copied_string(const u8 *p)
{
	char name[17];

	memcpy(name, p + 1, 15);
	name[15] = '\0';
	return !strcmp(name, "journal");
}

static int sorted(const u8 *p)
{
	u8 v[4] = { p[0], p[1], p[2], p[3] };

	for (unsigned i = 0; i < 3; i++)
		for (unsigned k = 0; k < 3 - i; k++)
			if (v[k] > v[k + 1]) {
				u8 x = v[k];

				v[k] = v[k + 1];
				v[k + 1] = x;
			}
	return v[1] == 17 && v[3] == 200;
}

/* ---- What vectors are made of ---------------------------------------------------------------- */

static u32 sum_bytes(const u8 *p)
{
	u32 sum = 0;

	for (unsigned i = 0; i < 16; i++)
		sum += p[i];
	return sum;
}

static u32 sum_words(const u8 *p)
{
	u32 sum = 0;

	for (unsigned i = 0; i < 4; i++)
		sum += le32(p + 4 * i);
	return sum;
}

static u32 dot(const u8 *p)
{
	static const i16 by[8] = { 1, -2, 3, -4, 5, -6, 7, -8 };
	i32 sum = 0;

	for (unsigned i = 0; i < 8; i++)
		sum += (i16)le16(p + 2 * i) * by[i];
	return (u32)sum;
}

static unsigned count_bytes(const u8 *p, u8 what)
{
	unsigned n = 0;

	for (unsigned i = 0; i < 16; i++)
		n += p[i] == what;
	return n;
}

static u8 most(const u8 *p)
{
	u8 m = 0;

	for (unsigned i = 0; i < 16; i++)
		m = p[i] > m ? p[i] : m;
	return m;
}

static i16 least_signed(const u8 *p)
{
	i16 m = 32767;

	for (unsigned i = 0; i < 8; i++)
		m = (i16)le16(p + 2 * i) < m ? (i16)le16(p + 2 * i) : m;
	return m;
}

static u32 distance(const u8 *p)
{
	u32 sum = 0;

	for (unsigned i = 0; i < 8; i++)
		sum += p[i] > p[8 + i] ? p[i] - p[8 + i] : p[8 + i] - p[i];
	return sum;
}

static int backwards(const u8 *p)
{
	u8 b[16];

	for (unsigned i = 0; i < 16; i++)
		b[i] = p[15 - i];
	return !memcmp(b, "fedcba98", 8);
}

static int masked(const u8 *p)
{
	u8 b[16];

	for (unsigned i = 0; i < 16; i++)
		b[i] = (p[i] & 0x0f) ^ (u8)(i * 3);
	return b[3] == 2 && b[12] == 0x20 && b[15] == 0x25;
}

static int shifted(const u8 *p)
{
	u32 v[4], any = 0;

	memcpy(v, p, sizeof(v));
	for (unsigned i = 0; i < 4; i++)
		v[i] = v[i] << 3 | v[i] >> 29;
	for (unsigned i = 0; i < 4; i++)
		any |= v[i] ^ 0x12345678;
	return !any;
}

static int saturated(const u8 *p)
{
	u32 n = 0;

	for (unsigned i = 0; i < 8; i++) {
		unsigned sum = (unsigned)p[i] + p[8 + i];

		n += (sum > 255 ? 255 : sum) == 255;
	}
	return n >= 7;
}

/* Where the number goes through floating point, the path fixes it. What follows is free. */
static int through_float(const u8 *p)
{
	double d = (double)le16(p) * 1.5;

	return d > 4e4 ? p[4] == 9 : p[4] + p[5] == 77;
}

#define SHAPES(F)                                                                               \
	F(field_b, fields_of(p).b == 77)                                                        \
	F(field_d, fields_of(p).d > fields_of(p).c)                                             \
	F(field_signed, fields_of(p).e == -7 && fields_of(p).f < -200)                          \
	F(field_wide, fields_of(p).h == 0x1fedcba98)                                            \
	F(field_set, fields_set(p).c == 99 && fields_set(p).f == 5)                             \
	F(field_sum, fields_set(p).h == 3)                                                      \
	F(rotate8_by, rotated_u8(p[0], p[1]) == 0x1d)                                           \
	F(rotate16_by, rotated_u16(le16(p), p[2]) == 0x8001)                                    \
	F(rotate32_by, rotated_u32(le32(p), p[4]) == 0xf000000f)                                \
	F(rotate64_by, rotated_u64(le64(p), p[8]) == 0x8000000000000001u)                       \
	F(bswap16, __builtin_bswap16(le16(p)) == 0x4244)                                        \
	F(bswap64_less, __builtin_bswap64(le64(p)) < __builtin_bswap64(le64(p + 8)))            \
	F(reversed, bits_reversed(le32(p)) == 0x12345678)                                       \
	F(popcount128, __builtin_popcountll(le64(p)) + __builtin_popcountll(le64(p + 8)) == 99) \
	F(parity, __builtin_parity(le32(p)) && p[0] > 200)                                      \
	F(ffs, __builtin_ffs((int)le32(p)) == 19)                                               \
	F(clz_both, le32(p) && __builtin_clz(le32(p)) + p[4] == 30)                             \
	F(div_by_7, (i32)le32(p) / 7 == -12345)                                                 \
	F(div_by_minus_5, (i32)le32(p) / -5 == 1000)                                            \
	F(div_by_1000, (i64)le64(p) / 1000 == -123456789)                                       \
	F(mod_signed, (i32)le32(p) % 100 == -37)                                                \
	F(div_by_power, (i16)le16(p) / 16 == -3)                                                \
	F(div_u64, le64(p) / 86400 == 19000)                                                    \
	F(div_128, (u64)((u128)wide_of(p) / 1000003) == 4711)                                   \
	F(mul_signed_128, (i64)((i128)(i64)le64(p) * (i64)le64(p + 8) >> 64) == -2)             \
	F(add_128, (u128)wide_of(p) + 0xffffffffffffffffu > (u128)wide_of(p) && p[15] == 1)     \
	F(less_128, wide_of(p) < -1000)                                                         \
	F(shift_128, (u64)((u128)wide_of(p) >> (p[0] & 63)) == 0x77)                            \
	F(overflow_add, overflows_add((i32)le32(p), (i32)le32(p + 4)))                          \
	F(overflow_mul, overflows_mul(le32(p), le32(p + 4)))                                    \
	F(overflow_mul_signed, overflows_mul_signed((i64)le64(p), 3))                           \
	F(overflow_sub, overflows_sub(p[0], p[1]) && p[2] == 4)                                 \
	F(switch_holes, opcodes(p[0], p[1]) == 31)                                              \
	F(switch_within, opcodes(p[0] & 15, p[1]) == 83)                                        \
	F(table_signed, signed_table[p[0] & 31] == -700)                                        \
	F(table_square, word_table[p[0] & 3][p[1] & 3] == 0xcafe)                               \
	F(table_names, name_table[p[0] & 7][0] == 'm')                                          \
	F(table_branch, signed_table[p[0] & 31] < (i16)le16(p + 2))                             \
	F(crc_one, crc16(p, 1) == crc16((const u8 *)"A", 1))                                    \
	F(crc_two, crc16(p, 2) == 0x1d0f)                                                       \
	F(bit_of_map, p[2 + (p[0] & 7)] >> (p[1] & 7) & 1)                                      \
	F(bit_set, (le64(p) | UINT64_C(1) << (p[8] & 63)) == 0x8000000000000003u)               \
	F(gcd, gcd(p[0], p[1]) == 21)                                                           \
	F(root, root_of(le16(p)) == 99)                                                         \
	F(varint, varint(p) == 300)                                                             \
	F(hex, hex(p, 4) == 0xbeef)                                                             \
	F(decimal, decimal(p, 4) == 2038)                                                       \
	F(memcmp_odd, !memcmp(p + 1, p + 9, 7))                                                 \
	F(memcmp_odd_13, memcmp(p + 1, "superblock 13", 13) == 0)                               \
	F(word_odd, le32(p + 3) == 0xef53ef53 && le64(p + 7) > 5)                               \
	F(strcmp_odd, copied_string(p))                                                         \
	F(strncasecmp, (p[3] | 32) == 'q' && (p[4] & 0xdf) == 'Z')                              \
	F(strspn, strspn((const char *)p, "0123456789") == 3)                                   \
	F(memrchr, memrchr(p, '/', 16) == p + 11)                                               \
	F(moved, moved(p))                                                                      \
	F(sorted, sorted(p))                                                                    \
	F(clamp, (p[0] < 20 ? 20 : p[0] > 90 ? 90 : p[0]) == 90 && p[1] == p[0])                \
	F(sign, ((i32)le32(p) > 0) - ((i32)le32(p) < 0) == -1)                                  \
	F(abs, (le32(p) >> 31 ? -le32(p) : le32(p)) == 777)                                     \
	F(average, (u8)((p[0] & p[1]) + ((p[0] ^ p[1]) >> 1)) == 201)                           \
	F(sum_bytes, sum_bytes(p) == 0x123)                                                     \
	F(sum_words, sum_words(p) == 0xcafebabe)                                                \
	F(dot, dot(p) == 4242)                                                                  \
	F(count_bytes, count_bytes(p, 7) == 3)                                                  \
	F(most, most(p) == 0xf0)                                                                \
	F(least_signed, least_signed(p) == -1234)                                               \
	F(distance, distance(p) == 500)                                                         \
	F(backwards, backwards(p))                                                              \
	F(masked, masked(p))                                                                    \
	F(shifted, shifted(p))                                                                  \
	F(saturated, saturated(p))                                                              \
	F(float, through_float(p))

#endif
