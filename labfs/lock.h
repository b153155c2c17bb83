/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lock.h: the locks that labfs would take if several threads used it. assay calls it from one at a
 * time, so there is nothing to wait for; it is told of them to check their order. fs.h includes it.
 *
 * The order: the operation; directories, the lower inode number first; the journal. Those of the
 * operation and its directories are held until it ends (lab_op_end()).
 */
#ifndef LABFS_LOCK_H
#define LABFS_LOCK_H

#include "fs.h"

#define LAB_LOCK_OP "operation"
#define LAB_LOCK_DIR "directory"
#define LAB_LOCK_JOURNAL "journal"

/* What is given back later. */
#define LAB_PAIR_OPEN "open file"
#define LAB_PAIR_ATTRS "attributes in use"

static inline void lab_lock_dir(struct as_fs *fs, const struct lab_node *dir)
{
	as_lock(fs->host, LAB_LOCK_DIR, dir->ino);
	fs->locked[fs->locked[0] != 0] = dir->ino;
}

/* Both parents of a rename, which may be one. */
static inline void lab_lock_dirs(struct as_fs *fs, const struct lab_node *from,
				 const struct lab_node *to)
{
	bool swap = to->ino < from->ino && !LAB_BUG_ON(fs, LOCK_ORDER);

	lab_lock_dir(fs, swap ? to : from);
	if (from != to || LAB_BUG_ON(fs, LOCK_TWICE))
		lab_lock_dir(fs, swap ? from : to);
}

#endif
