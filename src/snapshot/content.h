/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * content: the bytes of a file or of an attribute's value in a short form: zeros, runs of the
 * workload's data patterns (work/op.h), and bytes for what is neither. Equal bytes have equal
 * forms, and the model's runs have the same form, so that megabytes are compared by a few numbers.
 *
 * A word of pattern n at word w is mix64((n * P + w * S) ^ SALT), and mix64 can be inverted: so a
 * word tells the sum n * P + w * S, and two words that follow each other must differ by S. A run is
 * known by its key, which is that sum less (its place in the file) * S: for data where it was
 * written, n * P.
 */
#ifndef AS_SNAPSHOT_CONTENT_H
#define AS_SNAPSHOT_CONTENT_H

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum as_piece_kind {
	AS_PIECE_ZERO,
	AS_PIECE_PATTERN,
	AS_PIECE_BYTES,
	AS_PIECE_UNREAD, /* the middle of a file that is too large to be read */
};

/* Pieces cover the content without gaps; neighbours are of different kind or key. */
struct as_content_piece {
	uint64_t start, len;
	enum as_piece_kind kind;
	uint64_t key; /* PATTERN */
	const unsigned char *bytes; /* BYTES */
};

/* Counted; never changes once done. */
struct as_content {
	uint32_t ref, n;
	uint64_t size;
	struct as_digest digest; /* of the pieces */
	struct as_content_piece piece[];
};

/* Made piece by piece from a file's beginning. */
struct as_content_maker;
struct as_content_maker *as_content_maker_new(void);
void as_content_maker_free(struct as_content_maker *maker); /* takes NULL */
/* Adds the next bytes; their number is a multiple of 8, except in the last call. */
void as_content_maker_add(struct as_content_maker *maker, const void *data, size_t len);
void as_content_maker_skip(struct as_content_maker *maker, uint64_t len); /* unread */
/* Adds the next piece as it is; bytes: for AS_PIECE_BYTES only. */
void as_content_maker_piece(struct as_content_maker *maker, enum as_piece_kind kind, uint64_t key,
			    uint64_t len, const void *bytes);
/* The content; the maker is then empty and ready for the next one. */
struct as_content *as_content_maker_done(struct as_content_maker *maker);

struct as_content *as_content_of_bytes(const void *data, size_t len);
struct as_content *as_content_get(const struct as_content *content);
void as_content_put(const struct as_content *content); /* takes NULL */
static inline bool as_content_eq(const struct as_content *a, const struct as_content *b)
{
	return a == b || (a->size == b->size && as_digest_eq(a->digest, b->digest));
}

/* The key of pattern `pattern` whose byte `from` stands at `start`; false where the distance is no
 * multiple of 8: such a run is found as bytes, not by its key. */
bool as_content_key(uint64_t pattern, uint64_t start, uint64_t from, uint64_t *key);
/* The pattern of a key, if its data stands where it was written: then the key is n * P. */
uint64_t as_content_pattern(uint64_t key);
/* Bytes off..off+len-1 of the piece, for comparing with a run that has no key. */
void as_piece_bytes(const struct as_content_piece *piece, uint64_t off, void *buf, size_t len);
/* The piece that holds the byte at off (< size). */
const struct as_content_piece *as_content_at(const struct as_content *content, uint64_t off);

#endif
