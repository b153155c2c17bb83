/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * again: recoveries that were disturbed by power cuts (recrash.h), remembered by what was read.
 *
 * Claim. Let recovery of disk d, by some way, make the writes W and end in tree t, and let all its
 * crash states have been tried and be right. Let R be what was read meanwhile: by the recovery up
 * to its last write, and by all that was done with the crash states. If another disk e has the same
 * bytes as d in R, and its recovery ends in t, then all crash states of that recovery are right.
 * Proof. Recovery of e reads the same as that of d until its last write, so it makes the writes W.
 * Its crash states are e + S for the same parts S of W. In a sector of R, e + S and d + S have the
 * same byte: that of S, or that of both disks. So what was done with d + S would do the same with
 * e + S, and come to the same end: t, where it was right for d, which is right for e, too.
 *
 * What is left out for a reason must be left out for e as well. The rules of recrash.h look at W,
 * at the order of reads, and at sectors that recovery reads, which are in R. Two crash states of d
 * that are the same disk, d + S = d + T, are tried once: then e + T has in the sectors of T what
 * d + S has there, and e + T is right by the same argument. Where it matters whether S changes
 * anything at all, the sectors of W are added to R.
 *
 * Single crash states are remembered in the same way: what was done with one, and right, would be
 * right with every disk that has the same bytes where it was read. What was tried with another
 * recovery of the same worker is not tried again, since it is the same disk; what was read then is
 * kept for a while, and counts here, too.
 *
 * So a disk whose recoveries need not be disturbed is found without a record of them, which takes
 * most of the time. It holds for what runs in this process, since its steps depend on nothing but
 * the disk, and where nothing was left out for want of a budget.
 */
#ifndef AS_CRASH_AGAIN_H
#define AS_CRASH_AGAIN_H

#include "base/digests.h"
#include "crash/judge.h"
#include "recover/recover.h"

struct as_board;
struct as_readset;

#define AS_AGAIN_HOWS 8u

/* What is known of other recoveries. */
struct as_again;

/* NULL: nothing can be known. The recoverer and the board outlive it. board: where others who do
 * the same with the same target post what they know (board.h); NULL: there are none. */
struct as_again *as_again_new(struct as_recoverer *recoverer,
			      const struct as_crash_options *options, struct as_board *board);
void as_again_free(struct as_again *again); /* takes NULL */

/* As as_recover(). AS_RECOVER_LOG is left out where power cuts during it are known to be right. */
AS_MUST_CHECK int as_again_recover(const struct as_judge_args *args, enum as_way way,
				   struct as_disk *disk, unsigned flags,
				   struct as_recovered *recovered, struct as_err *err);

/* How many recoveries were known because another process had posted it. */
uint64_t as_again_told(const struct as_again *again); /* takes NULL */

/* One recovery while it is disturbed. The functions do nothing if its `again` is NULL. */
struct as_again_trial {
	struct as_again *again;
	enum as_way way;
	char tree[AS_DIGEST_HEX_LEN + 1]; /* the digest of the tree to end in */
	struct as_disk_reads reads; /* of the crashed disk */
	struct as_digests tried; /* its crash states */
	bool known; /* that the state is right, with AS_MEMO_VERIFY */
};

void as_again_begin(struct as_again_trial *trial, struct as_again *again, enum as_way way,
		    struct as_disk *crashed, const struct as_recovered *first);
/* A crash state of the recovery. */
struct as_again_state {
	struct as_digest key; /* of what is judged (dedup.h) */
	const struct as_readset *set;
	struct as_perm *perm;
	const struct as_perm_state *state;
};

/* Whether the state was tried, here or with another recovery (`before`), and its reads are known.
 * Else ask as_again_knows(), or try it. */
bool as_again_has(struct as_again_trial *trial, const struct as_again_state *of, bool before);
/* Whether it is right, as another disk has shown; `how`: what is to be done with it, a number
 * below AS_AGAIN_HOWS. Else it is to be tried now. */
bool as_again_knows(struct as_again_trial *trial, const struct as_again_state *of,
		    struct as_disk *disk, unsigned how);
/* Something else is done with the same crash state. */
void as_again_run(struct as_again_trial *trial);
/* The state was tried, and is right: keeps what was read. excused: only here. */
void as_again_keep(struct as_again_trial *trial, const struct as_again_state *of,
		   struct as_disk *disk, unsigned how, bool excused);
/* Of what is not right: with AS_MEMO_VERIFY, whether it was known to be right. */
bool as_again_erred(const struct as_again_trial *trial);
/* Adds the writes of the recovery, since it matters whether they change anything. */
void as_again_mind_writes(struct as_again_trial *trial, const struct as_reclog *log);
/* Remembers that all is right, unless something was lost. right: all was, and nothing was excused
 * or left out. Ends what begin() began. */
void as_again_end(struct as_again_trial *trial, struct as_disk *crashed,
		  const struct as_recovered *first, bool right);

#endif
