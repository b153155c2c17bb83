/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cow: a disk of fixed size, made of references into a chunk store. It is a block device (struct
 * as_bd) that fails only for a wrong range. Copies are cheap: as_disk_snapshot() takes constant
 * time and copies no data, and both disks may then be written.
 *
 * Bytes never written are zeros. A discarded range reads as zeros. Two disks of the same size with
 * the same bytes have the same digest, whatever their history, store or process. The digest covers
 * the size, too. The digest is kept incrementally: asking for it costs only what changed since it
 * was last asked for, here or on a disk that shares the change.
 */
#ifndef AS_DISK_COW_H
#define AS_DISK_COW_H

#include "base/err.h"
#include "base/hash.h"
#include "disk/chunk.h"

#include <assay/target.h>
#include <stdbool.h>
#include <stdint.h>

#define AS_DISK_SECTOR_BYTES 512u
#define AS_DISK_MAX_BYTES (UINT64_C(1) << 44) /* 16 TiB */

struct as_disk;

/* An all-zero disk. The size is a multiple of AS_DISK_SECTOR_BYTES, more than 0, and at most
 * AS_DISK_MAX_BYTES: anything else is AS_EUSE. The store must outlive the disk. */
AS_MUST_CHECK int as_disk_new(struct as_chunks *store, uint64_t size_bytes, struct as_disk **disk,
			      struct as_err *err);
void as_disk_free(struct as_disk *disk); /* takes NULL */

/* The block device that the disk is; lives as long as the disk. */
struct as_bd *as_disk_bd(struct as_disk *disk);
struct as_chunks *as_disk_store(const struct as_disk *disk);
uint64_t as_disk_size(const struct as_disk *disk);

/* An independent disk with the same contents, in constant time. */
struct as_disk *as_disk_snapshot(struct as_disk *disk);
/* Gives `disk` the contents of `from` (same size and same store, which is asserted) in constant
 * time, too. Its block device stays the same, so that wrappers around it stay valid: this is how a
 * state is restored. */
void as_disk_restore(struct as_disk *disk, struct as_disk *from);

struct as_digest as_disk_digest(struct as_disk *disk);
/* Compares sizes and digests. */
bool as_disk_eq(struct as_disk *a, struct as_disk *b);

/* The digest of the chunk that this byte is in. False: it would have to be computed. */
bool as_disk_chunk_digest(const struct as_disk *disk, uint64_t off, struct as_digest *digest);

/* Chunk `index` covers the bytes from index * AS_CHUNK_BYTES on. The data is always AS_CHUNK_BYTES
 * long; after the end of the disk it is padded with zeros. A non-zero return stops the walk and is
 * handed back. Neither disk may be written meanwhile. */
typedef int (*as_disk_diff_fn)(void *ctx, uint64_t index, const unsigned char *a,
			       const unsigned char *b);
typedef int (*as_disk_each_fn)(void *ctx, uint64_t index, const unsigned char *data);

/* Calls fn for each chunk in which the disks (same size, which is asserted) differ, in order. The
 * time is in proportion to what the disks do not share. */
int as_disk_diff(const struct as_disk *a, const struct as_disk *b, as_disk_diff_fn fn, void *ctx);
/* Calls fn for each chunk that is not all zeros, in order. */
int as_disk_each(struct as_disk *disk, as_disk_each_fn fn, void *ctx);

#endif
