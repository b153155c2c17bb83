/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * chunk: the content-addressed store (see chunk.h).
 *
 * Method. The index is one open-addressing table with linear probing. A slot holds the low half of
 * the digest beside the pointer, so that a probe touches a chunk only when it is almost certainly
 * the right one. Removal shifts the followers back, so there are no tombstones, and the table
 * shrinks with its contents: a store that has become empty is small again. The index is not a
 * base/table, which holds indexes of an array, because chunks are in no array, and because that
 * table never shrinks.
 *
 * Invariants
 *   1. Every sealed chunk is in the index exactly once; no private chunk is.
 *   2. No two sealed chunks have the same digest, and none is all zeros.
 *   3. The bytes of a chunk change only between as_chunk_own(), which returns it with refs 1, and
 *      the next as_chunk_ref() or as_chunk_seal().
 *   4. `hashed` says that `digest` is that of the bytes; it is cleared by as_chunk_own(). A private
 *      chunk that several owners seal one after the other is hashed by the first only.
 *   5. The table is at most half full, so that probing ends.
 *
 * Two different contents with the same 128-bit digest would be taken for one. That does not happen
 * by chance, and nobody would gain anything by forging it.
 */
#include "disk/chunk.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

#define INDEX_MIN 64u

struct as_chunk {
	struct as_digest digest;
	uint32_t refs;
	bool sealed, hashed;
	unsigned char data[AS_CHUNK_BYTES] __attribute__((aligned(16)));
};

struct chunk_slot {
	uint64_t key; /* digest.lo */
	struct as_chunk *chunk; /* NULL: empty */
};

struct as_chunks {
	struct chunk_slot *slots;
	uint64_t mask; /* number of slots - 1 */
	uint64_t sealed, private;
	int64_t charged_bytes;
};

static const unsigned char zeros[AS_CHUNK_BYTES] __attribute__((aligned(16)));

/* ---- Index ---------------------------------------------------------------------------------- */

/* Where the digest is, or the empty slot where it belongs. */
static uint64_t index_find(const struct as_chunks *store, struct as_digest digest)
{
	uint64_t at = digest.lo & store->mask;

	while (store->slots[at].chunk && (store->slots[at].key != digest.lo ||
					  store->slots[at].chunk->digest.hi != digest.hi))
		at = (at + 1) & store->mask;
	return at;
}

static void index_resize(struct as_chunks *store, uint64_t n_slots)
{
	struct chunk_slot *old = store->slots;
	uint64_t n_old = store->mask + 1;

	store->slots = as_xcalloc(n_slots, sizeof(*store->slots));
	store->mask = n_slots - 1;
	for (uint64_t i = 0; i < n_old; i++)
		if (old[i].chunk)
			store->slots[index_find(store, old[i].chunk->digest)] = old[i];
	free(old);
}

static void index_insert(struct as_chunks *store, uint64_t at, struct as_chunk *chunk)
{
	store->slots[at] = (struct chunk_slot){ chunk->digest.lo, chunk };
	store->sealed++;
	if (store->sealed * 2 > store->mask + 1)
		index_resize(store, (store->mask + 1) * 2);
}

/* Closes the gap that it leaves: each follower moves up unless that would put it before its
 * home. */
static void index_remove(struct as_chunks *store, const struct as_chunk *chunk)
{
	uint64_t gap = index_find(store, chunk->digest), at = gap;

	as_assert(store->slots[gap].chunk == chunk);
	for (;;) {
		at = (at + 1) & store->mask;
		if (!store->slots[at].chunk)
			break;
		if (((at - store->slots[at].key) & store->mask) < ((at - gap) & store->mask))
			continue;
		store->slots[gap] = store->slots[at];
		gap = at;
	}
	store->slots[gap].chunk = NULL;
	store->sealed--;
	if (store->mask + 1 > INDEX_MIN && store->sealed * 16 < store->mask + 1)
		index_resize(store,
			     (store->mask + 1) / 4 > INDEX_MIN ? (store->mask + 1) / 4 : INDEX_MIN);
}

/* ---- Store ---------------------------------------------------------------------------------- */

struct as_chunks *as_chunks_new(void)
{
	struct as_chunks *store = as_xcalloc(1, sizeof(*store));

	store->slots = as_xcalloc(INDEX_MIN, sizeof(*store->slots));
	store->mask = INDEX_MIN - 1;
	return store;
}

