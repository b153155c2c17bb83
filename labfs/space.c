/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * space.c: fallocate. There are no unwritten extents: allocated blocks are zeroed in the cache and
 * written home like any data. The space is counted first, so that a call that does not fit changes
 * nothing.
 */
#include "fs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <string.h>
#include <sys/stat.h>

struct range {
	struct lab_node *node;
	uint64_t pos, end; /* bytes left to do */
	unsigned mode;
	bool sync; /* O_SYNC or O_DSYNC */
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

static int punch_piece(struct as_fs *fs, struct range *r)
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
	return lab_free_range(fs, r->node, first, last);
}

/* Allocates block by block; when the transaction is full, the rest is left for the next. */
static int fill_piece(struct as_fs *fs, struct range *r, uint64_t *next)
{
	bool zero = r->mode & FALLOC_FL_ZERO_RANGE;
	int rc = stamp(fs, r, r->new_size ? LAB_WHY_FALLOC : LAB_WHY_KEEP);

	*next = r->pos;
	while (*next < r->end && !rc) {
		uint64_t stop = (*next / LAB_BLOCK + 1) * LAB_BLOCK;
		struct lab_buf *b;
		uint32_t block;

		if (*next > r->pos && lab_tx_tight(fs, 8))
			return 0;
		if (stop > r->end)
			stop = r->end;
		rc = lab_bmap(fs, r->node, *next / LAB_BLOCK, &block);
		if (!rc && !block)
			rc = lab_bmap_get(fs, r->node, *next / LAB_BLOCK, LAB_S_DATA, true, &b);
		else if (!rc && zero)
			rc = zero_bytes(fs, r->node, *next, stop);
		if (!rc)
			*next = stop;
	}
	return rc ? rc : grow(fs, r);
}

static int fill(struct as_fs *fs, struct range *r, uint32_t credits)
{
	uint64_t need, next = r->pos;
	int rc = lab_count_holes(fs, r->node, r->pos / LAB_BLOCK,
				 (r->end + LAB_BLOCK - 1) / LAB_BLOCK, &need);

	if (!rc && need > lab_blocks_at_hand(fs) && (need > fs->free_blocks || !lab_reclaim(fs)))
		rc = -ENOSPC;
	while (r->pos < r->end && !rc) {
		fs->op_sync = r->sync;
		rc = LAB_RUN(fs, credits, fill_piece(fs, r, &next));
		fs->op_sync = false;
		r->pos = next;
	}
	return rc;
}

static int check_mode(unsigned mode)
{
	unsigned what = mode & ~(unsigned)FALLOC_FL_KEEP_SIZE;

	if (what == 0 || what == FALLOC_FL_ZERO_RANGE)
		return 0;
	return what == FALLOC_FL_PUNCH_HOLE && mode & FALLOC_FL_KEEP_SIZE ? 0 : -EOPNOTSUPP;
}

int lab_fallocate(struct as_fs *fs, struct as_handle *handle, unsigned mode, uint64_t off,
		  uint64_t len)
{
	struct lab_node *node = handle->node;
	struct range r = { .node = node, .pos = off, .end = off + len, .mode = mode };
	uint32_t credits = lab_ns_credits(fs) + (uint32_t)(len / LAB_BLOCK / LAB_PTRS);
	int rc;

	r.sync = handle->flags & (O_SYNC | O_DSYNC);
	if (!len || r.end < off || r.end > INT64_MAX)
		return -EINVAL;
	rc = check_mode(mode);
	if (rc)
		return rc;
	if ((handle->flags & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	if (S_ISDIR(node->raw->mode))
		return -EISDIR;
	if (!S_ISREG(node->raw->mode))
		return -ENODEV;
	if (r.end > LAB_MAX_SIZE)
		return -EFBIG;
	if (node->cut)
		rc = lab_orphan_finish(fs, node);
	if (!rc && is_punch(mode)) {
		do {
			fs->op_sync = r.sync;
			rc = LAB_RUN(fs, credits, punch_piece(fs, &r));
			fs->op_sync = false;
		} while (rc > 0);
	} else if (!rc) {
		if (!(mode & FALLOC_FL_KEEP_SIZE))
			r.new_size = r.end;
		rc = fill(fs, &r, credits);
		if (!rc && node->raw->size > handle->size_seen)
			handle->size_seen = node->raw->size;
	}
	return rc;
}
