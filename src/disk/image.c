/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * image: assay images, written and read (see image.h for the format; image_raw.c for raw files).
 *
 * Method. Writing goes through memory: the header holds the digest of the frame and can only be
 * made when the frame is complete. Reading takes the frame apart record by record, so that it
 * needs one record and zstd's window beside the disk it builds.
 *
 * What bounds memory on hostile input: a frame is read only when its length and digest are those
 * that a header with a right digest names; a window above 8 MiB is refused; there are never more
 * records than the header says nor than the disk has chunks; and every few records the disk is
 * sealed, so that a frame that repeats one chunk a million times costs one chunk.
 */
#include "disk/image.h"
#include "os/out.h"

#include "disk/call.h"

#include <endian.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define LEVEL 3
#define WINDOW_LOG_MAX 23
#define RECORD_BYTES (8u + AS_CHUNK_BYTES)
#define SEAL_EVERY 1024u
#define FILE_BYTES_MAX (UINT64_C(1) << 36)

static const unsigned char magic[8] = { 0x89, 'A', 'S', 'D', 'I', 'S', 'K', '\n' };

static void put32(unsigned char *to, uint32_t value)
{
	value = htole32(value);
	memcpy(to, &value, sizeof(value));
}

static void put64(unsigned char *to, uint64_t value)
{
	value = htole64(value);
	memcpy(to, &value, sizeof(value));
}

static void put_digest(unsigned char *to, struct as_digest digest)
{
	put64(to, digest.lo);
	put64(to + 8, digest.hi);
}

static uint32_t get32(const unsigned char *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return le32toh(value);
}

static uint64_t get64(const unsigned char *from)
{
	uint64_t value;

	memcpy(&value, from, sizeof(value));
	return le64toh(value);
}

static struct as_digest get_digest(const unsigned char *from)
{
	return (struct as_digest){ get64(from), get64(from + 8) };
}

/* ---- Writing -------------------------------------------------------------------------------- */

struct encoder {
	ZSTD_CCtx *zstd;
	struct as_buf *out;
	uint64_t n_stored;
	struct as_err *err;
};

static int feed(struct encoder *enc, const void *data, size_t len, ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = { data, len, 0 };
	size_t left;

	do {
		size_t room = ZSTD_CStreamOutSize();
		ZSTD_outBuffer out = { as_buf_reserve(enc->out, room), room, 0 };

		left = ZSTD_compressStream2(enc->zstd, &out, &in, end);
		if (ZSTD_isError(left))
			return as_fail(enc->err, AS_ENOMEM, "cannot compress: %s",
				       ZSTD_getErrorName(left));
		enc->out->len += out.pos;
	} while (in.pos < in.size || (end == ZSTD_e_end && left));
	return AS_OK;
}

static int encode_chunk(void *ctx, uint64_t index, const unsigned char *data)
{
	struct encoder *enc = ctx;
	unsigned char number[8];
	int rc;

	put64(number, index);
	rc = feed(enc, number, sizeof(number), ZSTD_e_continue);
	if (!rc)
		rc = feed(enc, data, AS_CHUNK_BYTES, ZSTD_e_continue);
	enc->n_stored++;
	return rc;
}

static void fill_header(unsigned char *header, struct as_disk *disk, uint64_t n_stored,
			const void *frame, size_t frame_bytes)
{
	memcpy(header, magic, sizeof(magic));
	put32(header + AS_IMAGE_AT_VERSION, AS_IMAGE_VERSION);
	put32(header + AS_IMAGE_AT_HEADER_BYTES, AS_IMAGE_HEADER_BYTES);
	put64(header + AS_IMAGE_AT_SIZE, as_disk_size(disk));
	put32(header + AS_IMAGE_AT_SECTOR, AS_DISK_SECTOR_BYTES);
	put32(header + AS_IMAGE_AT_CHUNK, AS_CHUNK_BYTES);
	put64(header + AS_IMAGE_AT_STORED, n_stored);
	put_digest(header + AS_IMAGE_AT_DISK_DIGEST, as_disk_digest(disk));
	put64(header + AS_IMAGE_AT_FRAME_BYTES, frame_bytes);
	put_digest(header + AS_IMAGE_AT_FRAME_DIGEST, as_hash(frame, frame_bytes));
	put_digest(header + AS_IMAGE_AT_HEADER_DIGEST, as_hash(header, AS_IMAGE_AT_HEADER_DIGEST));
}

int as_image_encode(struct as_disk *disk, struct as_buf *out, struct as_err *err)
{
	unsigned char header[AS_IMAGE_HEADER_BYTES] = { 0 };
	struct encoder enc = { .out = out, .err = err };
	size_t start = out->len, frame_at = start + sizeof(header);
	int rc;

	enc.zstd = ZSTD_createCCtx();
	if (!enc.zstd)
		return as_fail(err, AS_ENOMEM, "out of memory for zstd");
	ZSTD_CCtx_setParameter(enc.zstd, ZSTD_c_compressionLevel, LEVEL);
	as_disk_digest(disk); /* seals: only then zeros written by hand are known as zeros */
	as_buf_add(out, header, sizeof(header));
	rc = as_disk_each(disk, encode_chunk, &enc);
	if (!rc)
		rc = feed(&enc, "", 0, ZSTD_e_end);
	if (rc) {
		out->len = start;
		goto out;
	}
	fill_header(header, disk, enc.n_stored, out->data + frame_at, out->len - frame_at);
	memcpy(out->data + start, header, sizeof(header));
out:
	out->data[out->len] = '\0';
	ZSTD_freeCCtx(enc.zstd);
	return rc;
}

