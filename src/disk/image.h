/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * image: disks as files. An assay image (by habit disk.img.zst) is a header of 96 bytes and one
 * zstd frame; chunks of zeros are not stored. All numbers are little-endian.
 *
 *	bytes   contents
 *	 0..7   magic: 0x89 "ASDISK" 0x0a
 *	 8..11  version: 1
 *	12..15  length of the header: 96
 *	16..23  size of the disk in bytes
 *	24..27  sector size: 512
 *	28..31  chunk size: 4096
 *	32..39  number of chunks stored
 *	40..55  digest of the whole disk (as_disk_digest: low half, high half)
 *	56..63  length of the frame in bytes
 *	64..79  digest of the frame (XXH3-128)
 *	80..95  digest of bytes 0..79 (XXH3-128)
 *	96..    the frame: for each stored chunk, in rising order, its number (8 bytes) and its
 *	        4096 bytes (those behind the end of the disk are zeros)
 *
 * A reader trusts nothing it has not checked: first the magic, then the header's own digest, then
 * each field, the length of the file, the digest of the frame, each record, and at last the digest
 * of the disk it has built. What is cut short or changed in any bit is refused with AS_EUSE and a
 * message that says how it is damaged.
 */
#ifndef AS_DISK_IMAGE_H
#define AS_DISK_IMAGE_H

#include "base/buf.h"
#include "base/err.h"
#include "disk/cow.h"
#include "os/dir.h"

#include <stddef.h>

/* Where the fields are; see above. */
enum {
	AS_IMAGE_VERSION = 1,
	AS_IMAGE_AT_VERSION = 8,
	AS_IMAGE_AT_HEADER_BYTES = 12,
	AS_IMAGE_AT_SIZE = 16,
	AS_IMAGE_AT_SECTOR = 24,
	AS_IMAGE_AT_CHUNK = 28,
	AS_IMAGE_AT_STORED = 32,
	AS_IMAGE_AT_DISK_DIGEST = 40,
	AS_IMAGE_AT_FRAME_BYTES = 56,
	AS_IMAGE_AT_FRAME_DIGEST = 64,
	AS_IMAGE_AT_HEADER_DIGEST = 80,
	AS_IMAGE_HEADER_BYTES = 96,
};

/* Appends the image of a disk to `out`. */
AS_MUST_CHECK int as_image_encode(struct as_disk *disk, struct as_buf *out, struct as_err *err);
/* A new disk from an image in memory. */
AS_MUST_CHECK int as_image_decode(struct as_chunks *store, const void *data, size_t len,
				  struct as_disk **disk, struct as_err *err);

/* The same to and from a file that a user names (os/out.h), or to one in an open folder. */
AS_MUST_CHECK int as_image_save(struct as_disk *disk, const char *path, struct as_err *err);
AS_MUST_CHECK int as_image_save_in(struct as_disk *disk, const struct as_dir *dir, const char *name,
				   struct as_err *err);
AS_MUST_CHECK int as_image_load(struct as_chunks *store, const char *path, struct as_disk **disk,
				struct as_err *err);

/* Raw images, byte for byte, with holes where there are zeros. What is imported is a regular file
 * or a block device whose size is a multiple of AS_DISK_SECTOR_BYTES. */
AS_MUST_CHECK int as_image_export_raw(struct as_disk *disk, const char *path, struct as_err *err);
AS_MUST_CHECK int as_image_import_raw(struct as_chunks *store, const char *path,
				      struct as_disk **disk, struct as_err *err);

#endif
