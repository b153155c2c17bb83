/* SPDX-License-Identifier: GPL-2.0-or-later */
/* walk_f2fs_priv: what the parts of the walker of f2fs share. */
#ifndef AS_LAYOUT_WALK_WALK_F2FS_PRIV_H
#define AS_LAYOUT_WALK_WALK_F2FS_PRIV_H

#include "layout/walk/walk_priv.h"

#define F2FS_BLOCK UINT64_C(4096)
#define F2FS_SEGMENT UINT64_C(512) /* blocks */

enum f2fs_var { F2FS_EXTRA, F2FS_ADDRESSES, F2FS_ENTRIES };

struct f2fs_walk {
	struct as_disk_walk *walk;
	uint64_t blocks, cp, sit, nat, main, payload; /* in blocks */
	uint64_t sit_segments, nat_segments, main_segments;
	uint64_t pack; /* where the valid checkpoint is, in bytes; 0: there is none */
	uint32_t feature;
};

/* The block of a node; 0: it has none. */
uint64_t as_f2fs_node(const struct f2fs_walk *f, uint64_t nid);
bool as_f2fs_block_ok(const struct f2fs_walk *f, uint64_t block);
void as_f2fs_inode(struct f2fs_walk *f, uint64_t ino, uint64_t parent, const char *path,
		   unsigned depth);

#endif
