/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * alloc.c: the two bitmaps. An allocation takes the lowest free number: so what an operation
 * allocates depends only on the tree, not on what ran before. For a block it may be told to take
 * the next free one after the last that was allocated (as_ask()).
 *
 * Invariant: free_blocks and free_inodes are the numbers of clear bits; of the free blocks, nheld
 * wait for the commit of the transaction that freed them (journal.c, invariant 3).
 */
#include "fs.h"
#include "grow.h"

#include <errno.h>
#include <string.h>

#define BITS (LAB_BLOCK * 8u)

uint32_t lab_blocks_at_hand(const struct as_fs *fs)
{
	return fs->free_blocks - fs->nheld;
}

/* First clear bit at or after `from` in one bitmap block; BITS when there is none. */
static uint32_t first_clear(const uint8_t *map, const uint64_t *also, uint32_t from)
{
	for (uint32_t word = from / 64; word < BITS / 64; word++) {
		uint64_t bits;

		memcpy(&bits, map + word * 8u, 8);
		if (also)
			bits |= also[word];
		if (word == from / 64)
			bits |= ((uint64_t)1 << from % 64) - 1;
		if (~bits)
			return word * 64 + (uint32_t)__builtin_ctzll(~bits);
	}
	return BITS;
}

static bool test_bit(const uint8_t *map, uint32_t bit)
{
	return map[bit / 8] >> bit % 8 & 1;
}

/* Sets the first clear bit from `at` on, and gives its number. 1: there is none. */
static int set_from(struct as_fs *fs, uint32_t start, uint32_t blocks, const uint64_t *held,
		    uint32_t at, uint32_t *found)
{
	uint32_t from = at % BITS;

	for (uint32_t i = at / BITS; i < blocks; i++, from = 0) {
		struct lab_buf *map;
		uint32_t bit;
		int rc = lab_bread(fs, start + i, LAB_K_RAW, &map);

		if (rc)
			return rc;
		bit = first_clear(map->data, held ? held + i * (BITS / 64) : NULL, from);
		if (bit == BITS)
			continue;
		rc = lab_dirty(fs, map, LAB_S_META);
		if (rc)
			return rc;
		map->data[bit / 8] |= (uint8_t)(1u << bit % 8);
		*found = i * BITS + bit;
		return 0;
	}
	return 1;
}

/* The lowest one. There must be one. */
static int set_first(struct as_fs *fs, uint32_t start, uint32_t blocks, const uint64_t *held,
		     uint32_t *hint, uint32_t *found)
{
	int rc = set_from(fs, start, blocks, held, *hint, found);

	if (!rc)
		*hint = *found + 1;
	return rc > 0 ? lab_corrupt(fs, "free counts do not match bitmap at", start) : rc;
}

static int clear(struct as_fs *fs, uint32_t start, uint32_t number)
{
	struct lab_buf *map;
	uint32_t bit = number % BITS;
	int rc = lab_bread(fs, start + number / BITS, LAB_K_RAW, &map);

	if (!rc && !test_bit(map->data, bit))
		rc = lab_corrupt(fs, "freed twice: bit", number);
	if (!rc)
		rc = lab_dirty(fs, map, LAB_S_META);
	if (!rc)
		map->data[bit / 8] &= (uint8_t) ~(1u << bit % 8);
	return rc;
}

/* 1: there is none after the last that was allocated. */
static int set_next(struct as_fs *fs, uint32_t *block)
{
	const uint64_t *held = fs->held_map;
	uint32_t at = fs->block_next;

	if (at && LAB_BUG_ON(fs, NEXT_HELD)) {
		held = NULL;
		at--;
	}
	return set_from(fs, fs->geo.block_bitmap_start, fs->geo.block_bitmap_blocks, held, at,
			block);
}

int lab_balloc(struct as_fs *fs, uint32_t *block)
{
	int rc = 1;

	if (!lab_blocks_at_hand(fs))
		return -ENOSPC;
	if (as_ask(fs->host, 2, "allocate a block: first fit or next fit"))
		rc = set_next(fs, block);
	if (rc > 0)
		rc = set_first(fs, fs->geo.block_bitmap_start, fs->geo.block_bitmap_blocks,
			       fs->held_map, &fs->block_hint, block);
	if (rc)
		return rc;
	fs->block_next = *block + 1;
	if (*block < fs->geo.data_start || *block >= fs->geo.block_count - 1)
		return lab_corrupt(fs, "bitmap offers block", *block);
	fs->free_blocks--;
	return 0;
}

int lab_bfree(struct as_fs *fs, uint32_t block, bool meta)
{
	int rc;

	if (block < fs->geo.data_start || block >= fs->geo.block_count - 1)
		return lab_corrupt(fs, "pointer to block", block);
	if (fs->nheld == fs->held_cap) {
		uint32_t *more =
			lab_grow(fs->host, fs->held, &fs->held_cap, 256, sizeof(*fs->held));

		if (!more)
			return LAB_BUG_ON(fs, FREE_NOMEM) ? 0 : -ENOMEM;
		fs->held = more;
	}
	rc = clear(fs, fs->geo.block_bitmap_start, block);
	if (rc)
		return rc;
	fs->held[fs->nheld++] = block | (meta ? LAB_HELD_META : 0);
	fs->held_map[block / 64] |= (uint64_t)1 << block % 64;
	fs->nrevoke += meta;
	fs->free_blocks++;
	return 0;
}

int lab_ialloc(struct as_fs *fs, uint32_t *ino)
{
	uint32_t bit;
	int rc;

	if (!fs->free_inodes)
		return -ENOSPC;
	rc = set_first(fs, fs->geo.inode_bitmap_start, fs->geo.inode_bitmap_blocks, NULL,
		       &fs->inode_hint, &bit);
	if (rc)
		return rc;
	if (bit >= fs->geo.inode_count)
		return lab_corrupt(fs, "bitmap offers inode", bit + 1);
	fs->free_inodes--;
	*ino = bit + 1;
	return 0;
}

int lab_ifree(struct as_fs *fs, uint32_t ino)
{
	int rc = clear(fs, fs->geo.inode_bitmap_start, ino - 1);

	if (rc)
		return rc;
	fs->free_inodes++;
	if (ino - 1 < fs->inode_hint)
		fs->inode_hint = ino - 1;
	return 0;
}

static int count_clear(struct as_fs *fs, uint32_t start, uint32_t blocks, uint32_t *clear_bits)
{
	*clear_bits = 0;
	for (uint32_t i = 0; i < blocks; i++) {
		struct lab_buf *map;
		int rc = lab_bread(fs, start + i, LAB_K_RAW, &map);

		if (rc)
			return rc;
		for (uint32_t word = 0; word < BITS / 64; word++) {
			uint64_t bits;

			memcpy(&bits, map->data + word * 8u, 8);
			*clear_bits += (uint32_t)__builtin_popcountll(~bits);
		}
	}
	return 0;
}

int lab_count_free(struct as_fs *fs)
{
	int rc = count_clear(fs, fs->geo.block_bitmap_start, fs->geo.block_bitmap_blocks,
			     &fs->free_blocks);

	return rc ? rc
		  : count_clear(fs, fs->geo.inode_bitmap_start, fs->geo.inode_bitmap_blocks,
				&fs->free_inodes);
}
