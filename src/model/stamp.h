/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stamp: when the times of each inode were last moved, as spans of the clock. A judge compares them
 * with what stat(2) tells.
 *
 * Method. A span [lo, hi] of each of atime, mtime and ctime holds the value that stat must tell.
 * Before an operation is judged, the caller says when it began and ended (as_model_clock()). What
 * the rules do to an inode is an event of stamp.def, which moves its spans: MUST sets a span to
 * that of the operation, MAY widens it by that, KEPT leaves it. So no call is made for the sake of
 * times: a time that did not move, or moved for no reason, shows at the next stat of the inode, and
 * at the latest when the tree is compared.
 *
 * Invariants.
 *   1. Spans belong to one model. A copy of it has none: searches and generators know no clock.
 *   2. What is not known is a span of all times: an inode of the fresh disk, and all after a crash.
 *   3. Reading the tree for a comparison reads files; from then on an atime may be that moment.
 *   4. The atime of directories and symbolic links has no upper end: every walk may read them. If
 *      it was set to a moment in the future, a walk sets it back.
 */
#ifndef AS_MODEL_STAMP_H
#define AS_MODEL_STAMP_H

#include "base/buf.h"
#include "model/model.h"
#include "model/traits.h"

struct as_inode;

enum as_event {
#define EVENT(name, ...) AS_EVENT_##name,
#include "model/stamp.def"
#undef EVENT
	AS_EVENTS
};

struct as_stamps;

/* NULL where the type's times are not judged. */
void as_stamps_free(struct as_stamps *stamps); /* takes NULL */

/* For rules; nothing where the model has no spans. */
void as_stamp(struct as_model *m, uint32_t ino, enum as_event event);
/* utimensat(2): AS_TIME_NOW, AS_TIME_OMIT, or the value as the type can store it. */
void as_stamp_set(struct as_model *m, uint32_t ino, int64_t atime_ns, int64_t mtime_ns);
void as_stamps_forget(struct as_model *m); /* of all inodes */
/* What a mount or remount with these options says of atime. */
void as_stamps_mounted(struct as_model *m, const char *opts, bool remount);

/* When an inode was made, as statx(2) told: never another moment. True: it is another one than
 * before, or not within the operation that made it; *why says so. */
bool as_stamp_born(struct as_model *m, const struct as_inode *inode, int64_t btime_ns,
		   struct as_buf *why);
/* True: a time is not what it must be; *why says which. */
bool as_stamps_wrong(const struct as_model *m, const struct as_inode *inode,
		     const struct as_stat *st, struct as_buf *why);

#endif
