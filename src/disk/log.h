/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * log: a block device that records what is done to the one beneath it: writes with their data,
 * flushes, discards, zeroes, and reads if asked for, each with the workload's operation that was
 * running. The record can be replayed onto another device, truncated and cleared.
 *
 * A write may be submitted and complete later (as_bd_submit(), as_reclog_hold()). The bytes
 * are on the disk beneath at once; what comes later is only the promise. A flush covers the writes
 * that were complete when it was called, and a flush of a part those of them that are in its range.
 * Entries are in the order of submission.
 *
 * The recorder belongs directly on the disk, with a faulty wrapper (see fault.h) above it: then the
 * log says what reached the disk. A write torn above is recorded as the part that arrived, a
 * dropped flush not at all.
 */
#ifndef AS_DISK_LOG_H
#define AS_DISK_LOG_H

#include "base/err.h"
#include "disk/call.h"

#include <assay/target.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AS_RECLOG_NO_OP UINT32_MAX

struct as_reclog;

struct as_log_entry {
	uint64_t seq; /* rises by one with each call, also over truncate and clear */
	/* Bytes. Of a flush, the range that it covers (as_bd_flush_part()); 0, 0: everything. */
	uint64_t off, len;
	/* WRITE: the len bytes written. READ: those read, with AS_RECLOG_READ_DATA. Else NULL.
	 * Valid until the entry is truncated or cleared. */
	const unsigned char *data;
	uint32_t op; /* the operation that as_reclog_set_op() had set, or AS_RECLOG_NO_OP */
	int ret; /* what the device beneath answered: 0 or a negative errno */
	enum as_call kind;
	bool fua; /* a write that is stable when it is complete */
	bool early; /* a write that the file system has only hinted at (as_bd_dirty()) */
	/* Entries 0..done-1 were submitted before this one was complete. AS_RECLOG_IN_FLIGHT: it is
	 * not complete yet. */
	size_t done;
};

#define AS_RECLOG_IN_FLIGHT SIZE_MAX

enum as_reclog_flags {
	AS_RECLOG_READS = 1, /* record reads too: where and how long */
	AS_RECLOG_READ_DATA = 3, /* and what they returned */
};

/* `inner` must outlive the recorder and is not freed with it. With limit_bytes > 0 the record stops
 * before it would take more memory than that; calls still reach `inner`. */
struct as_reclog *as_reclog_new(struct as_bd *inner, unsigned flags, uint64_t limit_bytes);
void as_reclog_free(struct as_reclog *log); /* takes NULL */
/* The block device to be used in place of `inner`. */
struct as_bd *as_reclog_bd(struct as_reclog *log);

/* Sets the operation that later entries belong to. */
void as_reclog_set_op(struct as_reclog *log, uint32_t op);
/* Nothing is recorded while paused. That is for a walk of the tree, which only reads, or for a mkfs
 * before the first entry, which nobody wants to crash. Writes made while paused are missing from a
 * replay. */
void as_reclog_pause(struct as_reclog *log, bool paused);

/* A submitted write that nobody waits for is complete after `after` further calls. 0, which is how
 * it begins: at once. AS_RECLOG_UNTIL_WAIT: not before somebody waits for it. */
#define AS_RECLOG_UNTIL_WAIT UINT_MAX
void as_reclog_hold(struct as_reclog *log, unsigned after);
unsigned as_reclog_held(const struct as_reclog *log); /* what was said */
/* Of what the file system hints at (as_bd_dirty()), one in `one_in` is written, as `choice` says,
 * which outlives this. NULL: none. */
void as_reclog_write_early(struct as_reclog *log, struct as_choice *choice, unsigned one_in);

size_t as_reclog_len(const struct as_reclog *log);
const struct as_log_entry *as_reclog_at(const struct as_reclog *log, size_t i);
/* Memory that the record uses. */
uint64_t as_reclog_memory(const struct as_reclog *log);
/* The limit was reached: the entries are right, but later ones are missing. */
bool as_reclog_overflowed(const struct as_reclog *log);
/* Whether an entry changed the device: a write, discard or zero of at least a byte that succeeded.
 */
bool as_log_entry_changes(const struct as_log_entry *entry);

/* Keeps the first n entries (n <= len) and frees the memory of the others. The caller sets `inner`
 * back to what it was then; the log does not. What was in flight then is complete. */
void as_reclog_truncate(struct as_reclog *log, size_t n);
/* From now on the disk beneath has no cache: each change is recorded as one with FUA. */
void as_reclog_uncached(struct as_reclog *log);
/* Forgets all entries, and that the limit was reached. */
void as_reclog_clear(struct as_reclog *log);

/* Writes of the record that put `was` at off put `is` there. The device beneath stays as it is. */
void as_reclog_exchange(struct as_reclog *log, uint64_t off, const unsigned char *was,
			const unsigned char *is, size_t len);

/* Does to `bd` what the entry did. Returns 0 or a negative errno. Reads and failed calls do
 * nothing. */
AS_MUST_CHECK int as_log_entry_apply(const struct as_log_entry *entry, struct as_bd *bd);
/* The same for entries first..end-1 in order. */
AS_MUST_CHECK int as_reclog_replay(const struct as_reclog *log, size_t first, size_t end,
				   struct as_bd *bd, struct as_err *err);

#endif
