/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file.c: reading and writing file data.
 *
 * A write is one operation, however long it is, unless it fills the transaction; then it goes on in
 * the next. Blocks that it allocates are filled or zeroed in the cache, and are written home before
 * the commit.
 */
#include "fs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Reading ---- */

static int read_hole(struct as_fs *fs, uint8_t *to, size_t off, size_t n)
{
	if (LAB_BUG_ON(fs, HOLE_STALE) && fs->last_read)
		memcpy(to, fs->last_read + off, n);
	else
		memset(to, 0, n);
	return 0;
}

static void remember(struct as_fs *fs, const uint8_t *data)
{
	if (!fs->last_read)
		fs->last_read = as_malloc(fs->host, LAB_BLOCK);
	if (fs->last_read)
		memcpy(fs->last_read, data, LAB_BLOCK);
}

static int read_block(struct as_fs *fs, struct lab_node *node, uint64_t pos, uint8_t *to, size_t n)
{
	size_t off = pos % LAB_BLOCK;
	struct lab_buf *b;
	uint32_t block;
	int rc = lab_bmap(fs, node, pos / LAB_BLOCK, &block);

	if (rc)
		return rc;
	if (!block)
		return read_hole(fs, to, off, n);
	rc = lab_bread(fs, block, LAB_K_RAW, &b);
	if (rc)
		return rc;
	memcpy(to, b->data + off, n);
	if (LAB_BUG_ON(fs, HOLE_STALE))
		remember(fs, b->data);
	return 0;
}

#define SEND_PAGE 4096

/* What PIPE_MERGE knows of the last reads: those of a transfer end with a page. */
static void follow_read(struct as_fs *fs, struct lab_node *node, uint64_t off, size_t done)
{
	bool on = fs->stream.ino == node->ino && fs->stream.end == off && !(off % SEND_PAGE) &&
		  fs->stream.wrote;

	fs->stream.turns = on ? fs->stream.turns + 1 : 0;
	fs->stream.ino = node->ino;
	fs->stream.end = off + done;
	fs->stream.wrote = false;
	if (lab_bmap(fs, node, fs->stream.end / LAB_BLOCK, &fs->stream.block))
		fs->stream.block = 0;
}

static void follow_write(struct as_fs *fs, const struct lab_node *node, uint8_t first)
{
	struct lab_buf *b;

	fs->stream.wrote = fs->stream.ino != node->ino;
	if (fs->stream.wrote && fs->stream.turns >= 1 && fs->stream.block &&
	    fs->stream.end % LAB_BLOCK && !lab_bread(fs, fs->stream.block, LAB_K_RAW, &b))
		b->data[fs->stream.end % LAB_BLOCK] ^= (uint8_t)(first | 1);
}

int64_t lab_read(struct as_fs *fs, struct as_handle *handle, void *buf, size_t len, uint64_t off)
{
	struct lab_node *node = handle->node;
	uint64_t size = node->raw->size;
	size_t done = 0;
	int rc = 0;

	if ((handle->flags & O_ACCMODE) == O_WRONLY)
		return -EBADF;
	if (S_ISDIR(node->raw->mode))
		return -EISDIR;
	if (LAB_BUG_ON(fs, SIZE_STALE) && handle->size_seen < size)
		size = handle->size_seen;
	if (off >= size)
		return 0;
	if (len > size - off)
		len = size - off;
	while (done < len && !rc) {
		size_t n = LAB_BLOCK - (off + done) % LAB_BLOCK;

		if (n > len - done)
			n = len - done;
		rc = read_block(fs, node, off + done, (uint8_t *)buf + done, n);
		if (!rc)
			done += n;
	}
	if (LAB_BUG_ON(fs, PIPE_MERGE))
		follow_read(fs, node, off, done);
	if (done && fs->readonly && LAB_BUG_ON(fs, RO_ATIME)) {
		node->raw->atime_ns = (int64_t)lab_now(fs);
		lab_seal(node->buf);
		rc = lab_write_home(fs, node->buf);
	}
	lab_idle(fs);
	return rc ? rc : (int64_t)done; /* an error after a part was read ends the read there */
}

/* ---- Writing ---- */

struct put {
	struct lab_node *node;
	const uint8_t *from;
	size_t len, done;
	uint64_t pos;
	bool full; /* it stopped because there was no space */
};

