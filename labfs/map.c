/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * map.c: from a file's block numbers to the disk's: ten direct pointers, an indirect and a double
 * indirect block, 0 for a hole.
 *
 * Invariant: a pointer block in use has at least one pointer that is not 0; `blocks` of the inode
 * counts data, pointer and attribute blocks.
 */
#include "fs.h"
#include "way.h"

#include <errno.h>
#include <string.h>

static int check_ptr(struct as_fs *fs, uint32_t block)
{
	if (block && (block < fs->geo.data_start || block >= fs->geo.block_count - 1))
		return lab_corrupt(fs, "pointer to block", block);
	return 0;
}

int lab_bmap(struct as_fs *fs, struct lab_node *node, uint64_t lblk, uint32_t *block)
{
	struct lab_way way;
	int rc;

	*block = 0;
	if (!lab_find_way(lblk, &way))
		return -EFBIG;
	*block = node->raw->ptr[way.root];
	for (unsigned i = 0; i < way.depth && *block; i++) {
		struct lab_buf *b;

		rc = check_ptr(fs, *block);
		if (!rc)
			rc = lab_bread(fs, *block, LAB_K_RAW, &b);
		if (rc)
			return rc;
		*block = ((const uint32_t *)b->data)[way.index[i]];
	}
	return check_ptr(fs, *block);
}

/* Allocates a block for the pointer *slot in `holder`. */
static int fill_slot(struct as_fs *fs, struct lab_node *node, struct lab_buf *holder,
		     uint32_t *slot, enum lab_state state, struct lab_buf **buf)
{
	uint32_t block = 0;
	int rc = 0;

	if (state == LAB_S_DATA && LAB_BUG_ON(fs, REPLAY_WINDOW)) {
		block = fs->replayed.block;
		fs->replayed.block = 0;
	}
	if (!block)
		rc = lab_balloc(fs, &block);
	if (!rc)
		rc = lab_dirty(fs, holder, LAB_S_META);
	if (!rc)
		rc = lab_dirty(fs, node->buf, LAB_S_META);
	if (rc)
		return rc;
	if (state == LAB_S_DATA && LAB_BUG_ON(fs, STALE_DATA)) {
		rc = lab_bread(fs, block, LAB_K_RAW, buf);
		if (!rc)
			rc = lab_dirty(fs, *buf, state);
	} else {
		rc = lab_bfresh(fs, block, LAB_K_RAW, state, buf);
	}
	if (rc)
		return rc;
	*slot = block;
	node->raw->blocks++;
	return 0;
}

/* Gives the buffer of an existing block that is about to be changed. Its old contents are read also
 * where all of it is overwritten: a commit that fails has written the new ones home, and then they
 * are all that is left to undo the operation with. */
static int take_mapped(struct as_fs *fs, uint32_t block, enum lab_state state, bool whole,
		       struct lab_buf **buf)
{
	int rc = lab_bread(fs, block, LAB_K_RAW, buf);

	if (!rc)
		rc = lab_dirty(fs, *buf, state);
	if (!rc && whole)
		memset((*buf)->data, 0, LAB_BLOCK);
	return rc;
}

int lab_bmap_get(struct as_fs *fs, struct lab_node *node, uint64_t lblk, enum lab_state state,
		 bool whole, struct lab_buf **buf)
{
	struct lab_buf *holder = node->buf, *next;
	struct lab_way way;
	uint32_t *slot;
	int rc;

	if (!lab_find_way(lblk, &way))
		return -EFBIG;
	slot = &node->raw->ptr[way.root];
	for (unsigned left = way.depth;; left--) {
		rc = check_ptr(fs, *slot);
		if (rc)
			return rc;
		/* All or nothing: a failure must not leave an empty pointer block. */
		if (!*slot && lab_blocks_at_hand(fs) < left + 1)
			return -ENOSPC;
		if (!left)
			break;
		rc = *slot ? lab_bread(fs, *slot, LAB_K_RAW, &next)
			   : fill_slot(fs, node, holder, slot, LAB_S_META, &next);
		if (rc)
			return rc;
		holder = next;
		slot = (uint32_t *)next->data + way.index[way.depth - left];
	}
	return *slot ? take_mapped(fs, *slot, state, whole, buf)
		     : fill_slot(fs, node, holder, slot, state, buf);
}

/* ---- Freeing ---- */

struct reap {
	struct as_fs *fs;
	struct lab_node *node;
	uint64_t from, to;
	bool meta; /* the blocks themselves are journaled: a directory, a link's text */
	bool whole; /* in this transaction, or not at all */
};

/* How many blocks are below a pointer that is `level` levels above data. */
static uint64_t span(unsigned level)
{
	return level == 0 ? 1 : level == 1 ? LAB_PTRS : (uint64_t)LAB_PTRS * LAB_PTRS;
}

static bool all_zero(const struct lab_buf *b)
{
	const uint32_t *ptr = (const uint32_t *)b->data;

	for (unsigned i = 0; i < LAB_PTRS; i++) {
		if (ptr[i])
			return false;
	}
	return true;
}

