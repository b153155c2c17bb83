/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recrash: power cuts during recovery (FiSC section 6). What recovery wrote and flushed is a record
 * like any other. For each of its crash states recovery is begun again, and must end in the tree
 * that it would have reached undisturbed.
 *
 * A recovery is deterministic: it computes the same from the same bytes. So a crash state need not
 * be tried if recovery cannot see what its writes changed. A written sector cannot be seen where
 *   unread  recovery never reads it before the write, and writes it again;
 *   own     recovery reads it, but only after a write of its own there: it sees its own bytes;
 *   same    recovery reads it first, and the write changes nothing.
 * A state all of whose written sectors fall under these rules is left out, and counted under the
 * last rule that was needed.
 */
#ifndef AS_CRASH_RECRASH_H
#define AS_CRASH_RECRASH_H

#include "crash/judge.h"

struct as_recrash_args {
	struct as_recoverer *recoverer;
	const struct as_recording *recording;
	struct as_moment moment; /* of the first power cut */
	const struct as_crash_options *options;
	enum as_way way;
	struct as_dedup *dedup;
	struct as_flight *flight;
	struct as_crash_counts *counts;
	struct as_again *again; /* as in struct as_judge_args */
	uint64_t limit; /* what may be spent (plan.h); 0: anything */
};

/* `crashed` has the key `key`; `first` is its recovery, with a log and a tree. True: all is well.
 * False: *problem says what is wrong, and at which spots the power failed. */
bool as_recrash(const struct as_recrash_args *args, struct as_disk *crashed, struct as_digest key,
		const struct as_recovered *first, struct as_problem *problem, int *rc,
		struct as_err *err);

/* The same for one state only: then[0] (and then[1] during the second recovery). */
bool as_recrash_at(const struct as_recrash_args *args, struct as_disk *crashed,
		   struct as_digest key, const struct as_recovered *first,
		   const struct as_crash_spot *then, struct as_problem *problem, int *rc,
		   struct as_err *err);

/* Which rules (enum as_prune_rule) let the perm's state be left out; 0: it must be tried. `log` is
 * the recovery's record and `start` the disk it began on. */
struct as_readset;
struct as_readset *as_readset_new(const struct as_reclog *log, struct as_disk *start);
void as_readset_free(struct as_readset *set); /* takes NULL */
unsigned as_readset_prunes(struct as_readset *set, struct as_perm *perm,
			   const struct as_perm_state *state, struct as_disk *disk);
/* The sectors that the state's writes put there are not the disk's. */
void as_readset_own(const struct as_readset *set, struct as_perm *perm,
		    const struct as_perm_state *state, struct as_disk_reads *reads);

#endif
