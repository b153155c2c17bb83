/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recover: from a crashed disk to a tree. One seam, several implementations: a linked library
 * (recover_lib.c), the kernel's own mount, checkers, and a wrapper that answers from memory.
 *
 * Rules of the seam
 *   1. The crashed disk stays as it is; recovery works on a copy.
 *   2. The same crashed disk, way and flags give the same result.
 *   3. What a file system does wrong is an end, with the reason in words; only what we cannot do
 *      is an error. `why` begins with what was being done ("mount: ...", "fsck: ...") and holds no
 *      number that changes from one disk to the next but where it must.
 *   4. A recovery that dies or hangs takes its process with it where it runs in ours: whoever calls
 *      has written down before what was in flight.
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
	AS_WAYS
};

#define AS_WAYS_ALL ((1u << AS_WAYS) - 1)

const char *as_way_name(enum as_way way); /* "mount", "quick", "fsck", "full" */
/* "mount,full": a mask of ways. */
AS_MUST_CHECK int as_ways_parse(const char *text, uint32_t *ways, struct as_err *err);
void as_ways_print(uint32_t ways, struct as_buf *out);

enum as_recovery_end {
	AS_RECOVERED, /* mounted, and read */
	AS_REFUSED, /* the checker gave up, or mount said no */
	AS_UNREADABLE, /* mounted, but a part of the tree cannot be read */
	AS_DIED, /* a signal (only of what does not run in our process) */
	AS_HUNG, /* the deadline */
	AS_COMPLAINED, /* the tree is there, but something behind it failed: see AS_RECOVER_PROBE */
	AS_RECOVERY_ENDS
};

const char *as_recovery_end_name(enum as_recovery_end end);

enum as_recover_flags {
	/* Keep what recovery itself read (where), wrote and flushed: the checker's run and the
	 * mount, up to the moment when the tree can be read. Not what is read for the tree. */
	AS_RECOVER_LOG = 1,
	/* Afterwards: create and delete a file in every directory, unmount, and run the full
	 * checker, which must have nothing to complain of. */
	AS_RECOVER_PROBE = 2,
};

struct as_recovered {
	enum as_recovery_end end;
	struct as_buf why; /* "" when all is well */
	struct as_disk *disk; /* as recovery left it, before any probe; NULL where it never ended */
	struct as_tree *tree; /* NULL where there is none */
	struct as_reclog *log; /* with AS_RECOVER_LOG; its `inner` is gone: only to be read */
	size_t checker_end; /* entries of the log that are the checker's; 0 for AS_WAY_MOUNT */
	/* Of the checker (ways but AS_WAY_MOUNT): it found something to repair. */
	bool repaired;
	bool memoised; /* known from another disk on which all that was read is the same */
	int64_t time_us;
};

void as_recovered_free(struct as_recovered *recovered); /* leaves it zeroed */

struct as_recoverer;

struct as_recoverer_ops {
	const char *name;
	/* Fills *recovered, which is zeroed. */
	int (*recover)(struct as_recoverer *recoverer, enum as_way way, struct as_disk *crashed,
		       unsigned flags, struct as_recovered *recovered, struct as_err *err);
	/* Whether the full checker finds nothing at all on this disk, which was unmounted or
	 * checked in peace: not even something to replay. False: *why says what it found. NULL:
	 * there is no checker. */
	bool (*at_peace)(struct as_recoverer *recoverer, struct as_disk *disk, struct as_buf *why);
	/* The nth read of the next recoveries, counted from 1 over all of them, fails with EIO; 0:
	 * none does any more. Tells whether the last one asked for has failed by now. NULL: it
	 * cannot be done. */
	bool (*fail_read)(struct as_recoverer *recoverer, uint64_t nth);
	void (*free)(struct as_recoverer *recoverer);
};

/* Implementations embed this as their first member. */
struct as_recoverer {
	const struct as_recoverer_ops *ops;
	uint32_t ways; /* those it knows: 1 << enum as_way */
	/* A checker that was cut off may be followed by a mount: it must refuse, or get the tree
	 * that the checker would have left. */
	bool mount_after_checker;
};

/* Free *recovered in both cases. */
AS_MUST_CHECK int as_recover(struct as_recoverer *recoverer, enum as_way way,
			     struct as_disk *crashed, unsigned flags,
			     struct as_recovered *recovered, struct as_err *err);
void as_recoverer_free(struct as_recoverer *recoverer); /* takes NULL */

/* ---- Implementations ---- */

struct as_target;
struct as_host_log;

/* A linked library. The target and the log (where its own words go) must outlive it; seed: of the
 * choices it asks for, each recovery from the start. It is freed before the stores of the disks
 * that were recovered. */
struct as_recoverer *as_recoverer_lib(const struct as_target *target, uint64_t seed,
				      enum as_memo_mode memo, struct as_host_log *log);

#endif
