/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * content: see content.h.
 *
 * Method. Words are looked at one by one. A word that has the key of the current piece belongs to
 * it; two words in a row with the same key begin a new piece; zeros are a piece of their own. What
 * is left are bytes: the first few of them may still belong to the current piece, and the last few
 * to the next one. Data arrives in parts of fixed size. Each part is recognised by itself, and
 * joined with what came before where kind and key are the same: so equal bytes always give equal
 * pieces.
 */
#include "snapshot/content.h"

#include "base/array.h"
#include "base/err.h"
#include "work/op.h"

#include <stdlib.h>
#include <string.h>

struct as_content_maker {
	struct as_content_piece *piece;
	uint32_t n;
	size_t cap;
	uint64_t size;
	unsigned char *bytes; /* of all BYTES pieces, one after the other */
	size_t n_bytes, cap_bytes;
};

struct as_content_maker *as_content_maker_new(void)
{
	return as_xcalloc(1, sizeof(struct as_content_maker));
}

void as_content_maker_free(struct as_content_maker *maker)
{
	if (!maker)
		return;
	free(maker->piece);
	free(maker->bytes);
	free(maker);
}

static struct as_content_piece *last_piece(struct as_content_maker *m)
{
	return m->n ? &m->piece[m->n - 1] : NULL;
}

/* Adds len bytes of a kind after what is there. */
static void grow(struct as_content_maker *m, enum as_piece_kind kind, uint64_t key, uint64_t len)
{
	struct as_content_piece *last = last_piece(m);

	if (len == 0)
		return;
	if (!last || last->kind != kind || last->key != key) {
		AS_ARRAY_ROOM(m->piece, m->n, m->cap);
		last = &m->piece[m->n++];
		*last = (struct as_content_piece){ .start = m->size, .kind = kind, .key = key };
	}
	last->len += len;
	m->size += len;
}

static void grow_bytes(struct as_content_maker *m, const unsigned char *data, size_t len)
{
	if (len == 0)
		return;
	AS_ARRAY_ROOM_FOR(m->bytes, m->n_bytes, len, m->cap_bytes);
	memcpy(m->bytes + m->n_bytes, data, len);
	m->n_bytes += len;
	grow(m, AS_PIECE_BYTES, 0, len);
}

/* How many of the next len (at most 8) bytes continue the current piece. */
static size_t goes_on(const struct as_content_piece *last, uint64_t at, const unsigned char *data,
		      size_t len)
{
	unsigned char want[8] = { 0 };
	size_t n = 0;

	if (!last || (last->kind != AS_PIECE_PATTERN && last->kind != AS_PIECE_ZERO))
		return 0;
	if (last->kind == AS_PIECE_PATTERN)
		as_pattern_key_fill(last->key, at, want, len);
	while (n < len && data[n] == want[n])
		n++;
	return n;
}

/* Adds bytes that are neither zeros nor words of a pattern. */
static void add_odd(struct as_content_maker *m, const unsigned char *data, size_t len)
{
	const struct as_content_piece *last = last_piece(m);
	size_t n = goes_on(last, m->size, data, len);

	if (n)
		grow(m, last->kind, last->key, n);
	grow_bytes(m, data + n, len - n);
}

/* A run begins here: the bytes right before it may belong to it, too. */
static void begin(struct as_content_maker *m, enum as_piece_kind kind, uint64_t key)
{
	struct as_content_piece *last = last_piece(m);
	unsigned char want[8] = { 0 };
	uint64_t n = 0, room;

	if (!last || last->kind != AS_PIECE_BYTES)
		return;
	room = last->len < 7 ? last->len : 7;
	if (kind == AS_PIECE_PATTERN)
		as_pattern_key_fill(key, m->size - room, want, room);
	while (n < room && m->bytes[m->n_bytes - 1 - n] == want[room - 1 - n])
		n++;
	last->len -= n;
	m->n_bytes -= n;
	m->size -= n;
	if (last->len == 0)
		m->n--;
	grow(m, kind, key, n);
}

static bool is_zero(const unsigned char *word)
{
	uint64_t x;

	memcpy(&x, word, 8);
	return x == 0;
}

/* Words from i on that are zero. */
static size_t zero_words(const unsigned char *data, size_t i, size_t words)
{
	size_t n = 0;

	while (i + n < words && is_zero(data + 8 * (i + n)))
		n++;
	return n;
}

/* Words from i on that have this key. */
static size_t key_words(const unsigned char *data, size_t i, size_t words, uint64_t first_word,
			uint64_t key)
{
	size_t n = 0;

	while (i + n < words && as_pattern_word_key(data + 8 * (i + n), first_word + i + n) == key)
		n++;
	return n;
}

