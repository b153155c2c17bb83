/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hash: 128-bit digests (XXH3), and two ways to combine them: in order (as_hash_*), and as a
 * multiset (as_digest_add, as_digest_sub), in which order does not matter and an element can be
 * taken out again.
 */
#ifndef AS_BASE_HASH_H
#define AS_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct as_digest {
	uint64_t lo, hi;
};

#define AS_DIGEST_ZERO ((struct as_digest){ 0, 0 })
#define AS_DIGEST_HEX_LEN 32

struct as_digest as_hash(const void *data, size_t len);
/* The same, for as_hash() only. */
struct as_digest as_hash_wide(const void *data, size_t len);
struct as_digest as_hash_seeded(const void *data, size_t len, uint64_t seed);
uint64_t as_hash64(const void *data, size_t len);
/* 32 hexadecimal digits and a NUL. */
void as_digest_hex(struct as_digest digest, char hex[static AS_DIGEST_HEX_LEN + 1]);
bool as_digest_parse(const char *hex, struct as_digest *digest);
/* The value of a hexadecimal digit, or -1. */
int as_hex_digit(char c);

static inline bool as_digest_eq(struct as_digest a, struct as_digest b)
{
	return a.lo == b.lo && a.hi == b.hi;
}

/* A bijective 64-bit mix (splitmix64's finaliser). */
static inline uint64_t as_mix64(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* Multiset sum: 128-bit addition without carry between the halves, on already mixed values. */
static inline struct as_digest as_digest_add(struct as_digest a, struct as_digest b)
{
	return (struct as_digest){ a.lo + b.lo, a.hi + b.hi };
}

static inline struct as_digest as_digest_sub(struct as_digest a, struct as_digest b)
{
	return (struct as_digest){ a.lo - b.lo, a.hi - b.hi };
}

/* Binds a digest to a key before it is added to a multiset. It is cheap and not linear. */
static inline struct as_digest as_digest_bind(struct as_digest d, uint64_t key)
{
	uint64_t lo = as_mix64(d.lo + 0x9e3779b97f4a7c15u * (key | 1) + as_mix64(key));

	return (struct as_digest){ lo, as_mix64(d.hi ^ lo ^ (key << 1)) };
}

#endif
