/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * way.h: how a block of a file is found: through which pointer of the inode, and then through which
 * pointers of up to two pointer blocks. The file system and its checker both use it.
 */
#ifndef LABFS_WAY_H
#define LABFS_WAY_H

#include "format.h"

#include <stdbool.h>
#include <stdint.h>

struct lab_way {
	unsigned root; /* the inode's pointer */
	unsigned depth; /* how many pointer blocks are between it and the block */
	uint32_t index[2]; /* the pointer in each of them */
};

/* False: no file has so many blocks. */
static inline bool lab_find_way(uint64_t lblk, struct lab_way *way)
{
	if (lblk < LAB_DIRECT) {
		*way = (struct lab_way){ .root = (unsigned)lblk };
		return true;
	}
	lblk -= LAB_DIRECT;
	if (lblk < LAB_PTRS) {
		*way = (struct lab_way){ LAB_DIRECT, 1, { (uint32_t)lblk, 0 } };
		return true;
	}
	lblk -= LAB_PTRS;
	*way = (struct lab_way){ LAB_DIRECT + 1,
				 2,
				 { (uint32_t)(lblk / LAB_PTRS), (uint32_t)(lblk % LAB_PTRS) } };
	return lblk < (uint64_t)LAB_PTRS * LAB_PTRS;
}

#endif
