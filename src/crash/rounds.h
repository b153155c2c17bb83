/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rounds: crash, recover, go on, crash. A run whose power failed is followed by another one, on the
 * disk that the power cut left: the mount that recovers this disk stays, the next part of the
 * workload is run, and the power fails again. So what a recovery leaves in memory, or where nobody
 * looks until later (the numbers of log records, maps of free blocks), comes to light.
 *
 * Parts. A `crash` in the workload ends a part; the next round runs the next part, and when there
 * is none, the last one again. A workload without `crash` is one part: each round runs all of it,
 * with other data, so that old and new bytes can be told apart.
 *
 * What is promised. A round begins with the tree that its mount finds. That tree must be one that
 * the round before allows. From then on all of it is stable: it came from the disk, nothing of it
 * was only in memory, and a recovery that is repeated must come to the same tree. This holds at
 * once, while the mount still writes, too. Types without a log (ext2, minix, vfat) promise nothing
 * before a checker has run: there the round begins with the disk that the full checker left.
 *
 * From which states. They are drawn, by a seed that is made of the workload and the seed of the
 * run; most in view 1. What a finding needs is in its options: `rounds=2,from=1:12:#0` (view, cut,
 * and number of the state; one for each earlier round). If that does not show the finding, because
 * the workload is another one, states are drawn again, and their rounds searched for it.
 *
 * Rounds come only where nothing was found before, and not with faults.
 */
#ifndef AS_CRASH_ROUNDS_H
#define AS_CRASH_ROUNDS_H

#include "crash/child.h"

/* The operations of round `round` (from 0) of so many; *first (may be NULL): the number of the
 * first of them in the workload. The caller frees them. */
struct as_seq *as_round_part(const struct as_seq *whole, unsigned rounds, unsigned round,
			     size_t *first);

/* Judges a recording with its share of the budget: one part in so many. */
AS_MUST_CHECK int as_rounds_judge(const struct as_crash_args *args,
				  const struct as_recording *recording, unsigned parts,
				  struct as_err *err);

/* The rounds after the first one, of which there is a recording. */
AS_MUST_CHECK int as_rounds(const struct as_crash_args *args, const struct as_seq *whole,
			    const struct as_recording *first, struct as_err *err);

#endif