int as_image_save(struct as_disk *disk, const char *path, struct as_err *err)
{
	struct as_buf buf = { 0 };
	int rc = as_image_encode(disk, &buf, err);

	if (rc)
		rc = as_fail_in(err, "%s", path);
	else
		rc = as_out_save(path, &buf, err);
	as_buf_free(&buf);
	return rc;
}

int as_image_save_in(struct as_disk *disk, const struct as_dir *dir, const char *name,
		     struct as_err *err)
{
	struct as_buf buf = { 0 };
	int rc = as_image_encode(disk, &buf, err);

	if (rc)
		rc = as_fail_in(err, "%s/%s", dir->path, name);
	else
		rc = as_dir_write(dir, name, &buf, err);
	as_buf_free(&buf);
	return rc;
}

/* ---- Reading -------------------------------------------------------------------------------- */

struct header {
	uint64_t size_bytes, n_stored, frame_bytes;
	struct as_digest disk, frame;
};

static int damaged(struct as_err *err, const char *fmt, ...) AS_PRINTF(2, 3);
static int damaged(struct as_err *err, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return as_fail(err, AS_EUSE, "damaged disk image: %s", text);
}

/* Is it a header of ours, whole and undamaged? */
static int check_envelope(const unsigned char *data, size_t len, struct as_err *err)
{
	if (memcmp(data, magic, len < sizeof(magic) ? len : sizeof(magic)) != 0)
		return as_fail(err, AS_EUSE,
			       "not an assay disk image (it does not begin with one's magic)");
	if (len < AS_IMAGE_HEADER_BYTES)
		return damaged(err, "cut off in the header, after %zu of %d bytes", len,
			       AS_IMAGE_HEADER_BYTES);
	if (!as_digest_eq(get_digest(data + AS_IMAGE_AT_HEADER_DIGEST),
			  as_hash(data, AS_IMAGE_AT_HEADER_DIGEST)))
		return damaged(err, "the header does not match its checksum");
	return AS_OK;
}

/* The fields that have one right value. */
static int check_constants(const unsigned char *data, struct as_err *err)
{
	static const struct {
		const char *name;
		unsigned at;
		uint32_t want;
	} fields[] = {
		{ "version", AS_IMAGE_AT_VERSION, AS_IMAGE_VERSION },
		{ "header length", AS_IMAGE_AT_HEADER_BYTES, AS_IMAGE_HEADER_BYTES },
		{ "sector size", AS_IMAGE_AT_SECTOR, AS_DISK_SECTOR_BYTES },
		{ "chunk size", AS_IMAGE_AT_CHUNK, AS_CHUNK_BYTES },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		uint32_t is = get32(data + fields[i].at);

		if (is != fields[i].want)
			return as_fail(err, AS_EUSE, "disk image with %s %u: expected %u",
				       fields[i].name, is, fields[i].want);
	}
	return AS_OK;
}

static int read_header(const unsigned char *data, size_t len, struct header *header,
		       struct as_err *err)
{
	uint64_t n_chunks, rest = len - AS_IMAGE_HEADER_BYTES;

	*header = (struct header){
		.size_bytes = get64(data + AS_IMAGE_AT_SIZE),
		.n_stored = get64(data + AS_IMAGE_AT_STORED),
		.disk = get_digest(data + AS_IMAGE_AT_DISK_DIGEST),
		.frame_bytes = get64(data + AS_IMAGE_AT_FRAME_BYTES),
		.frame = get_digest(data + AS_IMAGE_AT_FRAME_DIGEST),
	};
	/* as_disk_new() checks the size itself; here it must only not overflow. */
	n_chunks = header->size_bytes / AS_CHUNK_BYTES + !!(header->size_bytes % AS_CHUNK_BYTES);
	if (header->n_stored > n_chunks)
		return damaged(err, "%" PRIu64 " chunks stored for a disk of %" PRIu64,
			       header->n_stored, n_chunks);
	if (rest < header->frame_bytes)
		return damaged(err,
			       "cut off after %zu bytes, of which the data are %" PRIu64
			       " instead of %" PRIu64,
			       len, rest, header->frame_bytes);
	if (rest > header->frame_bytes)
		return damaged(err, "%" PRIu64 " bytes follow behind its end",
			       rest - header->frame_bytes);
	if (!as_digest_eq(header->frame, as_hash(data + AS_IMAGE_HEADER_BYTES, rest)))
		return damaged(err, "the data do not match their checksum");
	return AS_OK;
}

struct decoder {
	ZSTD_DCtx *zstd;
	ZSTD_inBuffer in;
	size_t hint; /* zstd's last answer: 0 at the end of the frame */
	struct as_err *err;
};

