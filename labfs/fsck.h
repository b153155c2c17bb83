/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsck.h: the checker of labfs, for a program or for a caller that has a disk in memory.
 */
#ifndef LABFS_FSCK_H
#define LABFS_FSCK_H

#include <assay/target.h>

/*
 * Checks the unmounted file system on args->bd and repairs it. With args->readonly nothing is
 * written: problems are reported as if they had been repaired, and the answer is AS_FSCK_LEFT if
 * there were any. Returns AS_FSCK_* bits; -EINVAL for an unknown option in args->opts.
 */
int lab_fsck(const struct as_mount_args *args, enum as_fsck_mode mode);

/* One row of problem.def, for readers of the checker's log: a line starts with "[CODE ID]". */
struct lab_problem {
	int code;
	const char *id, *text, *fix;
	int preen; /* 1 = a sound file system shows it after a power cut */
};
extern const struct lab_problem lab_problem[];
extern const unsigned lab_problem_count;

#endif
