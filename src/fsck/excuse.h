/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * excuse: what a checker may do although it looks wrong, because its manual or its source says so.
 * The rows of target/checker.def say it of each checker.
 */
#ifndef AS_FSCK_EXCUSE_H
#define AS_FSCK_EXCUSE_H

#include "disk/log.h"
#include "fsck/judge.h"

/* Notes where the run of `log` on the healthy disk wrote to: base->rebuilt. */
void as_excuse_note_rebuilt(struct as_fsck_base *base, const struct as_reclog *log);

/*
 * Whether a run changed anything but its books. `how` gets the bytes.
 *   - A run that repairs may also change what it changes on the healthy disk.
 *   - A checker that builds structures anew may change all of the sectors that it writes to on
 *     the healthy disk.
 *   - A run that only looks may change the row's check_books alone.
 */
bool as_excuse_differs(const struct as_checker_test *row, enum as_subject_mode mode,
		       const struct as_fsck_base *base, struct as_disk *from, struct as_disk *to,
		       struct as_damage *how);

/* Whether the output has one of the texts "text|text"; NULL: there are none. */
bool as_excuse_says(const char *texts, const char *output);

/* The run that repairs changed the disk and does not say so by its status, but that is known. */
bool as_excuse_silent(const struct as_checker_test *row, const struct as_fsck_run *first);

/* The two modes disagree, and that is known. */
bool as_excuse_disagrees(const struct as_checker_test *row, const struct as_fsck_base *base,
			 struct as_disk *disk, const struct as_fsck_run *check,
			 const struct as_fsck_run *first);

/*
 * Whether the second answer is in order although Table 1 wants another one: the two runs are not
 * the same command, or the first one does not look at the whole disk.
 */
bool as_excuse_second(const struct as_fsck_subject *subject, enum as_check_answer first,
		      enum as_check_answer second);

#endif
