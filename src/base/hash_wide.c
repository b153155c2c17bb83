/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hash_wide: the same digests by wider instructions, for long inputs, on machines that have them.
 * All of this file is compiled for them: as_hash() calls it only after it has asked the processor.
 */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("avx2")
#endif

#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

struct as_digest as_hash_wide(const void *data, size_t len)
{
	XXH128_hash_t h = XXH3_128bits(data, len);

	return (struct as_digest){ h.low64, h.high64 };
}
