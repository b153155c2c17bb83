/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hash: libxxhash does the work. This file holds only the names and the printed form (hi before
 * lo). */
#include "base/hash.h"

/* It is inlined because most inputs are so short that a call would cost more than the hashing. */
#define XXH_INLINE_ALL
#include <xxhash.h>

/* Beyond this XXH3 works in stripes, for which there are wider instructions. */
#define SHORT_BYTES 240u

static bool is_wide; /* the processor has them */

__attribute__((constructor)) static void ask_processor(void)
{
#ifdef __x86_64__
	__builtin_cpu_init();
	is_wide = __builtin_cpu_supports("avx2");
#endif
}

struct as_digest as_hash(const void *data, size_t len)
{
	XXH128_hash_t h;

	if (len > SHORT_BYTES && is_wide)
		return as_hash_wide(data, len);
	h = XXH3_128bits(data, len);

	return (struct as_digest){ h.low64, h.high64 };
}

struct as_digest as_hash_seeded(const void *data, size_t len, uint64_t seed)
{
	XXH128_hash_t h = XXH3_128bits_withSeed(data, len, seed);

	return (struct as_digest){ h.low64, h.high64 };
}

uint64_t as_hash64(const void *data, size_t len)
{
	return XXH3_64bits(data, len);
}

void as_digest_hex(struct as_digest digest, char hex[static AS_DIGEST_HEX_LEN + 1])
{
	for (int i = 0; i < AS_DIGEST_HEX_LEN; i++) {
		uint64_t half = i < 16 ? digest.hi : digest.lo;

		hex[i] = "0123456789abcdef"[half >> (60 - 4 * (i % 16)) & 15];
	}
	hex[AS_DIGEST_HEX_LEN] = 0;
}

int as_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool as_digest_parse(const char *hex, struct as_digest *digest)
{
	struct as_digest d = AS_DIGEST_ZERO;

	for (int i = 0; i < AS_DIGEST_HEX_LEN; i++) {
		uint64_t *half = i < 16 ? &d.hi : &d.lo;
		int value = as_hex_digit(hex[i]);

		if (value < 0)
			return false;
		*half = *half << 4 | (uint64_t)value;
	}
	if (hex[AS_DIGEST_HEX_LEN])
		return false;
	*digest = d;
	return true;
}
