/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tape: see tape.h. Unpacked, a tape is
 *
 *	8 bytes		length of the image of the first disk
 *	...		that image (disk/image.h)
 *	8 bytes		how many operations were done
 *	8 bytes, ...	length of the words that say why it ended early, and the words
 *	entries		each: kind, operation, offset, length (8 bytes each); of a write, its bytes
 *
 * All numbers are little-endian. It is packed by zstd; a piece is "tape NUMBER OF-HOW-MANY HEX".
 */
#include "recording/tape.h"

#include "base/hash.h"
#include "disk/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define PIECE_BYTES ((size_t)256 << 10) /* of what is packed, in one piece */
#define PIECES_MAX 4096u
#define WORDS_MAX 2000u
#define LEVEL 3
#define FUA 0x100u /* with the kind */

static void add_number(struct as_buf *out, uint64_t value)
{
	unsigned char bytes[8];

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(value >> 8 * i);
	as_buf_add(out, bytes, sizeof(bytes));
}

static void add_entry(struct as_buf *out, const struct as_log_entry *e)
{
	if (e->ret || e->kind == AS_CALL_READ)
		return;
	add_number(out, (uint64_t)e->kind | (e->fua ? FUA : 0));
	add_number(out, e->op);
	add_number(out, e->off);
	add_number(out, e->len);
	if (e->kind == AS_CALL_WRITE)
		as_buf_add(out, e->data, e->len);
}

static int unpacked(const struct as_recording *r, struct as_buf *out, struct as_err *err)
{
	struct as_buf image = { 0 };
	int rc = as_image_encode(r->start, &image, err);
	size_t words = r->why.len < WORDS_MAX ? r->why.len : WORDS_MAX;

	if (!rc) {
		add_number(out, image.len);
		as_buf_add(out, as_buf_str(&image), image.len);
		add_number(out, r->n_ops);
		add_number(out, words);
		as_buf_add(out, as_buf_str(&r->why), words);
		for (size_t i = 0; i < as_reclog_len(r->log); i++)
			add_entry(out, as_reclog_at(r->log, i));
		if (out->len > AS_TAPE_MAX_BYTES)
			rc = as_fail(err, AS_EIO, "the workload writes too much to be recorded");
	}
	as_buf_free(&image);
	return rc;
}

static void add_hex(struct as_buf *out, const unsigned char *data, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		as_buf_addc(out, digits[data[i] >> 4]);
		as_buf_addc(out, digits[data[i] & 15]);
	}
}

int as_tape_print(const struct as_recording *recording, void (*piece)(void *ctx, const char *text),
		  void *ctx, struct as_err *err)
{
	struct as_buf plain = { 0 }, packed = { 0 }, text = { 0 };
	int rc = unpacked(recording, &plain, err);
	size_t room = ZSTD_compressBound(plain.len), n = 0, all;
	char *to = rc ? NULL : as_buf_reserve(&packed, room);

	if (to)
		n = ZSTD_compress(to, room, as_buf_str(&plain), plain.len, LEVEL);
	if (!rc && ZSTD_isError(n))
		rc = as_fail(err, AS_EIO, "cannot pack a recording");
	all = (n + PIECE_BYTES - 1) / PIECE_BYTES;
	for (size_t i = 0; !rc && i < all; i++) {
		size_t at = i * PIECE_BYTES, len = n - at < PIECE_BYTES ? n - at : PIECE_BYTES;

		as_buf_clear(&text);
		as_buf_addf(&text, "tape %zu %zu ", i, all);
		add_hex(&text, (const unsigned char *)to + at, len);
		piece(ctx, as_buf_str(&text));
	}
	as_buf_free(&plain);
	as_buf_free(&packed);
	as_buf_free(&text);
	return rc;
}

/* ---- Reading --------------------------------------------------------------------------------- */

int as_tape_add(struct as_tape_pieces *p, const char *text, bool *whole, struct as_err *err)
{
	size_t i = 0, all = 0;
	int at = 0;

	*whole = false;
	if (sscanf(text, "tape %zu %zu %n", &i, &all, &at) < 2 || !at || i != p->n || !all ||
	    all > PIECES_MAX || (p->n && all != p->all))
		return as_fail(err, AS_EUSE, "this is not the next piece of a recording");
	for (const char *s = text + at; *s; s += 2) {
		int hi = as_hex_digit(s[0]), lo = hi < 0 ? -1 : as_hex_digit(s[1]);

		if (lo < 0 || p->packed.len >= AS_TAPE_MAX_BYTES)
			return as_fail(err, AS_EUSE, "this is not a piece of a recording");
		as_buf_addc(&p->packed, (char)(hi << 4 | lo));
	}
	p->all = all;
	*whole = ++p->n == all;
	return 0;
}

