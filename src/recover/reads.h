/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reads: the parts of a disk that were read. */
#ifndef AS_RECOVER_READS_H
#define AS_RECOVER_READS_H

#include "disk/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a disk, in whole sectors. */
struct as_sector_span {
	uint64_t off, len;
};

/* What was read of a disk by one run after the other, in order, each sector once. A run begins with
 * a copy of the disk, and what it has written there is its own: reading that is no reading of the
 * disk. */
struct as_disk_reads {
	struct as_sector_span *span;
	size_t n, cap;
	uint64_t size_bytes; /* of the disk */
	unsigned char *own, *asked; /* bits of sectors: own in this run, and in a span */
	bool lost; /* a read is missing */
};

void as_disk_reads_init(struct as_disk_reads *reads, uint64_t size_bytes);
void as_disk_reads_free(struct as_disk_reads *reads);
void as_disk_reads_clear(struct as_disk_reads *reads); /* forgets all runs */
void as_disk_reads_begin(struct as_disk_reads *reads); /* the next run */
void as_disk_reads_own(struct as_disk_reads *reads, uint64_t off, uint64_t len);
void as_disk_reads_add(struct as_disk_reads *reads, uint64_t off, uint64_t len);
/* Adds a call of a run, or all of a log; NULL: it is lost. */
void as_disk_reads_call(struct as_disk_reads *reads, enum as_call kind, uint64_t off, uint64_t len);
void as_disk_reads_log(struct as_disk_reads *reads, const struct as_reclog *log);
/* Whether no call failed, and none is missing. */
bool as_disk_reads_is_whole(const struct as_reclog *log);

#endif
