/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * space.c: fallocate. There are no unwritten extents: allocated blocks are zeroed in the cache and
 * written home like any data. The space is counted first, so that a call that does not fit changes
 * nothing. Each call is one transaction, so that one that fails changes nothing either: what it
 * takes in the journal grows with the pointer blocks that it makes, and the disk, and with it the
 * journal, has room for few of them.
 */
#include "fs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <string.h>
#include <sys/stat.h>

struct range {
	struct lab_node *node;
	uint64_t pos, end;
	unsigned mode;
	uint64_t new_size; /* 0 = unchanged */
};

static bool is_punch(unsigned mode)
{
	return mode & FALLOC_FL_PUNCH_HOLE;
}

/* Zeroes the bytes of one block that is not a hole. */
static int zero_bytes(struct as_fs *fs, struct lab_node *node, uint64_t from, uint64_t to)
{
	struct lab_buf *b;
	uint32_t block;
	int rc = lab_bmap(fs, node, from / LAB_BLOCK, &block);

	if (rc || !block || from == to)
		return rc;
	rc = lab_bread(fs, block, LAB_K_RAW, &b);
	if (!rc)
		rc = lab_dirty(fs, b, LAB_S_DATA);
	if (!rc)
		memset(b->data + from % LAB_BLOCK, 0, to - from);
	return rc;
}

/* When the size grows, the bytes after the old end in its block become visible. */
static int grow(struct as_fs *fs, struct range *r)
{
	int rc;

	if (!r->new_size || r->new_size <= r->node->raw->size)
		return 0;
	rc = lab_zero_tail(fs, r->node);
	if (!rc)
		r->node->raw->size = r->new_size;
	return rc;
}

static int stamp(struct as_fs *fs, struct range *r, uint8_t why)
{
	int rc = lab_idirty(fs, r->node, why);

	if (!rc)
		r->node->raw->mtime_ns = r->node->raw->ctime_ns = (int64_t)lab_now(fs);
	return rc;
}

/* LAB_BUG_PUNCH_KEEPS: whole blocks are zeroed as parts of blocks are. */
static int blank(struct as_fs *fs, struct lab_node *node, uint64_t first, uint64_t last)
{
	int rc = 0;

	for (; first < last && !rc; first++)
		rc = zero_bytes(fs, node, first * LAB_BLOCK, (first + 1) * LAB_BLOCK);
	return rc;
}

static int punch(struct as_fs *fs, struct range *r)
{
	uint64_t from = r->pos, to = r->end;
	uint64_t first = (from + LAB_BLOCK - 1) / LAB_BLOCK, last = to / LAB_BLOCK;
	int rc = stamp(fs, r, LAB_WHY_PUNCH);

	if (rc)
		return rc;
	if (LAB_BUG_ON(fs, PUNCH_EDGES)) {
		from -= from % LAB_BLOCK;
		to += (LAB_BLOCK - to % LAB_BLOCK) % LAB_BLOCK;
	}
	if (first > last)
		return zero_bytes(fs, r->node, from, to);
	if (from < first * LAB_BLOCK)
		rc = zero_bytes(fs, r->node, from, first * LAB_BLOCK);
	if (!rc && to > last * LAB_BLOCK)
		rc = zero_bytes(fs, r->node, last * LAB_BLOCK, to);
	if (rc || LAB_BUG_ON(fs, PUNCH_KEEPS))
		return rc ? rc : blank(fs, r->node, first, last);
	return LAB_BUG_ON(fs, PUNCH_STEPS) ? lab_free_range(fs, r->node, first, last)
					   : lab_free_whole(fs, r->node, first, last);
}

static int fill_block(struct as_fs *fs, struct range *r, uint64_t pos, uint64_t stop)
{
	struct lab_buf *b;
	uint32_t block;
	int rc = lab_bmap(fs, r->node, pos / LAB_BLOCK, &block);

	/* It may need two pointer blocks, and bitmaps. */
	if (!rc && !block)
		rc = lab_tx_full(fs, 8)
			     ? -ENOSPC
			     : lab_bmap_get(fs, r->node, pos / LAB_BLOCK, LAB_S_DATA, true, &b);
	else if (!rc && r->mode & FALLOC_FL_ZERO_RANGE)
		rc = zero_bytes(fs, r->node, pos, stop);
	return rc;
}

static int fill(struct as_fs *fs, struct range *r)
{
	int rc = stamp(fs, r, r->new_size ? LAB_WHY_FALLOC : LAB_WHY_KEEP);

	for (uint64_t pos = r->pos; pos < r->end && !rc;) {
		uint64_t stop = (pos / LAB_BLOCK + 1) * LAB_BLOCK;

		if (stop > r->end)
			stop = r->end;
		rc = fill_block(fs, r, pos, stop);
		pos = stop;
	}
	return rc ? rc : grow(fs, r);
}

static int check_space(struct as_fs *fs, struct range *r)
{
	uint64_t need;
	int rc = lab_count_holes(fs, r->node, r->pos / LAB_BLOCK,
				 (r->end + LAB_BLOCK - 1) / LAB_BLOCK, &need);

	if (!rc && need > lab_blocks_at_hand(fs) && (need > fs->free_blocks || !lab_reclaim(fs)))
		rc = -ENOSPC;
	return rc;
}

static int check_mode(unsigned mode)
{
	unsigned what = mode & ~(unsigned)FALLOC_FL_KEEP_SIZE;

	if (what == 0 || what == FALLOC_FL_ZERO_RANGE)
		return 0;
	return what == FALLOC_FL_PUNCH_HOLE && mode & FALLOC_FL_KEEP_SIZE ? 0 : -EOPNOTSUPP;
}

static int check(const struct as_handle *handle, const struct range *r)
{
	uint32_t mode = handle->node->raw->mode;
	int rc;

	if (r->end <= r->pos || r->end > INT64_MAX)
		return -EINVAL;
	rc = check_mode(r->mode);
	if (rc)
		return rc;
	if ((handle->flags & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	if (S_ISDIR(mode))
		return -EISDIR;
	if (!S_ISREG(mode))
		return -ENODEV;
	return r->end > LAB_MAX_SIZE ? -EFBIG : 0;
}

int lab_fallocate(struct as_fs *fs, struct as_handle *handle, unsigned mode, uint64_t off,
		  uint64_t len)
{
	struct lab_node *node = handle->node;
	struct range r = { .node = node, .pos = off, .end = off + len, .mode = mode };
	/* For most, a transaction that has begun has room. */
	uint32_t credits =
		16 + fs->geo.block_bitmap_blocks + (uint32_t)(len / LAB_BLOCK / LAB_PTRS);
	int rc = check(handle, &r);

	if (!rc && node->cut)
		rc = lab_orphan_finish(fs, node);
	if (!rc && !is_punch(mode))
		rc = check_space(fs, &r);
	if (rc)
		return rc;
	if (!(mode & FALLOC_FL_KEEP_SIZE))
		r.new_size = r.end;
	/* More than once only with bug PUNCH_STEPS. */
	do {
		fs->op_sync = handle->flags & (O_SYNC | O_DSYNC);
		rc = LAB_RUN(fs, credits, is_punch(mode) ? punch(fs, &r) : fill(fs, &r));
		fs->op_sync = false;
	} while (rc > 0);
	if (!rc && !is_punch(mode) && node->raw->size > handle->size_seen)
		handle->size_seen = node->raw->size;
	return rc;
}
