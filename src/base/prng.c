/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prng: Steele, Lea and Flood's splitmix64; the bounded draw is Lemire's multiply-and-reject. */
#include "base/prng.h"

#include "base/err.h"
#include "base/hash.h"

uint64_t as_prng_next(struct as_prng *prng)
{
	prng->state += 0x9e3779b97f4a7c15u;
	return as_mix64(prng->state);
}

uint64_t as_prng_below(struct as_prng *prng, uint64_t n)
{
	unsigned __int128 product;

	as_assert(n >= 1);
	product = (unsigned __int128)as_prng_next(prng) * n;
	if ((uint64_t)product < n) {
		/* The lowest 2^64 mod n values of the low half would be drawn too often: these are
		 * drawn again. */
		uint64_t excess = -n % n;

		while ((uint64_t)product < excess)
			product = (unsigned __int128)as_prng_next(prng) * n;
	}
	return (uint64_t)(product >> 64);
}