void as_content_maker_add(struct as_content_maker *m, const void *data, size_t len)
{
	const unsigned char *p = data;
	size_t words = len / 8;
	uint64_t first_word = m->size / 8;

	as_assert(m->size % 8 == 0 || len == 0);
	for (size_t i = 0, n; i < words; i += n) {
		const struct as_content_piece *last = last_piece(m);
		uint64_t key;

		n = zero_words(p, i, words);
		if (n) {
			begin(m, AS_PIECE_ZERO, 0);
			grow(m, AS_PIECE_ZERO, 0, 8 * n);
			continue;
		}
		key = as_pattern_word_key(p + 8 * i, first_word + i);
		n = key_words(p, i, words, first_word, key);
		if (n > 1 || (last && last->kind == AS_PIECE_PATTERN && last->key == key)) {
			begin(m, AS_PIECE_PATTERN, key);
			grow(m, AS_PIECE_PATTERN, key, 8 * n);
			continue;
		}
		n = 1;
		add_odd(m, p + 8 * i, 8);
	}
	add_odd(m, p + 8 * words, len % 8);
}

void as_content_maker_skip(struct as_content_maker *m, uint64_t len)
{
	grow(m, AS_PIECE_UNREAD, 0, len);
}

void as_content_maker_piece(struct as_content_maker *m, enum as_piece_kind kind, uint64_t key,
			    uint64_t len, const void *bytes)
{
	if (kind == AS_PIECE_BYTES)
		grow_bytes(m, bytes, len);
	else
		grow(m, kind, key, len);
}

static struct as_digest digest_of(const struct as_content *content)
{
	struct as_digest digest = { as_mix64(content->size), content->n };

	for (uint32_t i = 0; i < content->n; i++) {
		const struct as_content_piece *piece = &content->piece[i];
		struct as_digest d = { as_mix64(piece->start + ((uint64_t)piece->kind << 62)),
				       as_mix64(piece->key ^ piece->len) };

		if (piece->kind == AS_PIECE_BYTES)
			d = as_digest_bind(as_hash(piece->bytes, piece->len), piece->start);
		digest = as_digest_bind(as_digest_add(digest, d), i);
	}
	return digest;
}

struct as_content *as_content_maker_done(struct as_content_maker *m)
{
	size_t pieces = m->n * sizeof(struct as_content_piece);
	struct as_content *content = as_xmalloc(sizeof(*content) + pieces + m->n_bytes);
	unsigned char *bytes = (unsigned char *)content->piece + pieces;

	content->ref = 1;
	content->n = m->n;
	content->size = m->size;
	if (m->n)
		memcpy(content->piece, m->piece, pieces);
	if (m->n_bytes)
		memcpy(bytes, m->bytes, m->n_bytes);
	for (uint32_t i = 0; i < m->n; i++) {
		if (m->piece[i].kind != AS_PIECE_BYTES)
			continue;
		content->piece[i].bytes = bytes;
		bytes += m->piece[i].len;
	}
	content->digest = digest_of(content);
	m->n = 0;
	m->n_bytes = 0;
	m->size = 0;
	return content;
}

struct as_content *as_content_of_bytes(const void *data, size_t len)
{
	struct as_content_maker *maker = as_content_maker_new();
	struct as_content *content;

	as_content_maker_add(maker, data, len);
	content = as_content_maker_done(maker);
	as_content_maker_free(maker);
	return content;
}

struct as_content *as_content_get(const struct as_content *content)
{
	struct as_content *c = (struct as_content *)content;

	c->ref++;
	return c;
}

void as_content_put(const struct as_content *content)
{
	struct as_content *c = (struct as_content *)content;

	if (c && --c->ref == 0)
		free(c);
}

bool as_content_key(uint64_t pattern, uint64_t start, uint64_t from, uint64_t *key)
{
	if ((from - start) % 8)
		return false;
	*key = as_pattern_key(pattern, (uint64_t)((int64_t)(from - start) / 8));
	return true;
}

uint64_t as_content_pattern(uint64_t key)
{
	return as_pattern_of_key(key);
}

void as_piece_bytes(const struct as_content_piece *piece, uint64_t off, void *buf, size_t len)
{
	switch (piece->kind) {
	case AS_PIECE_PATTERN:
		as_pattern_key_fill(piece->key, off, buf, len);
		return;
	case AS_PIECE_BYTES:
		memcpy(buf, piece->bytes + (off - piece->start), len);
		return;
	case AS_PIECE_ZERO:
	case AS_PIECE_UNREAD:
		memset(buf, 0, len);
		return;
	}
}

const struct as_content_piece *as_content_at(const struct as_content *content, uint64_t off)
{
	uint32_t lo = 0, hi = content->n;

	as_assert(off < content->size);
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (content->piece[mid].start <= off)
			lo = mid;
		else
			hi = mid;
	}
	return &content->piece[lo];
}
