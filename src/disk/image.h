/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * image: disks as files. An assay image (by habit disk.img.zst) is a zstd file: `zstd -d` gives the
 * raw disk. Its first frame is a skippable one, which holds our header; ordinary frames follow, and
 * together they decompress to the bytes of the disk. All numbers are little-endian.
 *
 *	bytes   contents
 *	 0..3   magic of a skippable frame of zstd: 0x184D2A5A
 *	 4..7   length of the header: 96
 *	 8..    the header
 *	104..   the frames with the data
 *
 * The header:
 *
 *	 0..7   magic: 0x89 "ASDISK" 0x0a
 *	 8..11  version: 2
 *	12..15  length of the header: 96
 *	16..23  size of the disk in bytes
 *	24..27  sector size: 512
 *	28..31  chunk size: 4096
 *	32..39  number of chunks that are not all zeros
 *	40..55  digest of the whole disk (as_disk_digest: low half, high half)
 *	56..63  length of the frames in bytes
 *	64..79  digest of the frames (XXH3-128)
 *	80..95  digest of bytes 0..79 of the header (XXH3-128)
 *
 * Each frame covers whole chunks, the last one up to the end of the disk. A large hole is a frame
 * of its own, whose blocks are all of type RLE: 4 bytes for 128 KiB of zeros.
 *
 * Images of version 1 are read, too: the header without the 8 bytes before it, then one frame of
 * records (image_records.c).
 *
 * A reader trusts nothing it has not checked: first the magic, then the header's own digest, then
 * each field, the length of the file, the digest of the frames, each frame, and at last the digest
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

/* Where the fields of the header are; see above. */
enum {
	AS_IMAGE_VERSION = 2,
	AS_IMAGE_AT_VERSION = 8,
	AS_IMAGE_AT_HEADER_BYTES = 12,
	AS_IMAGE_AT_SIZE = 16,
	AS_IMAGE_AT_SECTOR = 24,
	AS_IMAGE_AT_CHUNK = 28,
	AS_IMAGE_AT_STORED = 32,
	AS_IMAGE_AT_DISK_DIGEST = 40,
	AS_IMAGE_AT_FRAMES_BYTES = 56,
	AS_IMAGE_AT_FRAMES_DIGEST = 64,
	AS_IMAGE_AT_HEADER_DIGEST = 80,
	AS_IMAGE_HEADER_BYTES = 96,
	AS_IMAGE_ENVELOPE_BYTES = 8, /* before the header; not in version 1 */
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

/* The size of the disk in this image, as its header says; 0: the file is not an image. */
uint64_t as_image_disk_size(const char *path);

/* Raw images, byte for byte, with holes where there are zeros. What is imported is a regular file
 * or a block device whose size is a multiple of AS_DISK_SECTOR_BYTES. */
AS_MUST_CHECK int as_image_export_raw(struct as_disk *disk, const char *path, struct as_err *err);
AS_MUST_CHECK int as_image_import_raw(struct as_chunks *store, const char *path,
				      struct as_disk **disk, struct as_err *err);

#endif