/* Up to cap bytes of the frame; fewer at its end. */
static int take(struct decoder *dec, void *data, size_t cap, size_t *len)
{
	ZSTD_outBuffer out = { data, cap, 0 };

	while (out.pos < out.size && dec->hint) {
		size_t before = out.pos;
		bool exhausted = dec->in.pos == dec->in.size;

		dec->hint = ZSTD_decompressStream(dec->zstd, &out, &dec->in);
		if (ZSTD_isError(dec->hint))
			return damaged(dec->err, "the data cannot be decompressed: %s",
				       ZSTD_getErrorName(dec->hint));
		if (dec->hint && exhausted && out.pos == before)
			return damaged(dec->err, "the compressed data end early");
	}
	*len = out.pos;
	return AS_OK;
}

static int decode_record(const unsigned char *record, uint64_t i, uint64_t *next,
			 struct as_disk *disk, struct as_err *err)
{
	uint64_t index = get64(record), size = as_disk_size(disk), left;
	const unsigned char *data = record + 8;
	int rc;

	if (index < *next || index > (size - 1) / AS_CHUNK_BYTES)
		return damaged(err,
			       "record %" PRIu64 " is for chunk %" PRIu64
			       ": out of order or outside the disk",
			       i, index);
	*next = index + 1;
	left = size - index * AS_CHUNK_BYTES;
	if (left > AS_CHUNK_BYTES)
		left = AS_CHUNK_BYTES;
	for (size_t k = left; k < AS_CHUNK_BYTES; k++)
		if (data[k])
			return damaged(err, "data behind the end of the disk");
	rc = as_bd_write(as_disk_bd(disk), index * AS_CHUNK_BYTES, data, left);
	as_assert(!rc); /* a disk of ours refuses a wrong range only */
	if (i % SEAL_EVERY == SEAL_EVERY - 1)
		as_disk_digest(disk);
	return AS_OK;
}

static int decode_frame(struct decoder *dec, uint64_t n_stored, struct as_disk *disk)
{
	unsigned char *record = as_xmalloc(RECORD_BYTES);
	uint64_t next = 0;
	size_t len;
	int rc = AS_OK;

	for (uint64_t i = 0; i < n_stored; i++) {
		rc = take(dec, record, RECORD_BYTES, &len);
		if (!rc && len < RECORD_BYTES)
			rc = damaged(dec->err, "%" PRIu64 " chunks instead of %" PRIu64, i,
				     n_stored);
		if (!rc)
			rc = decode_record(record, i, &next, disk, dec->err);
		if (rc)
			goto out;
	}
	/* One byte more is asked for, so that zstd gets to see the end of the frame. */
	rc = take(dec, record, 1, &len);
	if (!rc && (len || dec->in.pos != dec->in.size))
		rc = damaged(dec->err, "data follow behind the last of %" PRIu64 " chunks",
			     n_stored);
out:
	free(record);
	return rc;
}

static int decode_checked(struct as_chunks *store, const unsigned char *data,
			  const struct header *header, struct as_disk **disk, struct as_err *err)
{
	struct decoder dec = {
		.in = { data + AS_IMAGE_HEADER_BYTES, header->frame_bytes, 0 },
		.hint = 1,
		.err = err,
	};
	int rc = as_disk_new(store, header->size_bytes, disk, err);

	if (rc)
		return as_fail_in(err, "disk image");
	dec.zstd = ZSTD_createDCtx();
	if (!dec.zstd) {
		rc = as_fail(err, AS_ENOMEM, "out of memory for zstd");
		goto out;
	}
	ZSTD_DCtx_setParameter(dec.zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	rc = decode_frame(&dec, header->n_stored, *disk);
	if (!rc && !as_digest_eq(as_disk_digest(*disk), header->disk))
		rc = damaged(err, "its contents do not match the digest of the disk");
out:
	ZSTD_freeDCtx(dec.zstd);
	if (rc) {
		as_disk_free(*disk);
		*disk = NULL;
	}
	return rc;
}

int as_image_decode(struct as_chunks *store, const void *data, size_t len, struct as_disk **disk,
		    struct as_err *err)
{
	struct header header;
	int rc;

	*disk = NULL;
	if (!len)
		return as_fail(err, AS_EUSE, "not an assay disk image (it is empty)");
	rc = check_envelope(data, len, err);
	if (!rc)
		rc = check_constants(data, err);
	if (!rc)
		rc = read_header(data, len, &header, err);
	return rc ? rc : decode_checked(store, data, &header, disk, err);
}

int as_image_load(struct as_chunks *store, const char *path, struct as_disk **disk,
		  struct as_err *err)
{
	struct as_buf buf = { 0 };
	int rc;

	*disk = NULL;
	rc = as_buf_read_file(&buf, path, FILE_BYTES_MAX, err);
	if (!rc) {
		rc = as_image_decode(store, buf.data, buf.len, disk, err);
		if (rc)
			rc = as_fail_in(err, "%s", path);
	}
	as_buf_free(&buf);
	return rc;
}
