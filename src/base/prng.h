/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prng: splitmix64. The same seed gives the same numbers on every machine. Only base/choice and
 * benchmarks use it; all other code asks as_choose(). */
#ifndef AS_BASE_PRNG_H
#define AS_BASE_PRNG_H

#include <stdint.h>

struct as_prng {
	uint64_t state;
};

static inline struct as_prng as_prng_seed(uint64_t seed)
{
	return (struct as_prng){ seed };
}

uint64_t as_prng_next(struct as_prng *prng);
/* Uniform in 0..n-1, n >= 1, without modulo bias. */
uint64_t as_prng_below(struct as_prng *prng, uint64_t n);

#endif
