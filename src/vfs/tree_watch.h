/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tree_watch: a tree read through a vfs, remembering the last errno that says it could not be read
 * (EIO, ENOMEM, EROFS, EUCLEAN, EBADMSG). */
#ifndef AS_VFS_TREE_WATCH_H
#define AS_VFS_TREE_WATCH_H

#include "vfs/vfs.h"

/* The ctx of as_tree_watch_ops. */
struct as_tree_watch {
	struct as_vfs *vfs;
	volatile uint64_t *alive; /* counts calls that came back; NULL: nobody asks */
	int64_t until_us; /* after this moment (as_now_us()), they are not counted any more */
	int failed; /* 0: nothing did */
};

extern const struct as_tree_ops as_tree_watch_ops;

#endif
