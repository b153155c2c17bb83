/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsck_pass4.c: pass 4, link counts, and pass 5, bitmaps and free counts.
 *
 * Contract of pass 4. Given the names that passes 2 and 3 counted, the link count of a directory is
 * 2 plus the number of directories in it; that of any other inode is the number of its names. An
 * inode that could not be connected keeps its count, so that the next run finds it again.
 *
 * Contract of pass 5. Given the claims of pass 1 (and what later passes took and gave back), the
 * bitmaps say exactly what is in use, bits past the end are set, and the superblock's counts agree.
 * The backup superblock has the same geometry.
 */
#include "fsck_state.h"

#include <string.h>
#include <sys/stat.h>

#define DIR_TYPE (S_IFDIR >> 12)
#define BITS (LAB_BLOCK * 8u)

static int check_count(struct lab_ck *ck, uint32_t ino)
{
	const struct lab_ck_ino *what = &ck->ino[ino];
	bool dir = what->type == DIR_TYPE;
	uint32_t want = what->links + (dir ? 2 : 0);
	struct lab_inode node;
	int rc;

	if (what->flags & LAB_CK_LEFT || !want || (dir && !what->parent))
		return 0;
	rc = lab_ck_get_inode(ck, ino, &node);
	if (rc || node.nlink == want)
		return rc;
	if (ck->readonly && LAB_BUG_ON(ck, CK_LOOK_BLIND))
		return 0;
	LAB_CK_PROBLEM(ck, LINK_COUNT, .ino = ino, .num = node.nlink, .num2 = want);
	if (LAB_BUG_ON(ck, CK_COUNT_OFF))
		want += node.nlink == want + 1 ? 2 : 1;
	node.nlink = want;
	return lab_ck_put_inode(ck, ino, &node);
}

int lab_ck_pass4(struct lab_ck *ck)
{
	int rc = 0;

	for (uint32_t ino = 1; ino <= ck->sb.inode_count; ino++)
		if (ck->ino[ino].type == DIR_TYPE && ino != LAB_ROOT_INO && ck->ino[ino].parent)
			ck->ino[ck->ino[ino].parent].links++;
	for (uint32_t ino = 1; !rc && ino <= ck->sb.inode_count; ino++)
		if (ck->ino[ino].type)
			rc = check_count(ck, ino);
	return rc;
}

/* ---- Pass 5 ---- */

struct bitmap {
	uint32_t start, blocks;
	uint32_t count; /* bits that have a meaning */
	bool (*in_use)(const struct lab_ck *ck, uint32_t bit);
	bool (*was_orphan)(const struct lab_ck *ck, uint32_t bit);
	bool of_blocks;
	uint32_t free;
};

static bool block_in_use(const struct lab_ck *ck, uint32_t block)
{
	return block < ck->sb.data_start || block == ck->sb.block_count - 1 || ck->claims[block];
}

static bool inode_in_use(const struct lab_ck *ck, uint32_t bit)
{
	return ck->ino[bit + 1].type;
}

static bool block_was_orphan(const struct lab_ck *ck, uint32_t block)
{
	return ck->freed[block];
}

static bool inode_was_orphan(const struct lab_ck *ck, uint32_t bit)
{
	return ck->ino[bit + 1].flags & LAB_CK_FREED;
}

static int check_bitmap_block(struct lab_ck *ck, struct bitmap *map, uint32_t index)
{
	uint8_t now[LAB_BLOCK], want[LAB_BLOCK];
	uint32_t wrong = 0, first = 0;
	int rc = lab_ck_read(ck, map->start + index, now);

	if (rc)
		return rc;
	memset(want, 0, sizeof(want));
	for (uint32_t i = 0; i < BITS; i++) {
		uint32_t bit = index * BITS + i;
		bool used;

		/* After the end all bits are set, which is mostly checked for whole bytes at a
		 * time. */
		if (bit >= map->count && i % 8 == 0 && now[i / 8] == 0xff) {
			want[i / 8] = 0xff;
			i += 7;
			continue;
		}
		used = bit >= map->count || map->in_use(ck, bit);
		want[i / 8] |= (uint8_t)(used << i % 8);
		map->free += !used;
		if ((now[i / 8] >> i % 8 & 1) == used || (!used && map->was_orphan(ck, bit)))
			continue;
		if (!wrong++)
			first = bit;
	}
	if (wrong && map->of_blocks)
		LAB_CK_PROBLEM(ck, BLOCK_BITMAP, .num = wrong, .block = first);
	else if (wrong)
		LAB_CK_PROBLEM(ck, INODE_BITMAP, .num = wrong, .ino = first + 1);
	return lab_ck_write(ck, map->start + index, want);
}

static int check_bitmap(struct lab_ck *ck, struct bitmap *map)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < map->blocks; i++)
		rc = check_bitmap_block(ck, map, i);
	return rc;
}

int lab_ck_pass5(struct lab_ck *ck)
{
	struct lab_super *sb = &ck->sb;
	struct bitmap blocks = { .start = sb->block_bitmap_start,
				 .blocks = sb->block_bitmap_blocks,
				 .count = sb->block_count,
				 .in_use = block_in_use,
				 .was_orphan = block_was_orphan,
				 .of_blocks = true };
	struct bitmap inodes = { .start = sb->inode_bitmap_start,
				 .blocks = sb->inode_bitmap_blocks,
				 .count = sb->inode_count,
				 .in_use = inode_in_use,
				 .was_orphan = inode_was_orphan };
	/* The counts are exact only while the file system is not mounted. */
	bool exact = sb->state & LAB_CLEAN;
	int rc = check_bitmap(ck, &blocks);

	if (!rc)
		rc = check_bitmap(ck, &inodes);
	if (rc)
		return rc;
	if (exact && sb->free_blocks != blocks.free)
		LAB_CK_PROBLEM(ck, FREE_BLOCKS, .num = sb->free_blocks, .num2 = blocks.free);
	if (exact && sb->free_inodes != inodes.free)
		LAB_CK_PROBLEM(ck, FREE_INODES, .num = sb->free_inodes, .num2 = inodes.free);
	sb->free_blocks = blocks.free;
	sb->free_inodes = inodes.free;
	return lab_ck_check_backup(ck);
}
