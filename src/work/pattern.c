/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pattern: the data patterns. Word w (bytes 8w..8w+7, little-endian) of pattern n is a mix of n and
 * w; pattern 0 is zeros. No word depends on another, so any range can be made or checked by itself.
 */
#include "work/op.h"

#include "base/hash.h"

#include <endian.h>
#include <string.h>

#define STEP_PATTERN 0x9e3779b97f4a7c15u
#define STEP_WORD 0xd1342543de82ef95u
#define SALT 0x61737361792e6f6bu /* without it a small n and w 0 would mix to small differences */

static inline uint64_t word_at(uint64_t base, uint64_t w)
{
	return htole64(as_mix64((base + w * STEP_WORD) ^ SALT));
}

void as_pattern_key_fill(uint64_t key, uint64_t off, void *buf, size_t len)
{
	uint64_t base = key, w = off / 8, word;
	unsigned char *p = buf;
	size_t head = off % 8;

	if (head && len) {
		size_t n = len < 8 - head ? len : 8 - head;

		word = word_at(base, w++);
		memcpy(p, (unsigned char *)&word + head, n);
		p += n;
		len -= n;
	}
	for (; len >= 8; len -= 8, p += 8) {
		word = word_at(base, w++);
		memcpy(p, &word, 8);
	}
	if (len) {
		word = word_at(base, w);
		memcpy(p, &word, len);
	}
}

void as_pattern_fill(uint64_t pattern, uint64_t off, void *buf, size_t len)
{
	if (pattern == 0)
		memset(buf, 0, len);
	else
		as_pattern_key_fill(pattern * STEP_PATTERN, off, buf, len);
}

/* as_mix64() backwards: each factor has an inverse modulo 2^64, each shift undoes itself. */
static inline uint64_t unmix(uint64_t x)
{
	x ^= x >> 31 ^ x >> 62;
	x *= 0x319642b2d24d8ec3u;
	x ^= x >> 27 ^ x >> 54;
	x *= 0x96de1b173f119089u;
	return x ^ x >> 30 ^ x >> 60;
}

uint64_t as_pattern_word_key(const void *word, uint64_t word_index)
{
	uint64_t x;

	memcpy(&x, word, 8);
	return (unmix(le64toh(x)) ^ SALT) - word_index * STEP_WORD;
}

uint64_t as_pattern_key(uint64_t pattern, uint64_t moved_words)
{
	return pattern * STEP_PATTERN + moved_words * STEP_WORD;
}

uint64_t as_pattern_of_key(uint64_t key)
{
	return key * 0xf1de83e19937733du; /* the inverse of STEP_PATTERN */
}

static size_t zeros(const unsigned char *p, size_t len)
{
	size_t i = 0;

	for (uint64_t word; i + 8 <= len; i += 8) {
		memcpy(&word, p + i, 8);
		if (word)
			break;
	}
	while (i < len && p[i] == 0)
		i++;
	return i;
}

size_t as_pattern_check(uint64_t pattern, uint64_t off, const void *buf, size_t len)
{
	uint64_t base = pattern * STEP_PATTERN;
	const unsigned char *p = buf;
	size_t i = 0;

	if (pattern == 0)
		return zeros(p, len);
	while (i < len) {
		uint64_t word = word_at(base, (off + i) / 8), got;
		size_t head = (off + i) % 8;
		size_t n = len - i < 8 - head ? len - i : 8 - head;

		if (n == 8) {
			memcpy(&got, p + i, 8);
			if (got == word) {
				i += 8;
				continue;
			}
		}
		for (size_t j = 0; j < n; j++) {
			if (p[i + j] != ((unsigned char *)&word)[head + j])
				return i + j;
		}
		i += n;
	}
	return len;
}