/* 0: there is room for the bitmap of one more block, its holder, the inode and the orphan list. */
static int has_room(const struct reap *r)
{
	if (r->whole)
		return lab_tx_full(r->fs, 6) ? -ENOSPC : 0;
	return lab_tx_tight(r->fs, 6);
}

/* Makes dirty what changes when a block below `holder` is freed. `gone`: the holder will be freed,
 * too, so that what it says does not matter. */
static int dirty_holder(struct reap *r, struct lab_buf *holder, bool gone)
{
	int rc = gone ? 0 : lab_dirty(r->fs, holder, LAB_S_META);

	return rc ? rc : lab_dirty(r->fs, r->node->buf, LAB_S_META);
}

/* Frees the blocks of the range below *slot, from the end; `base` is the first block below it. */
static int reap_slot(struct reap *r, struct lab_buf *holder, uint32_t *slot, unsigned level,
		     uint64_t base, bool gone)
{
	bool all = r->whole && base >= r->from && base + span(level) <= r->to;
	struct as_fs *fs = r->fs;
	struct lab_buf *b = NULL;
	int rc;

	if (!*slot || base >= r->to || base + span(level) <= r->from)
		return 0;
	rc = has_room(r);
	if (rc)
		return rc;
	rc = check_ptr(fs, *slot);
	if (!rc && level)
		rc = lab_bread(fs, *slot, LAB_K_RAW, &b);
	if (rc && rc != -EUCLEAN && LAB_BUG_ON(fs, REAP_EIO))
		return 0;
	if (rc)
		return rc;
	for (unsigned i = LAB_PTRS; level && i-- > 0;) {
		rc = reap_slot(r, b, (uint32_t *)b->data + i, level - 1, base + i * span(level - 1),
			       all);
		if (rc)
			return rc;
	}
	if (level && !all && !all_zero(b))
		return 0;
	rc = dirty_holder(r, holder, gone);
	if (!rc)
		rc = lab_bfree(fs, *slot, (level && !LAB_BUG_ON(fs, PTRS_UNREVOKED)) || r->meta);
	if (rc)
		return rc;
	if (!gone)
		*slot = 0;
	r->node->raw->blocks--;
	return 0;
}

static int reap_all(struct reap *r)
{
	struct lab_node *node = r->node;
	struct lab_inode *raw = node->raw;
	int rc;

	r->meta = (raw->mode & 0170000) != 0100000;
	rc = reap_slot(r, node->buf, &raw->ptr[LAB_DIRECT + 1], 2, LAB_DIRECT + LAB_PTRS, false);
	if (!rc)
		rc = reap_slot(r, node->buf, &raw->ptr[LAB_DIRECT], 1, LAB_DIRECT, false);
	for (unsigned i = LAB_DIRECT; i-- > 0 && !rc;)
		rc = reap_slot(r, node->buf, &raw->ptr[i], 0, i, false);
	return rc;
}

int lab_free_range(struct as_fs *fs, struct lab_node *node, uint64_t from, uint64_t to)
{
	struct reap r = { .fs = fs, .node = node, .from = from, .to = to };

	return reap_all(&r);
}

int lab_free_whole(struct as_fs *fs, struct lab_node *node, uint64_t from, uint64_t to)
{
	struct reap r = { .fs = fs, .node = node, .from = from, .to = to, .whole = true };

	return reap_all(&r);
}

/* Whether a pointer block must be made, too, because `lblk` is the first block below it. */
static int missing_ptrs(struct as_fs *fs, struct lab_node *node, uint64_t lblk, bool first,
			uint64_t *need)
{
	const uint64_t dind = LAB_DIRECT + LAB_PTRS;
	struct lab_buf *b;
	int rc;

	if (lblk < LAB_DIRECT)
		return 0;
	if (lblk < dind) {
		*need += (first || lblk == LAB_DIRECT) && !node->raw->ptr[LAB_DIRECT];
		return 0;
	}
	if (!first && (lblk - dind) % LAB_PTRS)
		return 0;
	if (!node->raw->ptr[LAB_DIRECT + 1]) {
		*need += 1u + (first || lblk == dind);
		return 0;
	}
	rc = lab_bread(fs, node->raw->ptr[LAB_DIRECT + 1], LAB_K_RAW, &b);
	if (!rc)
		*need += !((const uint32_t *)b->data)[(lblk - dind) / LAB_PTRS];
	return rc;
}

int lab_count_holes(struct as_fs *fs, struct lab_node *node, uint64_t from, uint64_t to,
		    uint64_t *need)
{
	*need = 0;
	for (uint64_t lblk = from; lblk < to; lblk++) {
		uint32_t block;
		int rc = lab_bmap(fs, node, lblk, &block);

		if (!rc && !block)
			*need += 1;
		if (!rc)
			rc = missing_ptrs(fs, node, lblk, lblk == from, need);
		if (rc)
			return rc;
	}
	return 0;
}
