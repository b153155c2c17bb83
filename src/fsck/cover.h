/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cover: how much of a checker's code the damaged disks reach, over time (SWIFT, Figure 8). A row
 * of as_fsck_cover_row() is a way to measure it: what is run on each disk besides the runs that are
 * judged, and how many blocks of code it has reached since the session began.
 */
#ifndef AS_FSCK_COVER_H
#define AS_FSCK_COVER_H

#include "base/err.h"
#include "disk/cow.h"
#include "fsck/subject.h"

#include <stdint.h>

struct as_fsck_cover {
	const struct as_fsck_cover_row *row;
	const char *folder; /* for its files; all processes of a session have the same */
	void *own; /* of the row */
};

struct as_fsck_cover_row {
	const char *name;
	/* Before any process is started. May be NULL, as may `close`. */
	int (*open)(struct as_fsck_cover *cover, struct as_err *err);
	/* Runs the checker on a disk, to be counted. It may be called by several processes. */
	int (*run)(const struct as_fsck_cover *cover, struct as_fsck_subject *subject,
		   struct as_disk *disk, struct as_err *err);
	/* How many blocks were reached so far. */
	uint64_t (*count)(const struct as_fsck_cover *cover);
	void (*close)(struct as_fsck_cover *cover);
};

/* The rows of this room; sym/blocks.h has another one. Row i, or NULL after the last. */
const struct as_fsck_cover_row *as_fsck_cover_row(unsigned i);

#endif
