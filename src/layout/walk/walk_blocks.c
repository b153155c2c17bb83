/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk_blocks: the blocks of an inode that has direct pointers and then pointers to blocks of
 * pointers, as labfs and minix do. (ext has a walk of its own, for extents come with it.)
 */
#include "layout/walk/walk_blocks_priv.h"

#define SPACE_BLOCK 7u

static bool is_block(const struct as_walk_blocks *b, uint64_t block)
{
	return block >= b->first_block && block < b->blocks &&
	       (block + 1) * b->block_bytes <= as_walk_disk_bytes(b->walk);
}

static void below(const struct as_walk_blocks *b, uint64_t block, unsigned level, uint64_t *at)
{
	uint64_t per_block = b->block_bytes / b->pointer_bytes, covers = 1;
	bool has_unset = false;

	for (unsigned i = 0; i < level; i++)
		covers *= per_block;
	if (!level && is_block(b, block))
		b->data(b, block, *at);
	if (!level || !is_block(b, block) || !as_walk_first(b->walk, SPACE_BLOCK, block)) {
		*at += covers;
		return;
	}
	as_walk_area(b->walk, block * b->block_bytes, b->block_bytes,
		     as_walk_text(b->walk, "pointers of %s", b->owner->path), false, 0);
	for (uint64_t i = 0; i < per_block; i++) {
		struct as_walk_at place = *b->owner;
		uint64_t to;

		place.structure = "pointer";
		place.off = block * b->block_bytes + i * b->pointer_bytes;
		place.len = 0;
		to = as_walk_le(b->walk, place.off, b->pointer_bytes);
		place.instance = as_walk_text(b->walk, "pointer %llu of block %llu of %s",
					      (unsigned long long)i, (unsigned long long)block,
					      b->owner->path);
		place.class = level > 1 ? "to pointers" : to ? "to data" : "unset";
		place.seal = 0;
		place.parent = place.self;
		place.self = block;
		if (to || !has_unset)
			as_walk_emit(b->walk, &place);
		has_unset |= !to;
		below(b, to, level - 1, at);
	}
}

void as_walk_blocks(const struct as_walk_blocks *b, uint64_t table, unsigned direct,
		    unsigned levels)
{
	uint64_t at = 0;

	for (unsigned i = 0; i < direct; i++)
		below(b, as_walk_le(b->walk, table + i * b->pointer_bytes, b->pointer_bytes), 0,
		      &at);
	for (unsigned level = 1; level <= levels; level++)
		below(b,
		      as_walk_le(b->walk, table + (direct - 1 + level) * b->pointer_bytes,
				 b->pointer_bytes),
		      level, &at);
}
