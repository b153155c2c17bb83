/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * image_frames: the data of an image: zstd frames that one after the other give the raw disk.
 *
 * Method. The disk is cut into ranges with data and holes. A range with data is one frame. It may
 * have small holes in it, which compress well. A hole of HOLE_MIN_BYTES or more is a frame of its
 * own that we write by hand: blocks that say "this byte, so many times" (RLE), of 128 KiB each,
 * which is the largest block that zstd allows. So a hole costs 4 bytes for 128 KiB, or 32 MiB for
 * a TiB, and writing it takes no compressor.
 *
 * The reader knows such a frame by its bytes and skips the range, so that it never decompresses a
 * hole. Any other frame is decompressed chunk by chunk; this needs one chunk and zstd's window,
 * which may have 8 MiB at most.
 */
#include "disk/image_priv.h"

#include "base/array.h"
#include "disk/call.h"

#include <inttypes.h>
#include <stdlib.h>

#define LEVEL 3
#define WINDOW_LOG_MAX 23
#define STEP_BYTES (64u * 1024)
#define HOLE_MIN_BYTES (64u * 1024)
#define SEAL_EVERY 1024u
#define ZSTD_BLOCK_BYTES (128u * 1024)

static const unsigned char zeros[AS_CHUNK_BYTES];

/* ---- Holes: frames written by hand (RFC 8878) ----------------------------------------------- */

enum {
	HOLE_HEAD_BYTES = 14, /* magic, descriptor, window, length of the contents */
	HOLE_BLOCK_BYTES = 4, /* three of header, and the byte that is repeated */
};

static const unsigned char hole_head[] = {
	0x28, 0xb5, 0x2f, 0xfd, /* magic */
	0xc0, /* descriptor: the length of the contents has 8 bytes, there is no checksum */
	0x38, /* a window of 128 KiB */
};

/* A block of `len` zeros. */
static void put_block(unsigned char *to, size_t len, bool last)
{
	as_image_put32(to, (uint32_t)len << 3 | 1u << 1 | last);
}

static uint64_t hole_frame_bytes(uint64_t len)
{
	return HOLE_HEAD_BYTES +
	       (len / ZSTD_BLOCK_BYTES + !!(len % ZSTD_BLOCK_BYTES)) * HOLE_BLOCK_BYTES;
}

static size_t block_len(uint64_t left)
{
	return left < ZSTD_BLOCK_BYTES ? (size_t)left : ZSTD_BLOCK_BYTES;
}

static void write_hole(struct as_buf *out, uint64_t len)
{
	unsigned char *to = (unsigned char *)as_buf_reserve(out, hole_frame_bytes(len));

	out->len += hole_frame_bytes(len);
	memcpy(to, hole_head, sizeof(hole_head));
	as_image_put64(to + sizeof(hole_head), len);
	to += HOLE_HEAD_BYTES;
	for (size_t n; len; len -= n, to += HOLE_BLOCK_BYTES) {
		n = block_len(len);
		put_block(to, n, n == len);
	}
}

/* How long the hole is whose frame stands here, or 0: it is not a frame that write_hole() makes. */
static uint64_t hole_at(const unsigned char *data, size_t len)
{
	unsigned char want[HOLE_BLOCK_BYTES];
	uint64_t hole;

	if (len < HOLE_HEAD_BYTES || memcmp(data, hole_head, sizeof(hole_head)) != 0)
		return 0;
	hole = as_image_get64(data + sizeof(hole_head));
	if (hole > AS_DISK_MAX_BYTES || hole_frame_bytes(hole) > len)
		return 0;
	data += HOLE_HEAD_BYTES;
	for (uint64_t left = hole, n; left; left -= n, data += sizeof(want)) {
		n = block_len(left);
		put_block(want, n, n == left);
		if (memcmp(data, want, sizeof(want)) != 0)
			return 0;
	}
	return hole;
}

/* ---- Writing -------------------------------------------------------------------------------- */

struct image_range {
	uint64_t from, to;
};

struct image_ranges {
	struct image_range *items;
	size_t n, cap;
	uint64_t n_chunks;
};

/* Chunks come in order. */
static int add_chunk(void *ctx, uint64_t index, const unsigned char *data)
{
	uint64_t from = index * AS_CHUNK_BYTES, to = from + AS_CHUNK_BYTES;
	struct image_ranges *r = ctx;

	(void)data;
	r->n_chunks++;
	if (r->n && from - r->items[r->n - 1].to < HOLE_MIN_BYTES) {
		r->items[r->n - 1].to = to;
		return 0;
	}
	AS_ARRAY_ROOM(r->items, r->n, r->cap);
	r->items[r->n++] = (struct image_range){ from, to };
	return 0;
}

/* All of `in`, and with ZSTD_e_end also the end of the frame. */
static int compress(ZSTD_CCtx *zstd, struct as_buf *out, ZSTD_inBuffer in, ZSTD_EndDirective end,
		    struct as_err *err)
{
	size_t left;

	do {
		size_t room = ZSTD_CStreamOutSize();
		ZSTD_outBuffer to = { as_buf_reserve(out, room), room, 0 };

		left = ZSTD_compressStream2(zstd, &to, &in, end);
		if (ZSTD_isError(left))
			return as_fail(err, AS_ENOMEM, "cannot compress: %s",
				       ZSTD_getErrorName(left));
		out->len += to.pos;
	} while (in.pos < in.size || (end == ZSTD_e_end && left));
	return AS_OK;
}

static int write_data(ZSTD_CCtx *zstd, struct as_disk *disk, struct image_range range,
		      struct as_buf *out, struct as_err *err)
{
	unsigned char *step = as_xmalloc(STEP_BYTES);
	int rc = AS_OK;

