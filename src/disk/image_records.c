/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * image_records: the data of images of version 1, which are read and no longer written. They are
 * one zstd frame of records: for each chunk that is not all zeros, in rising order, its number
 * (8 bytes) and its AS_CHUNK_BYTES bytes.
 */
#include "disk/call.h"
#include "disk/image_priv.h"

#include <inttypes.h>
#include <stdlib.h>

#define RECORD_BYTES (8u + AS_CHUNK_BYTES)

static int take_record(const unsigned char *record, uint64_t i, uint64_t *next,
		       struct as_disk *disk, struct as_err *err)
{
	uint64_t index = as_image_get64(record), size = as_disk_size(disk), left;
	const unsigned char *data = record + 8;

	if (index < *next || index > (size - 1) / AS_CHUNK_BYTES)
		return as_image_damaged(err,
					"record %" PRIu64 " is for chunk %" PRIu64
					": out of order or outside the disk",
					i, index);
	*next = index + 1;
	left = size - index * AS_CHUNK_BYTES;
	if (left > AS_CHUNK_BYTES)
		left = AS_CHUNK_BYTES;
	for (size_t k = left; k < AS_CHUNK_BYTES; k++)
		if (data[k])
			return as_image_damaged(err, "data after the end of the disk");
	as_image_fill(disk, i, index * AS_CHUNK_BYTES, data, left);
	return AS_OK;
}

int as_image_read_records(const struct as_image_data *image, struct as_disk *disk,
			  struct as_err *err)
{
	unsigned char *record = as_xmalloc(RECORD_BYTES);
	struct as_unzstd un;
	uint64_t next = 0;
	size_t len;
	int rc = as_unzstd_init(&un, image, err);

	for (uint64_t i = 0; !rc && i < image->n_stored; i++) {
		rc = as_unzstd_take(&un, record, RECORD_BYTES, &len);
		if (!rc && len < RECORD_BYTES)
			rc = as_image_damaged(err, "%" PRIu64 " chunks instead of %" PRIu64, i,
					      image->n_stored);
		if (!rc)
			rc = take_record(record, i, &next, disk, err);
	}
	/* One byte more is asked for, so that zstd gets to see the end of the frame. */
	if (!rc)
		rc = as_unzstd_take(&un, record, 1, &len);
	if (!rc && (len || un.in.pos != un.in.size))
		rc = as_image_damaged(err, "data follow the last of %" PRIu64 " chunks",
				      image->n_stored);
	ZSTD_freeDCtx(un.zstd);
	free(record);
	return rc;
}
