/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsck_map.c: who claims which block, and the trees of pointers from an inode to its blocks.
 *
 * A pointer of depth 0 leads to data, of depth 1 to an indirect block, of depth 2 to a double
 * indirect one. Pointers outside the data area are not followed. An indirect block that is garbage
 * is claimed, but its pointers are not followed: so it is not changed until its owner gives it up,
 * and every walk of the same tree visits the same blocks.
 */
#include "fsck_state.h"
#include "way.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* A block with this many impossible pointers is no indirect block. */
#define GARBAGE_PTRS 8

static void claim(struct lab_ck *ck, uint32_t block)
{
	if (ck->claims[block] < LAB_CK_MANY)
		ck->claims[block]++;
}

void lab_ck_unclaim(struct lab_ck *ck, uint32_t block)
{
	if (ck->claims[block] == LAB_CK_MANY || !ck->claims[block])
		return;
	if (!--ck->claims[block])
		ck->full = false;
}

int lab_ck_alloc_block(struct lab_ck *ck, uint32_t *block)
{
	uint32_t data = ck->sb.block_count - 1 - ck->sb.data_start;

	for (uint32_t i = 0; i < data && !ck->full; i++) {
		uint32_t at = ck->sb.data_start + (ck->next_block + i) % data;

		if (ck->claims[at])
			continue;
		ck->claims[at] = 1;
		ck->next_block = at + 1 - ck->sb.data_start;
		*block = at;
		return 0;
	}
	ck->full = true;
	return -ENOSPC;
}

bool lab_ck_ind_garbage(const struct lab_ck *ck, const uint32_t *ptr)
{
	unsigned bad = 0;

	for (unsigned i = 0; i < LAB_PTRS; i++)
		bad += ptr[i] && !lab_ck_in_data(ck, ptr[i]);
	return bad >= GARBAGE_PTRS;
}

int lab_ck_walk(struct lab_ck *ck, uint32_t block, int depth, enum lab_ck_step step,
		uint32_t *budget)
{
	uint32_t ptr[LAB_PTRS];
	bool blind = depth == 2 && block && LAB_BUG_ON(ck, CK_DOUBLE_RANGE);
	int rc;

	if ((!blind && !lab_ck_in_data(ck, block)) || !*budget)
		return 0;
	--*budget;
	if (step == LAB_CK_CLAIM || blind)
		claim(ck, block);
	else if (step != LAB_CK_COUNT)
		lab_ck_unclaim(ck, block);
	if (step == LAB_CK_FINISH)
		ck->freed[block] = 1;
	if (!depth)
		return 0;
	rc = lab_ck_read(ck, block, ptr);
	if (rc || lab_ck_ind_garbage(ck, ptr))
		return rc;
	for (unsigned i = 0; !rc && i < LAB_PTRS; i++)
		rc = lab_ck_walk(ck, ptr[i], depth - 1, step, budget);
	return rc;
}

/* Whether the inode has pointers at all. Devices have none, nor has a symbolic link with its text
 * in the inode. */
bool lab_ck_has_tree(const struct lab_inode *node, unsigned type)
{
	if (type == S_IFLNK >> 12)
		return node->size > LAB_INLINE_SYMLINK;
	return type == S_IFREG >> 12 || type == S_IFDIR >> 12;
}

int lab_ck_walk_inode(struct lab_ck *ck, const struct lab_inode *node, enum lab_ck_step step,
		      uint32_t *budget)
{
	unsigned type = (node->mode & S_IFMT) >> 12;
	unsigned direct = type == S_IFLNK >> 12 ? 1 : LAB_DIRECT;
	int rc = lab_ck_walk(ck, node->xattr_block, 0, step, budget);

	if (!lab_ck_has_tree(node, type))
		return rc;
	for (unsigned i = 0; !rc && i < direct; i++)
		rc = lab_ck_walk(ck, node->ptr[i], 0, step, budget);
	for (unsigned depth = 1; !rc && depth <= 2 && direct > 1; depth++)
		rc = lab_ck_walk(ck, node->ptr[LAB_DIRECT + depth - 1], (int)depth, step, budget);
	return rc;
}

int lab_ck_map(struct lab_ck *ck, const struct lab_inode *node, uint32_t index, uint32_t *block)
{
	uint32_t ptr[LAB_PTRS];
	struct lab_way way;

	*block = 0;
	if (!lab_find_way(index, &way))
		return -EFBIG;
	*block = node->ptr[way.root];
	for (unsigned i = 0; i < way.depth && lab_ck_in_data(ck, *block); i++) {
		int rc = lab_ck_read(ck, *block, ptr);

		if (rc)
			return rc;
		*block = ptr[way.index[i]];
	}
	if (!lab_ck_in_data(ck, *block))
		*block = 0;
	return 0;
}

static int set_below(struct lab_ck *ck, struct lab_inode *node, const struct lab_way *way,
		     unsigned level, uint32_t block, uint32_t *ptr)
{
	uint32_t below[LAB_PTRS] = { 0 };
	int rc;

	if (level == way->depth) {
		*ptr = block;
		return 0;
	}
	if (*ptr) {
		rc = lab_ck_read(ck, *ptr, below);
	} else {
		rc = lab_ck_alloc_block(ck, ptr);
		node->blocks += !rc;
	}
	if (!rc)
		rc = set_below(ck, node, way, level + 1, block, &below[way->index[level]]);
	return rc ? rc : lab_ck_write(ck, *ptr, below);
}

int lab_ck_map_set(struct lab_ck *ck, struct lab_inode *node, uint32_t index, uint32_t block)
{
	struct lab_way way;

	return lab_find_way(index, &way) ? set_below(ck, node, &way, 0, block, &node->ptr[way.root])
					 : -ENOSPC;
}

int lab_ck_release(struct lab_ck *ck, uint32_t ino)
{
	struct lab_inode node, none = { .mode = 0 };
	bool orphan = ck->ino[ino].flags & LAB_CK_ORPHAN;
	uint32_t budget = UINT32_MAX;
	int rc = lab_ck_get_inode(ck, ino, &node);

	if (!rc)
		rc = lab_ck_walk_inode(ck, &node, orphan ? LAB_CK_FINISH : LAB_CK_GIVE_UP, &budget);
	if (rc)
		return rc;
	none.generation = node.generation;
	ck->ino[ino] = (struct lab_ck_ino){ .flags = orphan ? LAB_CK_FREED : 0 };
	return lab_ck_put_inode(ck, ino, &none);
}