void as_tape_pieces_free(struct as_tape_pieces *p)
{
	as_buf_free(&p->packed);
	*p = (struct as_tape_pieces){ 0 };
}

struct reader {
	const unsigned char *at;
	size_t left;
};

static bool take_number(struct reader *r, uint64_t *value)
{
	*value = 0;
	if (r->left < 8)
		return false;
	for (unsigned i = 0; i < 8; i++)
		*value |= (uint64_t)r->at[i] << 8 * i;
	r->at += 8;
	r->left -= 8;
	return true;
}

static const unsigned char *take_bytes(struct reader *r, uint64_t len)
{
	const unsigned char *bytes = r->at;

	if (len > r->left)
		return NULL;
	r->at += len;
	r->left -= len;
	return bytes;
}

static bool is_sectors(uint64_t off, uint64_t len, uint64_t size)
{
	return !(off % AS_DISK_SECTOR_BYTES) && !(len % AS_DISK_SECTOR_BYTES) && off <= size &&
	       len <= size - off;
}

/* Does again what an entry says. */
static bool play_entry(struct reader *r, struct as_tape *tape)
{
	struct as_bd *bd = as_reclog_bd(tape->log);
	uint64_t kind, op, off, len, size = as_disk_size(tape->end);
	const unsigned char *data;

	if (!take_number(r, &kind) || !take_number(r, &op) || !take_number(r, &off) ||
	    !take_number(r, &len) || op > UINT32_MAX || !is_sectors(off, len, size))
		return false;
	as_reclog_set_op(tape->log, (uint32_t)op);
	switch (kind & ~(uint64_t)FUA) {
	case AS_CALL_WRITE:
		data = take_bytes(r, len);
		if (!data)
			return false;
		as_assert(!(kind & FUA ? as_bd_write_fua(bd, off, data, len)
				       : as_bd_write(bd, off, data, len)));
		return true;
	case AS_CALL_FLUSH:
		as_assert(!(len ? as_bd_flush_part(bd, off, len) : as_bd_flush(bd)));
		return true;
	case AS_CALL_DISCARD:
		as_assert(!as_bd_discard(bd, off, len));
		return true;
	case AS_CALL_ZERO:
		as_assert(!as_bd_zero(bd, off, len));
		return true;
	default:
		return false;
	}
}

static int read_all(struct reader r, struct as_chunks *store, struct as_tape *tape,
		    struct as_err *err)
{
	const unsigned char *bytes;
	uint64_t len;
	int rc;

	if (!take_number(&r, &len) || !(bytes = take_bytes(&r, len)))
		return as_fail(err, AS_EUSE, "a recording has no disk");
	rc = as_image_decode(store, bytes, len, &tape->start, err);
	if (rc)
		return rc;
	tape->end = as_disk_snapshot(tape->start);
	tape->log = as_reclog_new(as_disk_bd(tape->end), 0, 0);
	if (!take_number(&r, &len))
		return as_fail(err, AS_EUSE, "a recording is cut off");
	tape->n_ops = (size_t)len;
	if (!take_number(&r, &len) || len > WORDS_MAX || !(bytes = take_bytes(&r, len)))
		return as_fail(err, AS_EUSE, "a recording is cut off");
	as_buf_add(&tape->wrong, bytes, len);
	while (r.left)
		if (!play_entry(&r, tape))
			return as_fail(err, AS_EUSE, "a recording makes no sense");
	return 0;
}

int as_tape_read(struct as_tape_pieces *p, struct as_chunks *store, struct as_tape *tape,
		 struct as_err *err)
{
	unsigned long long size = ZSTD_getFrameContentSize(as_buf_str(&p->packed), p->packed.len);
	struct as_buf plain = { 0 };
	int rc = 0;
	char *to;

	*tape = (struct as_tape){ 0 };
	if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR ||
	    size > AS_TAPE_MAX_BYTES) {
		rc = as_fail(err, AS_EUSE, "a recording cannot be unpacked");
	} else {
		to = as_buf_reserve(&plain, size + 1);
		if (ZSTD_decompress(to, size, as_buf_str(&p->packed), p->packed.len) != size)
			rc = as_fail(err, AS_EUSE, "a recording cannot be unpacked");
		else
			rc = read_all((struct reader){ (const unsigned char *)to, size }, store,
				      tape, err);
	}
	as_buf_free(&plain);
	as_tape_pieces_free(p);
	if (rc)
		as_tape_free(tape);
	return rc;
}

void as_tape_free(struct as_tape *tape)
{
	as_reclog_free(tape->log);
	as_disk_free(tape->end);
	as_disk_free(tape->start);
	as_buf_free(&tape->wrong);
	*tape = (struct as_tape){ 0 };
}
