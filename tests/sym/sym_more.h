/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sym_more: what the functions of sym_more.def are made of: numbers as text, packed structures,
 * checksums, searches in strings, sorting, state machines, UTF-8, saturating and fixed-point
 * arithmetic.
 */
#ifndef TESTS_SYM_MORE_H
#define TESTS_SYM_MORE_H

#include "sym_vectors.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <strings.h>

/* The text at p, of at most 15 bytes. Functions of libc read up to 64 bytes at once: what lies
 * after the text must not be what another function left there. */
struct m_text {
	char s[96];
};

static inline struct m_text m_text_of(const u8 *p)
{
	struct m_text t = { "" };

	memcpy(t.s, p, 15);
	return t;
}

static inline i64 m_decimal(const u8 *p)
{
	unsigned i = p[0] == '-';
	i64 v = 0;

	for (; i < 8 && p[i] >= '0' && p[i] <= '9'; i++)
		v = v * 10 + (p[i] - '0');
	return p[0] == '-' ? -v : v;
}

static inline u32 m_hex(const u8 *p)
{
	u32 v = 0;

	for (unsigned i = 0; i < 4; i++) {
		u8 c = p[i] | 0x20;

		if (p[i] >= '0' && p[i] <= '9')
			v = v << 4 | (p[i] - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (u32)(c - 'a' + 10);
		else
			return 0xffffffff;
	}
	return v;
}

struct m_packed {
	u8 type;
	u32 block;
	u16 len;
	i64 size;
} __attribute__((packed));

static inline struct m_packed m_packed_of(const u8 *p)
{
	struct m_packed s;

	memcpy(&s, p, sizeof(s));
	return s;
}

static inline u32 m_adler(const u8 *p, unsigned n)
{
	u32 a = 1, b = 0;

	for (unsigned i = 0; i < n; i++) {
		a = (a + p[i]) % 65521;
		b = (b + a) % 65521;
	}
	return b << 16 | a;
}

static inline u32 m_fnv(const u8 *p, unsigned n)
{
	u32 h = 2166136261u;

	for (unsigned i = 0; i < n; i++)
		h = (h ^ p[i]) * 16777619u;
	return h;
}

static int m_by_word(const void *a, const void *b)
{
	u16 x, y;

	memcpy(&x, a, 2);
	memcpy(&y, b, 2);
	return (x > y) - (x < y);
}

static inline u16 m_median(const u8 *p)
{
	u16 w[3];

	memcpy(w, p, sizeof(w));
	qsort(w, 3, sizeof(w[0]), m_by_word);
	return w[1];
}

static inline bool m_is_sorted(const u8 *p)
{
	for (unsigned i = 1; i < 5; i++)
		if (p[i - 1] >= p[i])
			return false;
	return p[0] > 0x20;
}

/* A word of a small language: "a=1;". */
static inline unsigned m_state(const u8 *p)
{
	unsigned state = 0;

	for (unsigned i = 0; i < 5; i++)
		switch (state) {
		case 0:
			state = islower(p[i]) ? 1 : 9;
			break;
		case 1:
			state = p[i] == '=' ? 2 : islower(p[i]) ? 1 : 9;
			break;
		case 2:
			state = isdigit(p[i]) ? 3 : 9;
			break;
		case 3:
			state = p[i] == ';' ? 4 : isdigit(p[i]) ? 3 : 9;
			break;
		default:
			break;
		}
	return state;
}

static inline i32 m_utf8(const u8 *p)
{
	if (p[0] < 0x80)
		return p[0];
	if ((p[0] & 0xe0) == 0xc0 && (p[1] & 0xc0) == 0x80)
		return (p[0] & 0x1f) << 6 | (p[1] & 0x3f);
	if ((p[0] & 0xf0) == 0xe0 && (p[1] & 0xc0) == 0x80 && (p[2] & 0xc0) == 0x80)
		return (p[0] & 0x0f) << 12 | (p[1] & 0x3f) << 6 | (p[2] & 0x3f);
	return -1;
}

static inline u64 m_varint(const u8 *p)
{
	u64 v = 0;

	for (unsigned i = 0; i < 5; i++) {
		v |= (u64)(p[i] & 0x7f) << 7 * i;
		if (!(p[i] & 0x80))
			return v;
	}
	return UINT64_MAX;
}

static inline u16 m_saturated(u16 a, u16 b)
{
	u16 sum;

	return __builtin_add_overflow(a, b, &sum) ? 0xffff : sum;
}

static inline i32 m_isqrt(u32 v)
{
	u32 r = 0;

	for (u32 bit = 1u << 14; bit; bit >>= 1)
		if ((r | bit) * (r | bit) <= (v & 0xffff))
			r |= bit;
	return (i32)r;
}

static inline u32 m_gcd(u32 a, u32 b)
{
	for (unsigned i = 0; b && i < 6; i++) {
		u32 c = a % b;

		a = b;
		b = c;
	}
	return a;
}

static inline i64 m_days(u32 y, u32 m, u32 d)
{
	y -= m <= 2;
	return (i64)y * 365 + y / 4 - y / 100 + y / 400 + (153 * (m + (m > 2 ? -3u : 9u)) + 2) / 5 +
	       d;
}

static inline unsigned m_gray(u32 v)
{
	v ^= v >> 16;
	v ^= v >> 8;
	v ^= v >> 4;
	v ^= v >> 2;
	return v ^ v >> 1;
}

static const struct m_row {
	u8 key;
	u32 value;
} m_rows[] = { { 'a', 17 }, { 'q', 99 }, { 'z', 0x1234 }, { '0', 5 }, { 0xee, 77 } };

static inline u32 m_find(u8 key)
{
	for (unsigned i = 0; i < sizeof(m_rows) / sizeof(m_rows[0]); i++)
		if (m_rows[i].key == key)
			return m_rows[i].value;
	return 0;
}

static u32 m_one(u32 v)
{
	return v + 1;
}

static u32 m_two(u32 v)
{
	return v * 2;
}

static u32 m_three(u32 v)
{
	return v ^ 0x33;
}

static u32 (*const m_calls[])(u32) = { m_one, m_two, m_three, m_two };

static inline i32 m_leb(const u8 *p)
{
	i32 v = p[0] & 0x7f;

	if (p[0] & 0x80)
		v |= (i32)((u32)(p[1] & 0x7f) << 7);
	return p[0] & 0x80 ? (i32)((u32)v << 18) >> 18 : (i32)((u32)v << 25) >> 25;
}

#endif
