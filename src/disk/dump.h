/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dump: the contents of a sparse file as one piece of memory, for a reader that shares the memory
 * and not the file. A dump is a list of extents, in order: each is a struct as_dump_extent and its
 * bytes, which begin on a multiple of 8. What no extent covers is zeros.
 */
#ifndef AS_DISK_DUMP_H
#define AS_DISK_DUMP_H

#include "base/err.h"
#include "disk/cow.h"

struct as_dump_extent {
	uint64_t off, len_bytes; /* off is a multiple of AS_CHUNK_BYTES */
};

/* Dumps the file. AS_ELACK: it does not fit into the room. */
AS_MUST_CHECK int as_dump_file(int fd, void *area, size_t room_bytes, size_t *len_bytes,
			       struct as_err *err);
/* Gives the disk the contents of the dump. The writer of the dump is not trusted, and may change it
 * meanwhile: AS_EUSE if it makes no sense, and the disk then holds anything. Chunks that the disk
 * holds already are not written. */
AS_MUST_CHECK int as_dump_load(const void *area, size_t len_bytes, struct as_disk *disk,
			       struct as_err *err);

#endif
