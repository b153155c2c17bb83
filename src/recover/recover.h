/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recover: from a crashed disk to a tree. A way of recovery is a path of steps (step.h): a checker,
 * a mount, both. One machine walks the path, keeps the log and remembers each step; its driver
 * (step_worker.c) carries out one step, by an instance of the target (instance/instance.h) or by a
 * checker that is a program (step_check.c).
 *
 * Rules
 *   1. The crashed disk stays as it is; recovery works on a copy.
 *   2. The same crashed disk, way and flags give the same result.
 *   3. What a file system does wrong is an end, with the reason in words; only what we cannot do
 *      is an error. `why` begins with what was being done ("mount: ...", "fsck: ...") and holds no
 *      number that changes from one disk to the next, unless it must.
 *   4. A library that dies or hangs takes the process with it, because it runs in ours: before each
 *      recovery the caller writes down which state is in flight.
 */
#ifndef AS_RECOVER_RECOVER_H
#define AS_RECOVER_RECOVER_H

#include "base/buf.h"
#include "base/err.h"
#include "disk/cow.h"
#include "disk/log.h"
#include "recover/memo.h"

#include <stdbool.h>
#include <stdint.h>

struct as_tree; /* snapshot/tree.h */

/* How to get from a crashed disk to a tree. All end in a mount, so that there is a tree. */
enum as_way {
	AS_WAY_MOUNT, /* mount replays what is to be replayed */
	AS_WAY_QUICK, /* the quick checker (journal only), then mount */
	AS_WAY_DEFAULT, /* the checker as people run it, then mount */
	AS_WAY_FULL, /* the checker that looks at everything, then mount */
	/* A mount that replays nothing, on the disk as the power cut left it: the last commit. It
	 * is no recovery, and its tree may be older than that of the others. */
	AS_WAY_COMMIT,
	AS_WAYS
};

#define AS_WAYS_ALL ((1u << AS_WAYS) - 1)

const char *as_way_name(enum as_way way); /* "mount", "quick", "fsck", "full", "commit" */
/* "mount,full": a mask of ways. */
AS_MUST_CHECK int as_ways_parse(const char *text, uint32_t *ways, struct as_err *err);
void as_ways_print(uint32_t ways, struct as_buf *out);

enum as_recovery_end {
	AS_RECOVERED, /* mounted, and read */
	AS_REFUSED, /* the checker gave up, or mount said no */
	AS_UNREADABLE, /* mounted, but a part of the tree cannot be read */
	AS_DIED, /* a signal (only of what does not run in our process) */
	AS_HUNG, /* the deadline */
	AS_COMPLAINED, /* the tree is there, but something after it failed: see AS_RECOVER_PROBE */
	AS_RECOVERY_ENDS
};

const char *as_recovery_end_name(enum as_recovery_end end);

enum as_recover_flags {
	/* Keep a log of what recovery itself read (where), wrote and flushed: the checker's run and
	 * the mount, until the tree can be read. What is read for the tree is not in it. */
	AS_RECOVER_LOG = 1,
	/* Afterwards: create and delete a file in every directory, unmount, and run the full
	 * checker, which must have nothing to complain of. */
	AS_RECOVER_PROBE = 2,
};

struct as_recovered {
	enum as_recovery_end end;
	struct as_buf why; /* "" when all is well */
	/* As recovery left it, before any probe; NULL where it did not come to its end. */
	struct as_disk *disk;
	struct as_tree *tree; /* NULL where there is none */
	/* With AS_RECOVER_PROBE: what could be written to, with its quotas; NULL: it has none. */
	struct as_tree *counted;
	struct as_reclog *log; /* with AS_RECOVER_LOG; its `inner` is gone: only to be read */
	size_t checker_end; /* entries of the log that are the checker's; 0 for AS_WAY_MOUNT */
	uint64_t wrote_sectors; /* where a log was asked for */
	bool repaired; /* by the checker: it found something to repair */
	bool memoised; /* known from another disk on which all that was read is the same */
	int64_t time_us;
};

void as_recovered_free(struct as_recovered *recovered); /* leaves it zeroed */

struct as_recoverer;

void as_recoverer_free(struct as_recoverer *recoverer); /* takes NULL */
/* The ways it knows: 1 << enum as_way. */
uint32_t as_recoverer_ways(const struct as_recoverer *recoverer);
/* A checker that was interrupted may be followed by a mount: that must refuse, or come to the tree
 * that the checker would have left. */
bool as_recoverer_mounts_unchecked(const struct as_recoverer *recoverer);

/* Free *recovered also after an error. */
AS_MUST_CHECK int as_recover(struct as_recoverer *recoverer, enum as_way way,
			     struct as_disk *crashed, unsigned flags,
			     struct as_recovered *recovered, struct as_err *err);
/* Whether the strictest checker finds nothing at all on a disk that was unmounted or checked: not
 * even a journal to replay. False: *why says what it found. Without a checker it is true. */
bool as_recover_at_peace(struct as_recoverer *recoverer, struct as_disk *disk, struct as_buf *why);
/* What can fail during recovery. Checkers that are programs have only the first. */
enum as_recover_fault {
	AS_RECOVER_FAIL_READ,
	AS_RECOVER_FAIL_WRITE,
	AS_RECOVER_FAIL_FLUSH,
	AS_RECOVER_FAIL_ALLOC, /* of what runs in our process */
	AS_RECOVER_FAULTS
};

const char *as_recover_fault_name(enum as_recover_fault kind); /* "read" */
/* The nth call of that kind of the next recoveries, counted from 1 over all of them, fails; 0: none
 * fails any more. Tells whether the call that was asked for last has failed by now. Until it is
 * switched off, nothing is taken from the memo, nor added to it. A recovery that says by its answer
 * that something failed has refused (AS_REFUSED), also if it is its unmount that says so. */
bool as_recover_fail(struct as_recoverer *recoverer, enum as_recover_fault kind, uint64_t nth);

struct as_outside; /* instance/outside.h */

/* From now on, all that steps read is added there; NULL: no longer. */
void as_recoverer_note_reads(struct as_recoverer *recoverer, struct as_disk_reads *reads);

struct as_recover_options {
	unsigned deadline_ms; /* of a checker; 0: AS_RECOVER_DEADLINE_MS */
	enum as_memo_mode memo;
	unsigned verify_every; /* with AS_MEMO_VERIFY: 1 is every answer; 0: the driver's number */
	uint64_t memo_bytes; /* 0: AS_MEMO_LIMIT_BYTES */
	struct as_outside *outside; /* who runs checkers outside of a guest; NULL: nobody */
	/* Who waits for us takes it as a sign of life when this rises; may be NULL. Between two of
	 * them pass at most twice the deadline of a checker. */
	volatile uint64_t *alive;
};

#define AS_RECOVER_DEADLINE_MS 20000u

struct as_host_log;
struct as_target;

/* A process has one at a time, and what it needs of a kernel is made when it is first needed. The
 * target and the log (where its own words go) must outlive it. The seed is that of the choices the
 * file system asks for; each step begins with it anew. Free it before the stores of the disks that
 * were recovered. AS_EUSE: the target cannot be recovered. */
AS_MUST_CHECK int as_recoverer_new(const struct as_target *target, uint64_t seed,
				   struct as_host_log *log,
				   const struct as_recover_options *options,
				   struct as_recoverer **out, struct as_err *err);
/* Whether all ways must give the same tree. */
bool as_recoverer_ways_agree(const struct as_recoverer *recoverer);
/* Whether the file system runs in this process: then it may take the process with it. */
bool as_recoverer_in_process(const struct as_recoverer *recoverer);

#endif
