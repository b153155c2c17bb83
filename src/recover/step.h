/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step: the step machine of recovery. A step takes a disk to another one and says how it ended; a
 * way of recovery is a path of steps: the way "quick" is the step of the quick checker, then that
 * of the mount. The machine (step.c) remembers each step by what it read (memo.h), verifies what is
 * remembered, lets reads fail, and counts. A driver only carries out one step on one disk.
 *
 * A kernel mounts read-only, as machines do it with their root before anything else: the journal is
 * replayed and orphans are removed all the same, but no times of ours get on the disk, so that the
 * result depends on nothing but the disk. Writing is tried by the step of the probe, on the
 * recovered disk.
 */
#ifndef AS_RECOVER_STEP_H
#define AS_RECOVER_STEP_H

#include "base/err.h"
#include "recover/memo.h"
#include "recover/recover.h"

enum as_step {
	AS_STEP_QUICK, /* the checkers, in the order of enum as_check_mode */
	AS_STEP_DEFAULT,
	AS_STEP_FULL,
	AS_STEP_MOUNT, /* mount, read the tree, unmount */
	AS_STEP_REREAD, /* the same, but nothing is replayed */
	AS_STEP_LOOK, /* read-only mount, read the tree, make it writable, unmount */
	AS_STEP_PROBE, /* mount, a file made and removed in every directory, unmount */
	AS_STEPS
};

const char *as_step_name(enum as_step step); /* "quick fsck", "mount" */
bool as_step_is_checker(enum as_step step);

struct as_step_stats {
	uint64_t asked[AS_STEPS], memoised[AS_STEPS];
	uint64_t verified;
	uint64_t other_bytes; /* of these: the same answer, but not the same bytes on the disk */
	int64_t time_us[AS_STEPS]; /* of those that were not memoised */
	struct as_memo_stats memo;
};

struct as_step_stats as_recoverer_stats(const struct as_recoverer *recoverer);

/* What one step made of a disk; `end` and `why` as in struct as_recovered. A checker has recovered
 * a disk when it left a file system that it is content with; `why` then says what it repaired. */
struct as_stepped {
	enum as_recovery_end end;
	bool repaired; /* by a checker: there was something to repair */
	bool memoised;
	struct as_buf why;
	struct as_disk *disk; /* NULL where the step did not come to its end, or nobody wants it */
	/* Of AS_STEP_MOUNT, AS_STEP_REREAD and AS_STEP_LOOK; of AS_STEP_PROBE, if there are
	 * quotas. */
	struct as_tree *tree;
	/* Where asked for: all that it did, reads included. Entries 0..tree_at-1 are recovery; what
	 * AS_STEP_MOUNT did to read the tree and to unmount follows. */
	struct as_reclog *log;
	size_t tree_at;
};

enum as_step_wants { AS_STEP_WANT_DISK = 1, AS_STEP_WANT_LOG = 2 };

/* The disk stays as it is. wants: what the caller needs beside the answer. *stepped is freed by
 * as_stepped_free() in any case. */
AS_MUST_CHECK int as_step(struct as_recoverer *recoverer, enum as_step step, struct as_disk *disk,
			  unsigned wants, struct as_stepped *stepped, struct as_err *err);
void as_stepped_free(struct as_stepped *stepped); /* leaves it zeroed */

#endif