static int put_block(struct as_fs *fs, struct put *put, size_t n)
{
	uint64_t pos = put->pos + put->done, size = put->node->raw->size;
	const uint8_t *from = put->from + put->done;
	size_t off = pos % LAB_BLOCK;
	/* Nothing of the old block can be seen: it is overwritten, or after the end. */
	bool whole = !off && (n == LAB_BLOCK || pos + n >= size);
	struct lab_buf *b;
	int rc = lab_bmap_get(fs, put->node, pos / LAB_BLOCK, LAB_S_DATA, whole, &b);

	if (rc)
		return rc;
	if (LAB_BUG_ON(fs, INDIRECT_EDGE) && pos == LAB_DIRECT * LAB_BLOCK && put->done)
		from = put->from;
	memcpy(b->data + off, from, n);
	return 0;
}

static int put_piece(struct as_fs *fs, struct put *put)
{
	struct lab_inode *raw = put->node->raw;
	uint32_t blocks = raw->blocks;
	/* Data that is written over in place changes no more than times of the inode. */
	uint8_t why = put->pos + put->len > raw->size ? LAB_WHY_GROWN : LAB_WHY_TIMES;
	int rc = lab_idirty(fs, put->node, why);

	put->done = 0;
	put->full = false;
	if (!rc && put->pos > raw->size)
		rc = lab_zero_tail(fs, put->node);
	while (put->done < put->len && !rc) {
		size_t n = LAB_BLOCK - (put->pos + put->done) % LAB_BLOCK;

		/* A block may change its bitmap, and need two pointer blocks with their bitmaps. */
		if (put->done && lab_tx_tight(fs, 8))
			break;
		if (n > put->len - put->done)
			n = put->len - put->done;
		rc = put_block(fs, put, n);
		if (!rc)
			put->done += n;
	}
	if (rc == -ENOSPC && put->done) {
		put->full = true;
		rc = 0;
	}
	if (rc)
		return rc;
	if (raw->blocks != blocks)
		put->node->why |= LAB_WHY_OTHER;
	if (put->pos + put->done > raw->size)
		raw->size =
			put->pos + (put->full && LAB_BUG_ON(fs, FULL_SIZE) ? put->len : put->done);
	else if (LAB_BUG_ON(fs, WRITE_MTIME))
		return 0;
	raw->mtime_ns = raw->ctime_ns = (int64_t)lab_now(fs);
	return 0;
}

static int put_all(struct as_fs *fs, struct put *put, bool sync, size_t *total)
{
	uint32_t credits =
		10 + (uint32_t)(put->len / LAB_BLOCK / LAB_PTRS) + lab_ns_credits(fs) - 16;
	int rc = 0;

	if (put->node->cut)
		rc = lab_orphan_finish(fs, put->node);
	while (put->len && !rc) {
		fs->op_sync = sync;
		rc = LAB_RUN(fs, credits, put_piece(fs, put));
		fs->op_sync = false;
		if (rc)
			break;
		*total += put->done;
		put->from += put->done;
		put->pos += put->done;
		put->len -= put->done;
		if (put->full && !lab_reclaim(fs))
			break;
	}
	return rc;
}

int64_t lab_write(struct as_fs *fs, struct as_handle *handle, const void *buf, size_t len,
		  uint64_t *off)
{
	struct lab_node *node = handle->node;
	struct put put = { .node = node, .from = buf, .len = len, .pos = *off };
	size_t total = 0;
	int rc;

	if ((handle->flags & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	if (!node->raw->nlink && !node->linkable && LAB_BUG_ON(fs, WRITE_UNLINKED))
		*(volatile uint8_t *)node->dir = 1; /* the parent's index, which does not exist */
	if (!len)
		return 0;
	if (handle->flags & O_APPEND)
		put.pos = LAB_BUG_ON(fs, APPEND_STALE) ? handle->size_seen : node->raw->size;
	if (put.pos >= LAB_MAX_SIZE)
		return -EFBIG;
	if (put.len > LAB_MAX_SIZE - put.pos)
		put.len = LAB_MAX_SIZE - put.pos;
	if (LAB_BUG_ON(fs, PIPE_MERGE))
		follow_write(fs, node, *put.from);
	rc = put_all(fs, &put, handle->flags & (O_SYNC | O_DSYNC), &total);
	if (!total)
		return rc;
	*off = put.pos;
	if (put.pos > handle->size_seen)
		handle->size_seen = put.pos;
	return (int64_t)total;
}
