/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * group: divides a log at its flushes into sync groups, and lists the points at which power may
 * fail.
 *
 * Rules
 *   1. A write is pending from the moment it is issued until a flush that is issued later has
 *      completed. Discards and zeroes are writes in this sense.
 *   2. A flush that failed makes nothing stable. A write that failed changed nothing and is not
 *      listed (see log.c, invariant 2). Reads are not listed.
 *   3. Power may fail before the first call and after each write and each completed flush: those
 *      are the cut points. A failure during a flush is the cut before it: it is not known how much
 *      of the pending data the flush had written.
 *   4. It is for records without writes in flight and without FUA (log.h): each write was complete
 *      before the next call. cuts/perm.h takes all records.
 *   5. At a cut, all that was pending when the last flush before it completed is stable (the base).
 *      Of what is pending at the cut, any part may be on the disk, in any order.
 *
 * Group g holds the entries after flush g-1 up to flush g. There is always one more group than
 * completed flushes; the last one is open and may be empty. So group g's pending writes are those
 * that flush g makes stable.
 */
#ifndef AS_DISK_GROUP_H
#define AS_DISK_GROUP_H

#include "disk/log.h"

#include <stddef.h>
#include <stdint.h>

#define AS_GROUP_OPEN SIZE_MAX

struct as_groups;

struct as_group {
	size_t first, end; /* entries first..end-1 of the log, the flush included */
	size_t flush; /* the entry that closes it: end-1, or AS_GROUP_OPEN */
	const size_t *pending; /* entries that wait for that flush, in the order of issue */
	size_t n_pending;
};

struct as_cut {
	size_t at; /* entries 0..at-1 were issued */
	size_t base_end; /* the writes among entries 0..base_end-1 are stable */
	size_t group; /* the group that is open here */
	const size_t *pending; /* entries that may or may not be on the disk, in order of issue */
	size_t n_pending;
	uint32_t op; /* of entry at-1: the operation during or after which power fails */
};

/* The groups of the log as it is now; indexes stay valid while the log only grows. */
struct as_groups *as_groups_new(const struct as_reclog *log);
void as_groups_free(struct as_groups *groups); /* takes NULL */

size_t as_groups_len(const struct as_groups *groups);
struct as_group as_groups_at(const struct as_groups *groups, size_t g);

/* At least 1: cut 0 is before the first call. */
size_t as_groups_cuts(const struct as_groups *groups);
struct as_cut as_groups_cut(const struct as_groups *groups, size_t k);

#endif
