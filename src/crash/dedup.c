/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dedup: see dedup.h. The set has a hash table of its own (not base/table.h), because it lives in
 * shared memory: that cannot move, and only one process sees what another one allocates. It uses
 * open addressing and doubles in place, in address space that was reserved for its largest size
 * and takes memory only where it was touched.
 *
 * Invariants
 *   1. An empty slot is all zeros; the digest of all zeros is kept beside the table.
 *   2. At most three of four slots are used, so every search ends.
 */
#include "crash/dedup.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_SLOTS 4096u
#define MOST_SLOTS ((uint64_t)1 << 24)

struct as_dedup {
	uint64_t n, slots;
	bool has_zero;
	struct as_digest slot[];
};

#define TABLE_BYTES (sizeof(struct as_dedup) + MOST_SLOTS * sizeof(struct as_digest))

struct as_dedup *as_dedup_new(void)
{
	struct as_dedup *dedup = mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (dedup == MAP_FAILED)
		as_out_of_memory(TABLE_BYTES);
	dedup->slots = FIRST_SLOTS;
	return dedup;
}

void as_dedup_free(struct as_dedup *dedup)
{
	if (dedup)
		munmap(dedup, TABLE_BYTES);
}

/* The slot of a digest, or the empty one where it belongs. */
static struct as_digest *find(struct as_dedup *dedup, struct as_digest d)
{
	uint64_t at = as_mix64(d.lo ^ d.hi) & (dedup->slots - 1);

	while ((dedup->slot[at].lo || dedup->slot[at].hi) && !as_digest_eq(dedup->slot[at], d))
		at = (at + 1) & (dedup->slots - 1);
	return &dedup->slot[at];
}

static void grow(struct as_dedup *dedup)
{
	uint64_t n = dedup->slots;
	struct as_digest *old = as_xmalloc(n * sizeof(*old));

	memcpy(old, dedup->slot, n * sizeof(*old));
	memset(dedup->slot, 0, n * sizeof(*old));
	dedup->slots = n * 2;
	for (uint64_t i = 0; i < n; i++)
		if (old[i].lo || old[i].hi)
			*find(dedup, old[i]) = old[i];
	free(old);
}

bool as_dedup_has(struct as_dedup *dedup, struct as_digest digest)
{
	const struct as_digest *slot;

	if (!digest.lo && !digest.hi)
		return dedup->has_zero;
	slot = find(dedup, digest);
	return slot->lo || slot->hi;
}

void as_dedup_add(struct as_dedup *dedup, struct as_digest digest)
{
	struct as_digest *slot;

	if (!digest.lo && !digest.hi) {
		dedup->has_zero = true;
		return;
	}
	slot = find(dedup, digest);
	if (slot->lo || slot->hi || dedup->n >= AS_DEDUP_MAX)
		return;
	*slot = digest;
	if (++dedup->n > dedup->slots / 4 * 3 && dedup->slots < MOST_SLOTS)
		grow(dedup);
}

/* ---- Keys ------------------------------------------------------------------------------------ */

/* The small numbers bound into digests tell kinds of keys apart. */

struct as_digest as_dedup_state(const struct as_recording *rec, struct as_digest disk,
				struct as_moment moment)
{
	size_t begun = moment.begun < rec->n_ops ? moment.begun : rec->n_ops;
	struct as_digest window = as_digest_bind(rec->upto[begun], moment.done + 3);

	return as_digest_add(as_digest_bind(disk, 5), window);
}

struct as_digest as_dedup_recrash(struct as_digest disk, enum as_way way, bool after_checker,
				  const struct as_tree *tree)
{
	return as_digest_add(as_digest_bind(disk, 11 + way + (after_checker ? 100 : 0)),
			     as_digest_bind(as_tree_digest(tree), 13));
}

struct as_digest as_dedup_twin(enum as_way way, const struct as_recovered *recovered)
{
	struct as_digest key = as_digest_bind(as_tree_digest(recovered->tree), 17 + way);

	for (size_t i = 0; i < as_reclog_len(recovered->log); i++) {
		const struct as_log_entry *e = as_reclog_at(recovered->log, i);

		if (e->kind == AS_CALL_READ)
			continue;
		key = as_digest_bind(key, e->off ^ e->len << 40 ^ (uint64_t)e->kind << 60);
		if (e->data)
			key = as_digest_add(key, as_hash(e->data, e->len));
	}
	return key;
}
