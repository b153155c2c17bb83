/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attr.c: modes, owners, times, sizes.
 */
#include "fs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

int lab_zero_tail(struct as_fs *fs, struct lab_node *node)
{
	uint64_t size = node->raw->size;
	struct lab_buf *b;
	uint32_t block;
	int rc;

	if (!(size % LAB_BLOCK))
		return 0;
	rc = lab_bmap(fs, node, size / LAB_BLOCK, &block);
	if (rc || !block)
		return rc;
	rc = lab_bread(fs, block, LAB_K_RAW, &b);
	if (!rc)
		rc = lab_dirty(fs, b, LAB_S_DATA);
	if (!rc && !LAB_BUG_ON(fs, STALE_DATA))
		memset(b->data + size % LAB_BLOCK, 0, LAB_BLOCK - size % LAB_BLOCK);
	return rc;
}

/* LAB_BUG_CUT_KEEPS: what is cut reads as zeros when the file grows again, and is never freed. */
static int blank(struct as_fs *fs, struct lab_node *node, uint64_t from, uint64_t to)
{
	int rc = 0;

	for (; from < to && !rc; from++) {
		struct lab_buf *b;
		uint32_t block;

		rc = lab_bmap(fs, node, from, &block);
		if (rc || !block)
			continue;
		rc = lab_bread(fs, block, LAB_K_RAW, &b);
		if (!rc)
			rc = lab_dirty(fs, b, LAB_S_DATA);
		if (!rc)
			memset(b->data, 0, LAB_BLOCK);
	}
	return rc;
}

static int cut(struct as_fs *fs, struct lab_node *node, uint64_t had, uint64_t size)
{
	uint64_t first = (size + LAB_BLOCK - 1) / LAB_BLOCK;

	if (size && LAB_BUG_ON(fs, CUT_KEEPS))
		return blank(fs, node, first, (had + LAB_BLOCK - 1) / LAB_BLOCK);
	return lab_free_range(fs, node, first, LAB_MAX_BLOCKS);
}

static int do_truncate(struct as_fs *fs, struct lab_node *node, uint64_t size)
{
	struct lab_inode *raw = node->raw;
	uint64_t had = raw->size;
	bool listed = !raw->nlink;
	int rc = lab_idirty(fs, node, LAB_WHY_OTHER);

	if (!rc && size > raw->size)
		rc = lab_zero_tail(fs, node);
	if (rc)
		return rc;
	raw->size = size;
	raw->mtime_ns = raw->ctime_ns = (int64_t)lab_now(fs);
	rc = cut(fs, node, had, size);
	if (rc != 1)
		return rc;
	/* It takes more than one transaction: the orphan list finishes the rest, also after a power
	 * cut. */
	rc = listed || LAB_BUG_ON(fs, CUT_UNLISTED) ? 0 : lab_orphan_add(fs, node);
	if (!rc)
		node->cut = fs->unfinished = true;
	return rc;
}

int lab_truncate(struct as_fs *fs, struct lab_node *node, uint64_t size)
{
	int rc = 0;

	if (size > LAB_MAX_SIZE - LAB_BUG_ON(fs, LARGEST))
		return -EFBIG;
	if (node->cut)
		rc = lab_orphan_finish(fs, node);
	return rc ? rc : LAB_RUN(fs, lab_ns_credits(fs), do_truncate(fs, node, size));
}

static int set_rest(struct as_fs *fs, struct lab_node *node, const struct as_stat *st, unsigned set)
{
	struct lab_inode *raw = node->raw;
	uint8_t why =
		set & ~(unsigned)(AS_SET_ATIME | AS_SET_MTIME) ? LAB_WHY_OTHER : LAB_WHY_TIMES;
	int rc = lab_idirty(fs, node, why);
	uint32_t ids = LAB_BUG_ON(fs, IDS_16) ? UINT16_MAX : UINT32_MAX;

	if (rc)
		return rc;
	if (set & AS_SET_UID)
		raw->uid = st->uid & ids;
	if (set & AS_SET_GID)
		raw->gid = st->gid & ids;
	/* As in Linux: a new owner does not get the set-id rights of the old one. */
	if (set & (AS_SET_UID | AS_SET_GID) && !S_ISDIR(raw->mode)) {
		raw->mode &= ~(uint32_t)S_ISUID;
		if (raw->mode & S_IXGRP)
			raw->mode &= ~(uint32_t)S_ISGID;
	}
	if (set & AS_SET_MODE) {
		uint32_t bits = LAB_BUG_ON(fs, CHMOD_BITS) ? 0777 : 07777;

		raw->mode = (raw->mode & S_IFMT) | (st->mode & bits);
	}
	if (set & AS_SET_ATIME)
		raw->atime_ns = st->atime_ns;
	if (set & AS_SET_MTIME)
		raw->mtime_ns = st->mtime_ns;
	if (LAB_BUG_ON(fs, UTIMENS_SECONDS)) {
		raw->atime_ns -= set & AS_SET_ATIME ? raw->atime_ns % 1000000000 : 0;
		raw->mtime_ns -= set & AS_SET_MTIME ? raw->mtime_ns % 1000000000 : 0;
	}
	if (!(set & AS_SET_MODE && LAB_BUG_ON(fs, CHMOD_CTIME)))
		raw->ctime_ns = (int64_t)lab_now(fs);
	return 0;
}

static int set_all(struct as_fs *fs, struct lab_node *node, const struct as_stat *st, unsigned set)
{
	int rc = 0;

	if (set & AS_SET_SIZE && S_ISDIR(node->raw->mode))
		return -EISDIR;
	if (set & AS_SET_SIZE && !S_ISREG(node->raw->mode))
		return -EINVAL;
	if (set & AS_SET_MODE && S_ISLNK(node->raw->mode))
		return -EOPNOTSUPP;
	if (set & AS_SET_SIZE)
		rc = lab_truncate(fs, node, st->size);
	set &= ~(unsigned)AS_SET_SIZE;
	if (rc || !set)
		return rc;
	if (fs->readonly && set == AS_SET_MODE && LAB_BUG_ON(fs, RO_CHMOD)) {
		node->raw->mode = (node->raw->mode & S_IFMT) | (st->mode & 07777);
		return 0;
	}
	return LAB_RUN(fs, 2, set_rest(fs, node, st, set));
}

int lab_setattr(struct as_fs *fs, const char *path, const struct as_stat *st, unsigned set)
{
	struct lab_node *node;
	int rc = lab_walk(fs, path, &node);

	return rc ? rc : set_all(fs, node, st, set);
}

int lab_fsetattr(struct as_fs *fs, struct as_handle *handle, const struct as_stat *st, unsigned set)
{
	int rc;

	if (set & AS_SET_SIZE &&
	    ((handle->flags & O_ACCMODE) == O_RDONLY || !S_ISREG(handle->node->raw->mode)))
		return -EINVAL;
	rc = set_all(fs, handle->node, st, set);
	if (!rc && set & AS_SET_SIZE)
		handle->size_seen = st->size;
	return rc;
}
