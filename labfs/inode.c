/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * inode.c: cached inodes, how they are made and freed, and the orphan list.
 *
 * A cached inode is its slot in the pinned inode-table block, and what is needed only in memory
 * (open handles, a directory's index). So undoing an operation's blocks undoes its inodes, too. A
 * slot whose mode is 0 is no inode; its node may stay in memory, and the next owner uses it again.
 *
 * Invariant: an inode without links that is still in use is on the orphan list, and so is one whose
 * blocks are being freed over several transactions.
 */
#include "fs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define NODE_LIMIT 8192u /* kept between operations */

uint64_t lab_now(const struct as_fs *fs)
{
	return fs->host->now_ns(fs->host->ctx);
}

static void lru_out(struct lab_node *node)
{
	node->lru.prev->next = node->lru.next;
	node->lru.next->prev = node->lru.prev;
}

static void lru_front(struct as_fs *fs, struct lab_node *node)
{
	node->lru.next = fs->node_lru.next;
	node->lru.prev = &fs->node_lru;
	fs->node_lru.next->prev = &node->lru;
	fs->node_lru.next = &node->lru;
}

static struct lab_node *find_node(struct as_fs *fs, uint32_t ino)
{
	struct lab_node *node = fs->nodes[ino & fs->node_mask];

	while (node && node->ino != ino)
		node = node->hash_next;
	if (node && fs->node_lru.next != &node->lru) {
		lru_out(node);
		lru_front(fs, node);
	}
	return node;
}

static void drop_node(struct as_fs *fs, struct lab_node *node)
{
	struct lab_node **at = &fs->nodes[node->ino & fs->node_mask];

	while (*at != node)
		at = &(*at)->hash_next;
	*at = node->hash_next;
	lru_out(node);
	lab_dir_drop_index(fs, node);
	lab_unpin(fs, node->buf);
	fs->nnodes--;
	as_free(fs->host, node);
}

void lab_nodes_trim(struct as_fs *fs)
{
	struct lab_link *at = fs->node_lru.prev;

	while (fs->nnodes > NODE_LIMIT && at != &fs->node_lru) {
		struct lab_node *node = (struct lab_node *)at;

		at = at->prev;
		if (!node->opens && !node->cut)
			drop_node(fs, node);
	}
}

void lab_nodes_free(struct as_fs *fs)
{
	for (uint32_t i = 0; fs->nodes && i <= fs->node_mask; i++) {
		while (fs->nodes[i])
			drop_node(fs, fs->nodes[i]);
	}
	as_free(fs->host, fs->nodes);
	fs->nodes = NULL;
}

/* The slot of an inode number, in use or not. */
static int get_slot(struct as_fs *fs, uint32_t ino, struct lab_node **out)
{
	struct lab_node *node, **bucket;
	int rc;

	if (!ino || ino > fs->geo.inode_count)
		return lab_corrupt(fs, "inode number", ino);
	node = find_node(fs, ino);
	if (node) {
		*out = node;
		return 0;
	}
	node = as_malloc(fs->host, sizeof(*node));
	if (!node)
		return -ENOMEM;
	rc = lab_bread(fs, fs->geo.inode_table_start + (ino - 1) / LAB_INODES_PER_BLOCK,
		       LAB_K_INODES, &node->buf);
	if (rc) {
		as_free(fs->host, node);
		return rc;
	}
	lab_pin(fs, node->buf);
	node->ino = ino;
	node->raw = (struct lab_inode *)node->buf->data + (ino - 1) % LAB_INODES_PER_BLOCK;
	bucket = &fs->nodes[ino & fs->node_mask];
	node->hash_next = *bucket;
	*bucket = node;
	lru_front(fs, node);
	fs->nnodes++;
	*out = node;
	return 0;
}

static bool is_bad(const struct lab_node *node)
{
	return node->buf->bad >> (node->ino - 1) % LAB_INODES_PER_BLOCK & 1;
}

int lab_iget(struct as_fs *fs, uint32_t ino, struct lab_node **node)
{
	int rc;

	rc = get_slot(fs, ino, node);
	if (rc)
		return rc;
	if (is_bad(*node))
		return lab_corrupt(fs, "checksum of inode", ino);
	if (!(*node)->raw->mode)
		return lab_corrupt(fs, "entry names free inode", ino);
	if ((*node)->raw->size > LAB_MAX_SIZE || (*node)->raw->flags)
		return lab_corrupt(fs, "size or flags of inode", ino);
	return 0;
}

int lab_idirty(struct as_fs *fs, struct lab_node *node, uint8_t why)
{
	if (node->why_seq != fs->seq) {
		node->why_seq = fs->seq;
		node->why = 0;
	}
	node->why |= why;
	return lab_dirty(fs, node->buf, LAB_S_META);
}

int lab_inew(struct as_fs *fs, struct lab_node *parent, uint32_t mode, uint64_t rdev,
	     struct lab_node **out)
{
	struct lab_node *node;
	uint32_t ino, generation;
	int64_t now;
	int rc = lab_ialloc(fs, &ino);

	if (!rc)
		rc = get_slot(fs, ino, &node);
	if (!rc && is_bad(node))
		rc = lab_corrupt(fs, "checksum of inode", ino);
	if (!rc && node->raw->mode)
		rc = lab_corrupt(fs, "bitmap offers used inode", ino);
	if (!rc)
		rc = lab_idirty(fs, node, LAB_WHY_OTHER);
	if (rc)
		return rc;
	now = (int64_t)lab_now(fs);
	generation = node->raw->generation + 1;
	memset(node->raw, 0, sizeof(*node->raw));
	node->raw->mode = mode;
	node->raw->rdev = rdev;
	node->raw->generation = generation;
	node->raw->atime_ns = node->raw->mtime_ns = node->raw->ctime_ns = now;
	if (parent->raw->mode & S_ISGID) {
		node->raw->gid = parent->raw->gid;
		if (S_ISDIR(mode))
			node->raw->mode |= S_ISGID;
	}
	if (!LAB_BUG_ON(fs, TMPFILE_AGAIN))
		node->linkable = false;
	node->cut = false;
	*out = node;
	return 0;
}

int lab_orphan_add(struct as_fs *fs, struct lab_node *node)
{
	int rc = lab_dirty(fs, fs->sb_buf, LAB_S_META);

	if (!rc)
		rc = lab_idirty(fs, node, LAB_WHY_OTHER);
	if (rc)
		return rc;
	node->raw->next_orphan = fs->sb->orphan_head;
	fs->sb->orphan_head = node->ino;
	return 0;
}

int lab_orphan_del(struct as_fs *fs, struct lab_node *node)
{
	struct lab_node *at;
	uint32_t next = fs->sb->orphan_head;
	int rc;

	rc = lab_idirty(fs, node, LAB_WHY_OTHER);
	if (rc)
		return rc;
	if (next == node->ino) {
		rc = lab_dirty(fs, fs->sb_buf, LAB_S_META);
		if (rc)
			return rc;
		fs->sb->orphan_head = node->raw->next_orphan;
		node->raw->next_orphan = 0;
		return 0;
	}
	for (uint32_t i = 0; next && i < fs->geo.inode_count; i++) {
		rc = lab_iget(fs, next, &at);
		if (rc)
			return rc;
		next = at->raw->next_orphan;
		if (next == node->ino) {
			rc = lab_idirty(fs, at, LAB_WHY_OTHER);
			if (rc)
				return rc;
			at->raw->next_orphan = node->raw->next_orphan;
			node->raw->next_orphan = 0;
			return 0;
		}
	}
	return lab_corrupt(fs, "not on the orphan list: inode", node->ino);
}

static bool has_blocks(const struct lab_inode *raw)
{
	return S_ISREG(raw->mode) || S_ISDIR(raw->mode) ||
	       (S_ISLNK(raw->mode) && raw->size > LAB_INLINE_SYMLINK);
}

/* Frees everything that an inode has, and the inode itself; 1 = the rest needs another
 * transaction. */
static int destroy(struct as_fs *fs, struct lab_node *node)
{
	struct lab_inode *raw = node->raw;
	int rc = 0;

	lab_dir_drop_index(fs, node);
	if (has_blocks(raw))
		rc = lab_free_range(fs, node, 0, LAB_MAX_BLOCKS);
	if (!rc)
		rc = lab_idirty(fs, node, LAB_WHY_OTHER);
	if (!rc && raw->xattr_block && !(S_ISLNK(raw->mode) && LAB_BUG_ON(fs, LINK_ATTRS))) {
		rc = lab_bfree(fs, raw->xattr_block, !LAB_BUG_ON(fs, XATTR_UNREVOKED));
		raw->xattr_block = 0;
	}
	if (!rc)
		rc = lab_ifree(fs, node->ino);
	if (!rc && S_ISDIR(raw->mode) && LAB_BUG_ON(fs, DIR_UNCOUNTED))
		fs->free_inodes--;
	if (!rc) {
		uint32_t generation = raw->generation;

		memset(raw, 0, sizeof(*raw));
		raw->generation = generation;
	}
	return rc;
}

int lab_drop_link(struct as_fs *fs, struct lab_node *node, uint32_t links)
{
	int rc = lab_idirty(fs, node, LAB_WHY_LINK);

	if (rc)
		return rc;
	if (node->raw->nlink < links)
		return lab_corrupt(fs, "link count of inode", node->ino);
	node->raw->nlink -= links;
	node->raw->ctime_ns = (int64_t)lab_now(fs);
	if (node->raw->nlink)
		return 0;
	if (node->cut)
		rc = lab_orphan_del(fs, node);
	if (!rc && !node->opens)
		rc = destroy(fs, node);
	if (rc < 0)
		return rc;
	if (rc)
		fs->unfinished = true;
	return node->opens || rc ? lab_orphan_add(fs, node) : 0;
}

/* Does one step of freeing an orphan, or of truncating it. 1 = there is more to do. */
static int finish_step(struct as_fs *fs, struct lab_node *node)
{
	struct lab_inode *raw = node->raw;
	int rc, add_rc;

	if (raw->nlink || node->opens) {
		rc = lab_free_range(fs, node, (raw->size + LAB_BLOCK - 1) / LAB_BLOCK,
				    LAB_MAX_BLOCKS);
		return rc || !raw->nlink ? rc : lab_orphan_del(fs, node);
	}
	rc = lab_orphan_del(fs, node);
	if (!rc)
		rc = destroy(fs, node);
	if (rc != 1)
		return rc;
	add_rc = lab_orphan_add(fs, node);
	return add_rc ? add_rc : 1;
}

int lab_orphan_finish(struct as_fs *fs, struct lab_node *node)
{
	int rc;

	do {
		rc = LAB_RUN(fs, 12 + fs->geo.block_bitmap_blocks, finish_step(fs, node));
	} while (rc > 0);
	if (!rc)
		node->cut = false;
	return rc;
}

int lab_orphans_finish(struct as_fs *fs)
{
	uint32_t ino = fs->sb->orphan_head, limit = fs->geo.inode_count;
	int rc = 0;

	if (fs->finishing)
		return 0;
	fs->finishing = true;
	while (ino && !rc) {
		struct lab_node *node;
		uint32_t next;

		rc = limit-- ? lab_iget(fs, ino, &node)
			     : lab_corrupt(fs, "orphan list loops at", ino);
		if (rc)
			break;
		next = node->raw->next_orphan;
		if (!node->opens || node->cut)
			rc = lab_orphan_finish(fs, node);
		ino = next;
	}
	fs->finishing = false;
	return rc;
}

void lab_fill_stat(const struct lab_node *node, struct as_stat *st)
{
	const struct lab_inode *raw = node->raw;

	*st = (struct as_stat){
		.ino = node->ino,
		.mode = raw->mode,
		.nlink = raw->nlink,
		.uid = raw->uid,
		.gid = raw->gid,
		.rdev = raw->rdev,
		.size = raw->size,
		.blocks = (uint64_t)raw->blocks * (LAB_BLOCK / 512),
		.atime_ns = raw->atime_ns,
		.mtime_ns = raw->mtime_ns,
		.ctime_ns = raw->ctime_ns,
	};
}
