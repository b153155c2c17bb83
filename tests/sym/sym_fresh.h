/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sym_fresh: what the functions of sym_fresh.def are made of: bit fields across bytes, saturation,
 * jumps out of functions, sorting and searching by libc.
 */
#ifndef TESTS_SYM_FRESH_H
#define TESTS_SYM_FRESH_H

#include "sym_instructions.h"

#include <emmintrin.h>
#include <setjmp.h>

struct x_bits {
	signed a : 3;
	unsigned b : 4;
	unsigned c : 17;
	_Bool d : 1;
	_Bool e : 1;
	unsigned : 0;
	unsigned long f : 6;
} __attribute__((packed));

static inline struct x_bits x_bits_of(const u8 *p)
{
	struct x_bits b;

	memcpy(&b, p, sizeof(b));
	return b;
}

static inline unsigned x_bits_set(const u8 *p)
{
	struct x_bits b = x_bits_of(p);

	b.b += 3;
	b.a = b.b;
	b.f = b.c >> 2;
	return b.f ^ (unsigned)b.a;
}

static inline u16 x_rotate16(u16 v, unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		v = (u16)(v << 3 | v >> 13);
	return v;
}

static inline u64 x_swap_48(const u8 *p)
{
	u64 v = 0;

	memcpy(&v, p, 6);
	return __builtin_bswap64(v) >> 16;
}

static inline u32 x_counts(u64 v)
{
	return (u32)(__builtin_popcountll(v >> 32) << 8 | __builtin_popcount((u32)v));
}

static inline int x_trailing(const u8 *p)
{
	u32 a, b;

	memcpy(&a, p, 4);
	memcpy(&b, p + 4, 4);
	return __builtin_ctz(a) + __builtin_clz(b);
}

static inline i16 x_saturated_add(i16 a, i16 b)
{
	i32 sum = (i32)a + b;

	return (i16)(sum > 32767 ? 32767 : sum < -32768 ? -32768 : sum);
}

static inline u8 x_saturated_sub(u8 a, u8 b)
{
	return a > b ? a - b : 0;
}

static inline u8 x_saturated_vector(const u8 *p)
{
	__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
	u8 out[16];

	v = _mm_adds_epi8(v, _mm_srli_si128(v, 1));
	_mm_storeu_si128((__m128i *)(void *)out, v);
	return out[3];
}

static inline u128 x_wide(const u8 *p)
{
	u128 v = 0;

	memcpy(&v, p, 10);
	return v;
}

static inline i64 x_base_36(const u8 *p)
{
	i64 v = 0;

	for (unsigned i = 0; i < 4; i++) {
		if (isdigit(p[i]))
			v = v * 36 + (p[i] - '0');
		else if (p[i] >= 'a' && p[i] <= 'z')
			v = v * 36 + (p[i] - 'a' + 10);
		else
			break;
	}
	return v;
}

static inline long x_skip_blanks(const u8 *p)
{
	unsigned i = 0;

	while (i < 6 && (p[i] == ' ' || p[i] == '\t'))
		i++;
	return strtol(m_text_of(p).s + i, NULL, 10);
}

static inline int x_switch(u64 v)
{
	switch (v) {
	case 0xef53ef53ef53ull:
		return 1;
	case 0x8000000000000000ull:
		return 2;
	case 17:
		return 3;
	case 0x1122334455667788ull:
		return 4;
	case 0x7fffffffull:
		return 5;
	default:
		return 0;
	}
}

static inline int x_switch_range(u8 v)
{
	switch (v) {
	case 'a' ... 'f':
		return 1;
	case 'A' ... 'F':
		return 7;
	case '0' ... '4':
		return 3;
	case 200 ... 203:
		return 10;
	default:
		return 0;
	}
}

static const u8 x_table[64] = { 9, 33, 2, 61, 40, 5, 17, 22, 48, 3,  50, 11, 8, 35, 27, 60,
				1, 6,  7, 12, 13, 4, 15, 16, 63, 18, 19, 20, 0, 21, 23, 24 };

static inline u32 x_crc32(const u8 *p, unsigned n)
{
	u32 crc = 0xffffffffu;

	for (unsigned i = 0; i < n; i++) {
		crc ^= p[i];
		for (int k = 0; k < 8; k++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
	}
	return ~crc;
}

static inline u8 x_crc8(const u8 *p, unsigned n)
{
	u8 crc = 0;

	for (unsigned i = 0; i < n; i++) {
		crc ^= p[i];
		for (int k = 0; k < 8; k++)
			crc = (u8)(crc << 1 ^ (crc & 0x80 ? 0x07 : 0));
	}
	return crc;
}

static int x_by_byte(const void *a, const void *b)
{
	return (int)*(const u8 *)a - (int)*(const u8 *)b;
}

static inline u32 x_sorted(const u8 *p)
{
	u8 four[4];

	memcpy(four, p, 4);
	qsort(four, 4, 1, x_by_byte);
	return (u32)four[0] << 24 | (u32)four[1] << 16 | (u32)four[2] << 8 | four[3];
}

static const u16 x_rising[] = { 3, 77, 300, 512, 1000, 4711, 9000, 60000 };

static int x_by_word(const void *a, const void *b)
{
	return (int)*(const u16 *)a - (int)*(const u16 *)b;
}

static inline long x_bsearch(u16 v)
{
	const u16 *at = bsearch(&v, x_rising, 8, 2, x_by_word);

	return at ? at - x_rising : -1;
}

static inline int x_jump_back(const u8 *p)
{
	volatile int times = 0;
	jmp_buf at;

	if (setjmp(at) == 2)
		return 3;
	times++;
	if (times < 3 && p[times] == 0x20 + times)
		longjmp(at, times);
	return times;
}

static __attribute__((noinline)) unsigned x_recursive(const u8 *p, unsigned n)
{
	return !n || p[0] > 20 ? 0 : p[0] + x_recursive(p + 1, n - 1);
}

static inline unsigned x_union(const u8 *p)
{
	union {
		u32 word;
		u16 half[2];
		u8 byte[4];
	} u;

	memcpy(&u.word, p, 4);
	u.half[0] = (u16)(u.half[0] + u.byte[3]);
	u.byte[1] ^= u.byte[2];
	return u.half[0];
}

#endif
