/* SPDX-License-Identifier: GPL-2.0-or-later */
/* image_priv: what the files of disk/image share. */
#ifndef AS_DISK_IMAGE_PRIV_H
#define AS_DISK_IMAGE_PRIV_H

#include "disk/image.h"

#include <endian.h>
#include <string.h>
#include <zstd.h>

/* An image whose header has been checked, and the digest of its frames too. */
struct as_image_data {
	uint64_t size_bytes; /* of the disk */
	uint64_t n_stored;
	const unsigned char *frames;
	size_t frames_bytes;
};

/* AS_EUSE. */
int as_image_damaged(struct as_err *err, const char *fmt, ...) AS_PRINTF(2, 3);

/* Appends the frames of a sealed disk. */
AS_MUST_CHECK int as_image_write_frames(struct as_disk *disk, struct as_buf *out,
					uint64_t *n_stored, struct as_err *err);
/* Both fill a disk of zeros, the second from an image of version 1. */
AS_MUST_CHECK int as_image_read_frames(const struct as_image_data *image, struct as_disk *disk,
				       struct as_err *err);
AS_MUST_CHECK int as_image_read_records(const struct as_image_data *image, struct as_disk *disk,
					struct as_err *err);

/* A reader of zstd frames, one after the other. */
struct as_unzstd {
	ZSTD_DCtx *zstd;
	ZSTD_inBuffer in;
	size_t hint; /* what zstd said last: 0 at the end of a frame */
	struct as_err *err;
};

/* The caller frees `zstd` afterwards, which may be NULL. */
AS_MUST_CHECK int as_unzstd_init(struct as_unzstd *un, const struct as_image_data *image,
				 struct as_err *err);
/* Up to `cap` bytes of the current frame; fewer at its end. */
AS_MUST_CHECK int as_unzstd_take(struct as_unzstd *un, void *data, size_t cap, size_t *len);

/* Writes `len` bytes to a disk that is being read from an image. `i` counts these calls: every so
 * many of them, the disk is sealed, so that a chunk that comes a million times costs one chunk. */
void as_image_fill(struct as_disk *disk, uint64_t i, uint64_t off, const void *data, size_t len);

static inline void as_image_put32(unsigned char *to, uint32_t value)
{
	value = htole32(value);
	memcpy(to, &value, sizeof(value));
}

static inline void as_image_put64(unsigned char *to, uint64_t value)
{
	value = htole64(value);
	memcpy(to, &value, sizeof(value));
}

static inline uint32_t as_image_get32(const unsigned char *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return le32toh(value);
}

static inline uint64_t as_image_get64(const unsigned char *from)
{
	uint64_t value;

	memcpy(&value, from, sizeof(value));
	return le64toh(value);
}

#endif
