/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * seen: see seen.h. Open addressing; the table doubles in place, in address space that was reserved
 * for its largest size and takes memory only where it was touched.
 *
 * Invariants
 *   1. An empty slot is all zeros; the digest of all zeros is kept beside the table.
 *   2. At most three of four slots are used, so every search ends.
 */
#include "crash/seen.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_SLOTS 4096u
#define MOST_SLOTS ((uint64_t)1 << 24)

struct as_seen {
	uint64_t n, slots;
	bool has_zero;
	struct as_digest slot[];
};

#define TABLE_BYTES (sizeof(struct as_seen) + MOST_SLOTS * sizeof(struct as_digest))

struct as_seen *as_seen_new(void)
{
	struct as_seen *seen = mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (seen == MAP_FAILED)
		as_out_of_memory(TABLE_BYTES);
	seen->slots = FIRST_SLOTS;
	return seen;
}

void as_seen_free(struct as_seen *seen)
{
	if (seen)
		munmap(seen, TABLE_BYTES);
}

/* The slot of a digest, or the empty one where it belongs. */
static struct as_digest *find(struct as_seen *seen, struct as_digest d)
{
	uint64_t at = as_mix64(d.lo ^ d.hi) & (seen->slots - 1);

	while ((seen->slot[at].lo || seen->slot[at].hi) && !as_digest_eq(seen->slot[at], d))
		at = (at + 1) & (seen->slots - 1);
	return &seen->slot[at];
}

static void grow(struct as_seen *seen)
{
	uint64_t n = seen->slots;
	struct as_digest *old = as_xmalloc(n * sizeof(*old));

	memcpy(old, seen->slot, n * sizeof(*old));
	memset(seen->slot, 0, n * sizeof(*old));
	seen->slots = n * 2;
	for (uint64_t i = 0; i < n; i++)
		if (old[i].lo || old[i].hi)
			*find(seen, old[i]) = old[i];
	free(old);
}

bool as_seen_has(struct as_seen *seen, struct as_digest digest)
{
	const struct as_digest *slot;

	if (!digest.lo && !digest.hi)
		return seen->has_zero;
	slot = find(seen, digest);
	return slot->lo || slot->hi;
}

bool as_seen_add(struct as_seen *seen, struct as_digest digest)
{
	struct as_digest *slot;
	bool was = seen->has_zero;

	if (!digest.lo && !digest.hi) {
		seen->has_zero = true;
		return !was;
	}
	slot = find(seen, digest);
	if (slot->lo || slot->hi)
		return false;
	if (seen->n >= AS_SEEN_MAX)
		return true;
	*slot = digest;
	if (++seen->n > seen->slots / 4 * 3 && seen->slots < MOST_SLOTS)
		grow(seen);
	return true;
}