	ZSTD_CCtx_setPledgedSrcSize(zstd, range.to - range.from);
	for (uint64_t off = range.from; !rc && off < range.to; off += STEP_BYTES) {
		bool last = range.to - off <= STEP_BYTES;
		size_t len = last ? (size_t)(range.to - off) : STEP_BYTES;

		rc = as_bd_read(as_disk_bd(disk), off, step, len);
		as_assert(!rc); /* a disk of ours refuses a wrong range only */
		rc = compress(zstd, out, (ZSTD_inBuffer){ step, len, 0 },
			      last ? ZSTD_e_end : ZSTD_e_continue, err);
	}
	free(step);
	return rc;
}

int as_image_write_frames(struct as_disk *disk, struct as_buf *out, uint64_t *n_stored,
			  struct as_err *err)
{
	uint64_t size = as_disk_size(disk), at = 0;
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	struct image_ranges r = { 0 };
	int rc = AS_OK;

	if (!zstd)
		return as_fail(err, AS_ENOMEM, "out of memory for zstd");
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, LEVEL);
	as_disk_each(disk, add_chunk, &r);
	for (size_t i = 0; !rc && i < r.n; i++) {
		if (r.items[i].to > size)
			r.items[i].to = size;
		if (at < r.items[i].from)
			write_hole(out, r.items[i].from - at);
		rc = write_data(zstd, disk, r.items[i], out, err);
		at = r.items[i].to;
	}
	if (!rc && at < size)
		write_hole(out, size - at);
	*n_stored = r.n_chunks;
	free(r.items);
	ZSTD_freeCCtx(zstd);
	return rc;
}

/* ---- Reading -------------------------------------------------------------------------------- */

int as_unzstd_init(struct as_unzstd *un, const struct as_image_data *image, struct as_err *err)
{
	*un = (struct as_unzstd){
		.zstd = ZSTD_createDCtx(),
		.in = { image->frames, image->frames_bytes, 0 },
		.hint = 1,
		.err = err,
	};
	if (!un->zstd)
		return as_fail(err, AS_ENOMEM, "out of memory for zstd");
	ZSTD_DCtx_setParameter(un->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	return AS_OK;
}

int as_unzstd_take(struct as_unzstd *un, void *data, size_t cap, size_t *len)
{
	ZSTD_outBuffer out = { data, cap, 0 };

	while (out.pos < out.size && un->hint) {
		size_t before = out.pos;
		bool exhausted = un->in.pos == un->in.size;

		un->hint = ZSTD_decompressStream(un->zstd, &out, &un->in);
		if (ZSTD_isError(un->hint))
			return as_image_damaged(un->err, "the data cannot be decompressed: %s",
						ZSTD_getErrorName(un->hint));
		if (un->hint && exhausted && out.pos == before)
			return as_image_damaged(un->err, "the compressed data end early");
	}
	*len = out.pos;
	return AS_OK;
}

void as_image_fill(struct as_disk *disk, uint64_t i, uint64_t off, const void *data, size_t len)
{
	int rc = as_bd_write(as_disk_bd(disk), off, data, len);

	as_assert(!rc); /* a disk of ours refuses a wrong range only */
	if (i % SEAL_EVERY == SEAL_EVERY - 1)
		as_disk_digest(disk);
}

/* Where we are on the disk, and how many chunks with data there were. */
struct place {
	uint64_t at, n_stored;
};

/* One frame that is not a hole. */
static int read_data(struct as_unzstd *un, const struct as_image_data *image, struct as_disk *disk,
		     struct place *p)
{
	unsigned char chunk[AS_CHUNK_BYTES];
	size_t len;
	int rc;

	un->hint = 1;
	while (!(rc = as_unzstd_take(un, chunk, sizeof(chunk), &len)) && len) {
		if (len > image->size_bytes - p->at)
			return as_image_damaged(un->err, "data after the end of the disk");
		if (len < sizeof(chunk) && p->at + len < image->size_bytes)
			return as_image_damaged(un->err, "a frame ends within chunk %" PRIu64,
						p->at / AS_CHUNK_BYTES);
		if (memcmp(chunk, zeros, len) != 0) {
			if (p->n_stored == image->n_stored)
				return as_image_damaged(un->err,
							"more than %" PRIu64 " chunks with data",
							image->n_stored);
			as_image_fill(disk, p->n_stored++, p->at, chunk, len);
		}
		p->at += len;
	}
	return rc;
}

int as_image_read_frames(const struct as_image_data *image, struct as_disk *disk,
			 struct as_err *err)
{
	struct place p = { 0 };
	struct as_unzstd un;
	int rc = as_unzstd_init(&un, image, err);

	while (!rc && un.in.pos < un.in.size) {
		uint64_t hole = hole_at(image->frames + un.in.pos, un.in.size - un.in.pos);

		if (hole > image->size_bytes - p.at) {
			rc = as_image_damaged(err, "a hole beyond the end of the disk");
		} else if (hole) {
			un.in.pos += hole_frame_bytes(hole);
			p.at += hole;
		} else {
			rc = read_data(&un, image, disk, &p);
		}
	}
	if (!rc && p.at != image->size_bytes)
		rc = as_image_damaged(err, "data for %" PRIu64 " bytes of %" PRIu64, p.at,
				      image->size_bytes);
	if (!rc && p.n_stored != image->n_stored)
		rc = as_image_damaged(err, "%" PRIu64 " chunks with data instead of %" PRIu64,
				      p.n_stored, image->n_stored);
	ZSTD_freeDCtx(un.zstd);
	return rc;
}
