/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * quota: whether a file system has counted right what each user and group has.
 *
 * Method. Every inode that the model has is asked for its owners and blocks (stat), and the sums
 * are compared with what the operation `quota` answers for each owner that there is, and for root.
 * Nothing may be open. Space is compared where the type promises it (as_traits.quota).
 */
#ifndef AS_CHILD_QUOTA_H
#define AS_CHILD_QUOTA_H

#include "model/model.h"
#include "vfs/vfs.h"

/* False: *why says for whom it is wrong. */
bool as_quota_agrees(struct as_vfs *vfs, const struct as_model *model, struct as_buf *why);

#endif
