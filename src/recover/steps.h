/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steps: recovery of a kernel's file system, in steps. Each takes a disk to another one and says
 * how it went; each is remembered on its own (memo.h) by what it read. Ways of recovery are made of
 * them: the way "quick" is the step of the quick checker, then that of the mount.
 *
 * A mount is a read-only one, as machines do it with their root before anything else: the journal
 * is replayed and orphans are removed all the same, but no times of ours get on the disk, so that
 * what comes out depends on nothing but the disk. Writing is tried by the step of the probe, on the
 * recovered disk.
 */
#ifndef AS_RECOVER_STEPS_H
#define AS_RECOVER_STEPS_H

#include "base/err.h"
#include "recover/memo.h"
#include "recover/recover.h"
#include "target/fstype.h"

enum as_step {
	AS_STEP_QUICK, /* the checkers, as enum as_check_mode has them */
	AS_STEP_DEFAULT,
	AS_STEP_FULL,
	AS_STEP_MOUNT, /* and reading the tree, and unmounting */
	AS_STEP_PROBE, /* mount, a file made and removed in every directory, unmount */
	AS_STEPS
};

const char *as_step_name(enum as_step step); /* "quick fsck", "mount" */

struct as_steps_options {
	const char *mount_opts; /* of the target, beside those of the type; "" for none */
	unsigned deadline_ms; /* of a checker; 0: AS_STEPS_DEADLINE_MS */
	enum as_memo_mode memo;
	unsigned verify_every; /* with AS_MEMO_VERIFY; 1: every answer; 0: AS_STEPS_VERIFY_EVERY */
	uint64_t memo_bytes; /* 0: AS_MEMO_LIMIT_BYTES */
};

#define AS_STEPS_DEADLINE_MS 20000u
#define AS_STEPS_VERIFY_EVERY 16u

struct as_steps_stats {
	uint64_t asked[AS_STEPS], memoised[AS_STEPS];
	uint64_t verified;
	uint64_t other_bytes; /* of these: the same answer, but not the same bytes on the disk */
	int64_t time_us[AS_STEPS]; /* of those that were not memoised */
	struct as_memo_stats memo;
};

struct as_steps;

/* What it needs of the kernel is made when it is first needed; a process has one of these. The type
 * must outlive it. */
struct as_steps *as_steps_new(const struct as_fstype *type, const struct as_steps_options *options);
void as_steps_free(struct as_steps *steps); /* takes NULL; before the stores of the disks */
struct as_steps_stats as_steps_stats(const struct as_steps *steps);

/* The nth read of the steps from now on fails with EIO; 0: none does. Until then nothing is taken
 * from memory, nor kept there. */
void as_steps_fail_read(struct as_steps *steps, uint64_t nth);
/* Whether it has failed by now. */
bool as_steps_failed(const struct as_steps *steps);

/* What one step made of a disk; `end` and `why` as in struct as_recovered. A checker has recovered
 * a disk when it left a file system behind that it is content with. */
struct as_stepped {
	enum as_recovery_end end;
	bool repaired; /* by a checker: there was something to repair */
	bool memoised;
	struct as_buf why;
	struct as_disk *disk; /* NULL where the step did not come to its end */
	struct as_tree *tree; /* of AS_STEP_MOUNT */
	/* Where asked for: all that it did, reads included. What AS_STEP_MOUNT did to read the tree
	 * and to unmount begins with entry tree_at. */
	struct as_reclog *log;
	size_t tree_at;
};

/* The disk stays as it is. Freed by as_stepped_free() in any case. */
AS_MUST_CHECK int as_step(struct as_steps *steps, enum as_step step, struct as_disk *disk,
			  bool want_log, struct as_stepped *stepped, struct as_err *err);
void as_stepped_free(struct as_stepped *stepped); /* leaves it zeroed */

#endif
