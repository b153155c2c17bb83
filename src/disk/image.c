/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * image: assay images, written and read (see image.h for the format). This file has the header and
 * the files; the data are in image_frames.c, those of the old format in image_records.c, and raw
 * images in image_raw.c.
 *
 * Method. The image is made in memory, because its header holds a digest of the data that follow.
 *
 * What bounds memory when the input is hostile: the data are read only when their length and digest
 * are the ones that the header names, and the header has a right digest itself.
 */
#include "disk/image.h"

#include "disk/image_priv.h"
#include "os/out.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILE_BYTES_MAX (UINT64_C(1) << 36)

/* A skippable frame of zstd (magic 0x184D2A5A) of AS_IMAGE_HEADER_BYTES bytes, which is our header.
 * Images of version 1 do not have it. */
static const unsigned char envelope[AS_IMAGE_ENVELOPE_BYTES] = { 0x5a, 0x2a, 0x4d, 0x18,
								 AS_IMAGE_HEADER_BYTES };
static const unsigned char magic[8] = { 0x89, 'A', 'S', 'D', 'I', 'S', 'K', '\n' };

int as_image_damaged(struct as_err *err, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return as_fail(err, AS_EUSE, "damaged disk image: %s", text);
}

static struct as_digest get_digest(const unsigned char *from)
{
	return (struct as_digest){ as_image_get64(from), as_image_get64(from + 8) };
}

static void put_digest(unsigned char *to, struct as_digest digest)
{
	as_image_put64(to, digest.lo);
	as_image_put64(to + 8, digest.hi);
}

/* ---- Writing -------------------------------------------------------------------------------- */

static void fill_header(unsigned char *header, struct as_disk *disk, uint64_t n_stored,
			const void *frames, size_t frames_bytes)
{
	memcpy(header, magic, sizeof(magic));
	as_image_put32(header + AS_IMAGE_AT_VERSION, AS_IMAGE_VERSION);
	as_image_put32(header + AS_IMAGE_AT_HEADER_BYTES, AS_IMAGE_HEADER_BYTES);
	as_image_put64(header + AS_IMAGE_AT_SIZE, as_disk_size(disk));
	as_image_put32(header + AS_IMAGE_AT_SECTOR, AS_DISK_SECTOR_BYTES);
	as_image_put32(header + AS_IMAGE_AT_CHUNK, AS_CHUNK_BYTES);
	as_image_put64(header + AS_IMAGE_AT_STORED, n_stored);
	put_digest(header + AS_IMAGE_AT_DISK_DIGEST, as_disk_digest(disk));
	as_image_put64(header + AS_IMAGE_AT_FRAMES_BYTES, frames_bytes);
	put_digest(header + AS_IMAGE_AT_FRAMES_DIGEST, as_hash(frames, frames_bytes));
	put_digest(header + AS_IMAGE_AT_HEADER_DIGEST, as_hash(header, AS_IMAGE_AT_HEADER_DIGEST));
}

