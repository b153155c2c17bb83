/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sym_vectors: more of what the functions of sym_shapes.def are made of: loops that a compiler
 * turns into vectors, and floating point on the way.
 */
#ifndef TESTS_SYM_VECTORS_H
#define TESTS_SYM_VECTORS_H

#include "sym_shapes.h"

static inline int sorted(const u8 *p)
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

static inline u32 sum_bytes(const u8 *p)
{
	u32 sum = 0;

	for (unsigned i = 0; i < 16; i++)
		sum += p[i];
	return sum;
}

static inline u32 sum_words(const u8 *p)
{
	u32 sum = 0;

	for (unsigned i = 0; i < 4; i++)
		sum += le32(p + 4 * i);
	return sum;
}

static inline u32 dot(const u8 *p)
{
	static const i16 by[8] = { 1, -2, 3, -4, 5, -6, 7, -8 };
	i32 sum = 0;

	for (unsigned i = 0; i < 8; i++)
		sum += (i16)le16(p + 2 * i) * by[i];
	return (u32)sum;
}

static inline unsigned count_bytes(const u8 *p, u8 what)
{
	unsigned n = 0;

	for (unsigned i = 0; i < 16; i++)
		n += p[i] == what;
	return n;
}

static inline u8 most(const u8 *p)
{
	u8 m = 0;

	for (unsigned i = 0; i < 16; i++)
		m = p[i] > m ? p[i] : m;
	return m;
}

static inline i16 least_signed(const u8 *p)
{
	i16 m = 32767;

	for (unsigned i = 0; i < 8; i++)
		m = (i16)le16(p + 2 * i) < m ? (i16)le16(p + 2 * i) : m;
	return m;
}

static inline u32 distance(const u8 *p)
{
	u32 sum = 0;

	for (unsigned i = 0; i < 8; i++)
		sum += p[i] > p[8 + i] ? p[i] - p[8 + i] : p[8 + i] - p[i];
	return sum;
}

static inline int backwards(const u8 *p)
{
	u8 b[16];

	for (unsigned i = 0; i < 16; i++)
		b[i] = p[15 - i];
	return !memcmp(b, "fedcba98", 8);
}

static inline int masked(const u8 *p)
{
	u8 b[16];

	for (unsigned i = 0; i < 16; i++)
		b[i] = (p[i] & 0x0f) ^ (u8)(i * 3);
	return b[3] == 2 && b[12] == 0x20 && b[15] == 0x25;
}

static inline int shifted(const u8 *p)
{
	u32 v[4], any = 0;

	memcpy(v, p, sizeof(v));
	for (unsigned i = 0; i < 4; i++)
		v[i] = v[i] << 3 | v[i] >> 29;
	for (unsigned i = 0; i < 4; i++)
		any |= v[i] ^ 0x12345678;
	return !any;
}

static inline int saturated(const u8 *p)
{
	u32 n = 0;

	for (unsigned i = 0; i < 8; i++) {
		unsigned sum = (unsigned)p[i] + p[8 + i];

		n += (sum > 255 ? 255 : sum) == 255;
	}
	return n >= 7;
}

/* Where the number goes through floating point, the path fixes it. What follows is free. */
static inline int through_float(const u8 *p)
{
	double d = (double)le16(p) * 1.5;

	return d > 4e4 ? p[4] == 9 : p[4] + p[5] == 77;
}

#endif