void as_chunks_free(struct as_chunks *store)
{
	if (!store)
		return;
	as_assert(!store->sealed && !store->private && !store->charged_bytes);
	free(store->slots);
	free(store);
}

struct as_chunks_stats as_chunks_stats(const struct as_chunks *store)
{
	uint64_t n = store->sealed + store->private;

	return (struct as_chunks_stats){
		.sealed = store->sealed,
		.private = store->private,
		.data_bytes = n * AS_CHUNK_BYTES,
		.memory_bytes = sizeof(*store) + n * sizeof(struct as_chunk) +
				(store->mask + 1) * sizeof(struct chunk_slot) +
				(uint64_t)store->charged_bytes,
	};
}

void as_chunks_charge(struct as_chunks *store, int64_t bytes)
{
	store->charged_bytes += bytes;
	as_assert(store->charged_bytes >= 0);
}

/* ---- Chunks --------------------------------------------------------------------------------- */

static struct as_chunk *new_private(struct as_chunks *store)
{
	struct as_chunk *chunk = as_xmalloc(sizeof(*chunk));

	chunk->refs = 1;
	chunk->sealed = chunk->hashed = false;
	store->private ++;
	return chunk;
}

struct as_chunk *as_chunk_ref(struct as_chunk *chunk)
{
	if (chunk) {
		as_assert(chunk->refs < UINT32_MAX);
		chunk->refs++;
	}
	return chunk;
}

void as_chunk_unref(struct as_chunks *store, struct as_chunk *chunk)
{
	if (!chunk || --chunk->refs)
		return;
	if (chunk->sealed)
		index_remove(store, chunk);
	else
		store->private --;
	free(chunk);
}

struct as_chunk *as_chunk_own(struct as_chunks *store, struct as_chunk *chunk, bool overwrite)
{
	struct as_chunk *copy;

	if (chunk && chunk->refs == 1) {
		if (chunk->sealed) {
			index_remove(store, chunk);
			store->private ++;
		}
		chunk->sealed = chunk->hashed = false;
		return chunk;
	}
	copy = new_private(store);
	if (!overwrite)
		memcpy(copy->data, as_chunk_data(chunk), AS_CHUNK_BYTES);
	as_chunk_unref(store, chunk);
	return copy;
}

struct as_chunk *as_chunk_seal(struct as_chunks *store, struct as_chunk *chunk)
{
	struct as_chunk *same;
	uint64_t at;

	if (!chunk || chunk->sealed)
		return chunk;
	if (!memcmp(chunk->data, zeros, AS_CHUNK_BYTES)) {
		as_chunk_unref(store, chunk);
		return NULL;
	}
	if (!chunk->hashed) {
		chunk->digest = as_hash(chunk->data, AS_CHUNK_BYTES);
		chunk->hashed = true;
	}
	at = index_find(store, chunk->digest);
	same = store->slots[at].chunk;
	if (same) {
		as_chunk_ref(same);
		as_chunk_unref(store, chunk);
		return same;
	}
	chunk->sealed = true;
	store->private --;
	index_insert(store, at, chunk);
	return chunk;
}

struct as_chunk *as_chunk_put(struct as_chunks *store, const void *data)
{
	struct as_chunk *chunk;

	if (!memcmp(data, zeros, AS_CHUNK_BYTES))
		return NULL;
	chunk = new_private(store);
	memcpy(chunk->data, data, AS_CHUNK_BYTES);
	return as_chunk_seal(store, chunk);
}

const unsigned char *as_chunk_data(const struct as_chunk *chunk)
{
	return chunk ? chunk->data : zeros;
}

unsigned char *as_chunk_bytes(struct as_chunk *chunk)
{
	as_assert(chunk && chunk->refs == 1 && !chunk->sealed && !chunk->hashed);
	return chunk->data;
}

struct as_digest as_chunk_digest(const struct as_chunk *chunk)
{
	as_assert(!chunk || chunk->sealed);
	return chunk ? chunk->digest : AS_DIGEST_ZERO;
}

bool as_chunk_same(const struct as_chunk *a, const struct as_chunk *b)
{
	if (a == b)
		return true;
	if ((!a || a->sealed) && (!b || b->sealed))
		return a && b && as_digest_eq(a->digest, b->digest);
	return !memcmp(as_chunk_data(a), as_chunk_data(b), AS_CHUNK_BYTES);
}
