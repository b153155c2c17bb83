/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * chunk: a content-addressed store of 4 KiB chunks, shared by any number of disks. Equal contents
 * are kept once, under their XXH3-128 digest.
 *
 * A chunk is either
 *   private  writable, not yet hashed, not in the index; or
 *   sealed   never changed again, in the index, the only sealed chunk with its contents.
 * as_chunk_own() leads from any chunk to a private one, as_chunk_seal() to a sealed one. Hashing
 * happens in seal and nowhere else, so that a chunk written a hundred times is hashed once.
 *
 * The zero chunk is the NULL reference: there is one, it costs nothing, and every function here
 * takes and returns it like any other chunk.
 *
 * References are counted. A store and all that refers to it belong to one thread.
 */
#ifndef AS_DISK_CHUNK_H
#define AS_DISK_CHUNK_H

#include "base/hash.h"

#include <stdbool.h>
#include <stdint.h>

#define AS_CHUNK_BYTES 4096u

struct as_chunks; /* the store */
struct as_chunk; /* one chunk; NULL is the zero chunk */

struct as_chunks_stats {
	uint64_t sealed, private; /* chunks, each counted once however often it is referred to */
	uint64_t data_bytes; /* contents of both */
	uint64_t memory_bytes; /* contents, heads, index, and what as_chunks_charge() added */
};

struct as_chunks *as_chunks_new(void);
/* Nothing may refer to the store any more, which is asserted. Takes NULL. */
void as_chunks_free(struct as_chunks *store);
struct as_chunks_stats as_chunks_stats(const struct as_chunks *store);
/* Adds memory held by users of the store (the nodes of disks) to its statistics; negative when it
 * is given back. */
void as_chunks_charge(struct as_chunks *store, int64_t bytes);

/* One more reference to the same chunk. */
struct as_chunk *as_chunk_ref(struct as_chunk *chunk);
void as_chunk_unref(struct as_chunks *store, struct as_chunk *chunk);

/* Gives up the caller's reference to chunk and returns one to a private chunk that nobody else
 * refers to. Its contents are the same, or undefined when `overwrite` says that the caller is about
 * to write all of it. Must be called again before each change. */
struct as_chunk *as_chunk_own(struct as_chunks *store, struct as_chunk *chunk, bool overwrite);
/* Gives up the caller's reference to chunk and returns one to the sealed chunk with the same
 * contents: NULL where they are zeros. */
struct as_chunk *as_chunk_seal(struct as_chunks *store, struct as_chunk *chunk);

/* The contents; for the zero chunk a page of zeros. */
const unsigned char *as_chunk_data(const struct as_chunk *chunk);
/* Where to write; valid only right after as_chunk_own(). */
unsigned char *as_chunk_bytes(struct as_chunk *chunk);
/* Whether its digest is known. */
bool as_chunk_is_sealed(const struct as_chunk *chunk);
/* The digest of a sealed chunk (asserted), or AS_DIGEST_ZERO for the zero chunk. */
struct as_digest as_chunk_digest(const struct as_chunk *chunk);
/* Whether the contents are the same. It compares digests where both chunks are sealed, else bytes.
 * The chunks may belong to different stores. */
bool as_chunk_same(const struct as_chunk *a, const struct as_chunk *b);

#endif