int as_image_encode(struct as_disk *disk, struct as_buf *out, struct as_err *err)
{
	unsigned char header[AS_IMAGE_HEADER_BYTES] = { 0 };
	size_t start = out->len, header_at = start + sizeof(envelope);
	size_t frames_at = header_at + sizeof(header);
	uint64_t n_stored;
	int rc;

	as_disk_digest(disk); /* seals: zeros that were written are known as zeros only after it */
	as_buf_add(out, envelope, sizeof(envelope));
	as_buf_add(out, header, sizeof(header));
	rc = as_image_write_frames(disk, out, &n_stored, err);
	if (rc) {
		out->len = start;
	} else {
		fill_header(header, disk, n_stored, out->data + frames_at, out->len - frames_at);
		memcpy(out->data + header_at, header, sizeof(header));
	}
	out->data[out->len] = '\0';
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

/* As far as there are bytes. */
static bool begins_with(const unsigned char *data, size_t len, const unsigned char *what, size_t n)
{
	return !memcmp(data, what, len < n ? len : n);
}

/* Is it an image of ours, with a whole and undamaged header? Says where the header begins. */
static int find_header(const unsigned char *data, size_t len, size_t *header_at, struct as_err *err)
{
	size_t at = begins_with(data, len, envelope, sizeof(envelope)) ? sizeof(envelope) : 0;
	size_t left = len > at ? len - at : 0;

	data += len - left;
	if (!begins_with(data, left, magic, sizeof(magic)))
		return as_fail(err, AS_EUSE,
			       "not an assay disk image (it does not begin with one's magic)");
	if (left < AS_IMAGE_HEADER_BYTES)
		return as_image_damaged(err, "cut off in the header, after %zu of %zu bytes", len,
					at + AS_IMAGE_HEADER_BYTES);
	if (!as_digest_eq(get_digest(data + AS_IMAGE_AT_HEADER_DIGEST),
			  as_hash(data, AS_IMAGE_AT_HEADER_DIGEST)))
		return as_image_damaged(err, "the header does not match its checksum");
	*header_at = at;
	return AS_OK;
}

/* The fields that have one right value. */
static int check_constants(const unsigned char *data, uint32_t version, struct as_err *err)
{
	const struct {
		const char *name;
		unsigned at;
		uint32_t want;
	} fields[] = {
		{ "version", AS_IMAGE_AT_VERSION, version },
		{ "header length", AS_IMAGE_AT_HEADER_BYTES, AS_IMAGE_HEADER_BYTES },
		{ "sector size", AS_IMAGE_AT_SECTOR, AS_DISK_SECTOR_BYTES },
		{ "chunk size", AS_IMAGE_AT_CHUNK, AS_CHUNK_BYTES },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		uint32_t is = as_image_get32(data + fields[i].at);

		if (is != fields[i].want)
			return as_fail(err, AS_EUSE, "disk image with %s %u: expected %u",
				       fields[i].name, is, fields[i].want);
	}
	return AS_OK;
}

/* `len` bytes follow the header. */
static int read_header(const unsigned char *data, size_t len, struct as_image_data *image,
		       struct as_err *err)
{
	uint64_t size = as_image_get64(data + AS_IMAGE_AT_SIZE), n_chunks;
	uint64_t want_len = as_image_get64(data + AS_IMAGE_AT_FRAMES_BYTES);

	*image = (struct as_image_data){
		.size_bytes = size,
		.n_stored = as_image_get64(data + AS_IMAGE_AT_STORED),
		.frames = data + AS_IMAGE_HEADER_BYTES,
		.frames_bytes = len,
	};
	/* as_disk_new() checks the size itself; here it must only not overflow. */
	n_chunks = size / AS_CHUNK_BYTES + !!(size % AS_CHUNK_BYTES);
	if (image->n_stored > n_chunks)
		return as_image_damaged(err, "%" PRIu64 " chunks stored for a disk of %" PRIu64,
					image->n_stored, n_chunks);
	if (len < want_len)
		return as_image_damaged(err,
					"cut off: %zu bytes follow the header instead of %" PRIu64,
					len, want_len);
	if (len > want_len)
		return as_image_damaged(err, "%" PRIu64 " bytes too many after its end",
					len - want_len);
	if (!as_digest_eq(get_digest(data + AS_IMAGE_AT_FRAMES_DIGEST),
			  as_hash(image->frames, len)))
		return as_image_damaged(err, "the data do not match their checksum");
	return AS_OK;
}

int as_image_decode(struct as_chunks *store, const void *data, size_t len, struct as_disk **disk,
		    struct as_err *err)
{
	const unsigned char *header = data;
	struct as_image_data image;
	size_t header_at = 0;
	int rc;

	*disk = NULL;
	if (!len)
		return as_fail(err, AS_EUSE, "not an assay disk image (it is empty)");
	rc = find_header(data, len, &header_at, err);
	if (rc)
		return rc;
	header += header_at;
	rc = check_constants(header, header_at ? AS_IMAGE_VERSION : 1, err);
	if (!rc)
		rc = read_header(header, len - header_at - AS_IMAGE_HEADER_BYTES, &image, err);
	if (rc)
		return rc;
	rc = as_disk_new(store, image.size_bytes, disk, err);
	if (rc)
		return as_fail_in(err, "disk image");
	rc = (header_at ? as_image_read_frames : as_image_read_records)(&image, *disk, err);
	if (!rc &&
	    !as_digest_eq(as_disk_digest(*disk), get_digest(header + AS_IMAGE_AT_DISK_DIGEST)))
		rc = as_image_damaged(err, "its contents do not match the digest of the disk");
	if (rc) {
		as_disk_free(*disk);
		*disk = NULL;
	}
	return rc;
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

uint64_t as_image_disk_size(const char *path)
{
	unsigned char head[AS_IMAGE_ENVELOPE_BYTES + AS_IMAGE_HEADER_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint64_t size = 0;
	size_t at;

	if (fd >= 0) {
		ssize_t n = read(fd, head, sizeof(head));

		if (n > 0 && !find_header(head, (size_t)n, &at, NULL))
			size = as_image_get64(head + at + AS_IMAGE_AT_SIZE);
		close(fd);
	}
	return size;
}
