/* SPDX-License-Identifier: GPL-2.0-or-later */
/* walk_blocks_priv: see walk_blocks.c. */
#ifndef AS_LAYOUT_WALK_WALK_BLOCKS_PRIV_H
#define AS_LAYOUT_WALK_WALK_BLOCKS_PRIV_H

#include "layout/walk/walk_priv.h"

struct as_walk_blocks {
	struct as_disk_walk *walk;
	const struct as_walk_at *owner; /* the inode, with its path */
	uint64_t first_block, blocks, block_bytes;
	unsigned pointer_bytes;
	/* Called for each block of the file; `at` is its number there. */
	void (*data)(const struct as_walk_blocks *b, uint64_t block, uint64_t at);
	void *ctx;
};

/* The pointers begin at byte `table` of the disk: `direct` of them, then one for each level. Emits
 * the structure "pointer". */
void as_walk_blocks(const struct as_walk_blocks *b, uint64_t table, unsigned direct,
		    unsigned levels);

#endif
