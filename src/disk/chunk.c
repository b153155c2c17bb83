/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * chunk: the content-addressed store (see chunk.h).
 *
 * Method. The index is a base/table of the sealed chunks by their digests. It shrinks with its
 * contents: a store that has become empty is small again.
 *
 * Invariants
 *   1. Every sealed chunk is in the index exactly once; no private chunk is.
 *   2. No two sealed chunks have the same digest, and none is all zeros.
 *   3. The bytes of a chunk change only between as_chunk_own(), which returns it with refs 1, and
 *      the next as_chunk_ref() or as_chunk_seal().
 *   4. `hashed` says that `digest` is that of the bytes; it is cleared by as_chunk_own(). A private
 *      chunk that several owners seal one after the other is hashed by the first only.
 *
 * Two different contents with the same 128-bit digest would be taken for one. That does not happen
 * by chance, and nobody would gain anything by forging it.
 */
#include "disk/chunk.h"

#include "base/err.h"
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

struct as_chunk {
	struct as_digest digest;
	uint32_t refs;
	bool sealed, hashed;
	unsigned char data[AS_CHUNK_BYTES] __attribute__((aligned(16)));
};

struct as_chunks {
	struct as_table sealed; /* by digest */
	uint64_t private;
	int64_t charged_bytes;
};

static const unsigned char zeros[AS_CHUNK_BYTES] __attribute__((aligned(16)));

/* ---- Index ---------------------------------------------------------------------------------- */

static bool has_digest(const void *ctx, size_t item)
{
	return ((const struct as_chunk *)as_table_ptr(item))->digest.hi ==
	       ((const struct as_digest *)ctx)->hi;
}

static struct as_chunk *find_sealed(const struct as_chunks *store, struct as_digest digest)
{
	return as_table_ptr(as_table_find(&store->sealed, digest.lo, has_digest, &digest));
}

/* ---- Store ---------------------------------------------------------------------------------- */

struct as_chunks *as_chunks_new(void)
{
	return as_xcalloc(1, sizeof(struct as_chunks));
}

void as_chunks_free(struct as_chunks *store)
{
	if (!store)
		return;
	as_assert(!store->sealed.n && !store->private && !store->charged_bytes);
	as_table_free(&store->sealed);
	free(store);
}

struct as_chunks_stats as_chunks_stats(const struct as_chunks *store)
{
	uint64_t n = store->sealed.n + store->private;

	return (struct as_chunks_stats){
		.sealed = store->sealed.n,
		.private = store->private,
		.data_bytes = n * AS_CHUNK_BYTES,
		.memory_bytes = sizeof(*store) + n * sizeof(struct as_chunk) +
				as_table_bytes(&store->sealed) + (uint64_t)store->charged_bytes,
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
		as_table_remove_ptr(&store->sealed, chunk->digest.lo, chunk);
	else
		store->private --;
	free(chunk);
}

struct as_chunk *as_chunk_own(struct as_chunks *store, struct as_chunk *chunk, bool overwrite)
{
	struct as_chunk *copy;

	if (chunk && chunk->refs == 1) {
		if (chunk->sealed) {
			as_table_remove_ptr(&store->sealed, chunk->digest.lo, chunk);
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
	same = find_sealed(store, chunk->digest);
	if (same) {
		as_chunk_ref(same);
		as_chunk_unref(store, chunk);
		return same;
	}
	chunk->sealed = true;
	store->private --;
	as_table_add_ptr(&store->sealed, chunk->digest.lo, chunk);
	return chunk;
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

bool as_chunk_is_sealed(const struct as_chunk *chunk)
{
	return !chunk || chunk->sealed;
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
