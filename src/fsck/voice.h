/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * voice: what a checker said of a disk, as numbers that can be compared with those of other disks.
 * A disk that makes a checker say something new took a way through it that others did not, and to
 * see that costs nothing more than the runs that judge the disk.
 */
#ifndef AS_FSCK_VOICE_H
#define AS_FSCK_VOICE_H

#include "base/buf.h"
#include "fsck/judge.h"

/*
 * Adds a number of 64 bits for each thing that was said: each problem that a run names, with which
 * run it was; two answers in a row; each thing that is wrong with them. Objects do not count: the
 * same problem of another inode is the same number.
 */
void as_fsck_voice(const struct as_fsck_subject *subject, const struct as_fsck_verdict *verdict,
		   struct as_buf *out);
/* All that the first run said, in its order, as one number; what it says twice in a row counts
 * once. */
uint64_t as_fsck_voice_first(const struct as_fsck_subject *subject, const struct as_fsck_run *run);

#endif
