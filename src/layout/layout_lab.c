/* SPDX-License-Identifier: GPL-2.0-or-later */
/* layout_lab: the blocks of labfs. Of labfs it uses only labfs/format.h. */
#include "layout/layout_priv.h"

#include "labfs/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEPTH_MAX 64

struct lab_reader {
	struct as_disk *disk;
	struct as_layout *layout;
	struct lab_super super;
	struct as_layout_paths paths;
};

static bool read_block(struct lab_reader *r, uint32_t block, void *buf)
{
	return block < r->super.block_count &&
	       as_bd_read(as_disk_bd(r->disk), (uint64_t)block * LAB_BLOCK, buf, LAB_BLOCK) == 0;
}

static bool read_inode(struct lab_reader *r, uint32_t ino, struct lab_inode *inode)
{
	unsigned char buf[LAB_BLOCK];
	uint32_t index = ino - 1;

	if (ino < 1 || ino > r->super.inode_count ||
	    !read_block(r, r->super.inode_table_start + index / LAB_INODES_PER_BLOCK, buf))
		return false;
	memcpy(inode, buf + index % LAB_INODES_PER_BLOCK * LAB_INODE_BYTES, sizeof(*inode));
	return inode->mode != 0;
}

/* ---- What belongs to an inode ---- */

typedef void (*block_fn)(struct lab_reader *r, void *ctx, uint32_t block, uint64_t at);

/* Calls fn for the data blocks, and marks pointer blocks with `pointers`. */
static void each_block(struct lab_reader *r, const struct lab_inode *inode, const char *pointers,
		       block_fn fn, void *ctx)
{
	uint32_t ptr[LAB_PTRS], inner[LAB_PTRS];

	for (uint32_t i = 0; i < LAB_DIRECT; i++)
		if (inode->ptr[i])
			fn(r, ctx, inode->ptr[i], i);
	if (inode->ptr[LAB_DIRECT] && read_block(r, inode->ptr[LAB_DIRECT], ptr)) {
		as_layout_set(r->layout, inode->ptr[LAB_DIRECT], pointers);
		for (uint32_t i = 0; i < LAB_PTRS; i++)
			if (ptr[i])
				fn(r, ctx, ptr[i], LAB_DIRECT + i);
	}
	if (!inode->ptr[LAB_DIRECT + 1] || !read_block(r, inode->ptr[LAB_DIRECT + 1], ptr))
		return;
	as_layout_set(r->layout, inode->ptr[LAB_DIRECT + 1], pointers);
	for (uint32_t i = 0; i < LAB_PTRS; i++) {
		if (!ptr[i] || !read_block(r, ptr[i], inner))
			continue;
		as_layout_set(r->layout, ptr[i], pointers);
		for (uint32_t k = 0; k < LAB_PTRS; k++)
			if (inner[k])
				fn(r, ctx, inner[k],
				   LAB_DIRECT + LAB_PTRS + (uint64_t)i * LAB_PTRS + k);
	}
}

static void walk_dir(struct lab_reader *r, uint32_t ino, unsigned depth);

struct layout_lab_dir_walk {
	const char *path;
	unsigned depth;
};

static void dir_block(struct lab_reader *r, void *ctx, uint32_t block, uint64_t at)
{
	const struct layout_lab_dir_walk *walk = ctx;
	unsigned char buf[LAB_BLOCK];
	struct lab_dirent head;

	(void)at;
	if (!read_block(r, block, buf))
		return;
	for (uint32_t pos = 0; pos + LAB_DIRENT_HEAD <= LAB_BLOCK; pos += head.rec_len) {
		const char *name = (const char *)buf + pos + LAB_DIRENT_HEAD;

		memcpy(&head, buf + pos, LAB_DIRENT_HEAD);
		if (head.rec_len < LAB_DIRENT_HEAD || pos + head.rec_len > LAB_BLOCK ||
		    LAB_DIRENT_HEAD + head.name_len > head.rec_len)
			return;
		if (!head.ino || head.ino > r->super.inode_count ||
		    (head.name_len == 1 && name[0] == '.') ||
		    (head.name_len == 2 && name[0] == '.' && name[1] == '.'))
			continue;
		as_layout_path_set(&r->paths, head.ino, walk->path, name, head.name_len);
		if (head.type == S_IFDIR >> 12)
			walk_dir(r, head.ino, walk->depth + 1);
	}
}

static void walk_dir(struct lab_reader *r, uint32_t ino, unsigned depth)
{
	struct lab_inode inode;
	struct layout_lab_dir_walk walk = { .path = r->paths.path[ino], .depth = depth };

	if (depth < DEPTH_MAX && read_inode(r, ino, &inode) && S_ISDIR(inode.mode))
		each_block(r, &inode, "", dir_block, &walk);
}

struct layout_lab_owner {
	char what[512];
	bool is_data;
};

static void own_block(struct lab_reader *r, void *ctx, uint32_t block, uint64_t at)
{
	const struct layout_lab_owner *owner = ctx;

	if (owner->is_data)
		as_layout_data(r->layout, block, owner->what, at);
	else
		as_layout_set(r->layout, block, owner->what);
}

static void own_inode(struct lab_reader *r, uint32_t ino)
{
	const char *path = ino < r->paths.n ? r->paths.path[ino] : NULL;
	struct lab_inode inode;
	struct layout_lab_owner owner = { .is_data = false };
	char pointers[512];

	if (!path || !read_inode(r, ino, &inode))
		return;
	snprintf(pointers, sizeof(pointers), "attributes of %s", path);
	if (inode.xattr_block)
		as_layout_set(r->layout, inode.xattr_block, pointers);
	snprintf(pointers, sizeof(pointers), "pointers of %s", path);
	if (S_ISDIR(inode.mode))
		snprintf(owner.what, sizeof(owner.what), "directory %s", path);
	else if (S_ISLNK(inode.mode))
		snprintf(owner.what, sizeof(owner.what), "text of %s", path);
	else
		snprintf(owner.what, sizeof(owner.what), "data of %s", path);
	owner.is_data = S_ISREG(inode.mode);
	if (S_ISDIR(inode.mode) || S_ISREG(inode.mode) || (S_ISLNK(inode.mode) && inode.blocks))
		each_block(r, &inode, pointers, own_block, &owner);
}

/* ---- What a block says of itself ---- */

static void say_desc(struct as_layout *layout, uint64_t at, const unsigned char *data,
		     struct as_buf *out)
{
	struct lab_j_desc desc;
	struct lab_j_tag tag;
	uint64_t ring = layout->n_journal - 1;

	memcpy(&desc, data, sizeof(desc));
	as_buf_addf(out, "journal: descriptor of transaction %u, with copies of ", desc.head.seq);
	for (uint32_t i = 0; i < desc.count && i < LAB_J_TAGS; i++) {
		memcpy(&tag, data + sizeof(desc) + i * sizeof(tag), sizeof(tag));
		/* The ring begins with block 1. */
		as_layout_copy(layout, (at - 1 + i + 1) % ring + 1, tag.block);
		as_buf_adds(out, i ? ", " : "");
		as_layout_home(layout, tag.block, out);
	}
}

static bool say_journal(struct as_layout *layout, uint64_t at, const unsigned char *data,
			struct as_buf *out)
{
	struct lab_j_super super;

	memcpy(&super, data, sizeof(super));
	if (super.head.magic != LAB_J_MAGIC)
		return false;
	switch (super.head.type) {
	case LAB_J_SUPER:
		if (super.empty)
			as_buf_adds(out, "journal: its superblock, " AS_LAYOUT_EMPTY);
		else
			as_buf_addf(out,
				    "journal: its superblock, "
				    "which says that it begins with transaction %u",
				    super.head.seq);
		return true;
	case LAB_J_DESC:
		say_desc(layout, at, data, out);
		return true;
	case LAB_J_REVOKE:
		as_buf_addf(out, "journal: revoked blocks of transaction %u", super.head.seq);
		return true;
	case LAB_J_COMMIT:
		as_buf_addf(out, "journal: commit block of transaction %u", super.head.seq);
		return true;
	default:
		return false;
	}
}

static bool reads(struct as_layout *layout, uint64_t block, const unsigned char *data,
		  struct as_buf *out)
{
	const struct as_layout_block *at = &layout->block[block];
	struct lab_super super;

	if (at->is_journal)
		return say_journal(layout, at->at, data, out);
	if (block != 0)
		return false;
	memcpy(&super, data, sizeof(super));
	as_buf_addf(out, "superblock, %s",
		    super.state & LAB_CLEAN ? "marked clean" : "not marked clean");
	return true;
}

/* ---- All of it ---- */

static void set_range(struct as_layout *layout, uint32_t start, uint32_t n, const char *what)
{
	for (uint32_t i = 0; i < n; i++)
		as_layout_set(layout, start + i, what);
}

static void fill(struct lab_reader *r)
{
	const struct lab_super *s = &r->super;
	struct as_layout *layout = r->layout;

	as_layout_path_set(&r->paths, LAB_ROOT_INO, "/", "", 0);
	walk_dir(r, LAB_ROOT_INO, 0);
	as_layout_set(layout, 0, "superblock");
	as_layout_set(layout, s->block_count - 1, "backup superblock");
	set_range(layout, s->inode_bitmap_start, s->inode_bitmap_blocks, "inode bitmap");
	set_range(layout, s->block_bitmap_start, s->block_bitmap_blocks, "block bitmap");
	for (uint32_t i = 0; i < s->inode_table_blocks; i++) {
		uint32_t first = i * LAB_INODES_PER_BLOCK + 1;
		struct as_buf what = { 0 };

		as_layout_inodes(&r->paths, first, first + LAB_INODES_PER_BLOCK, &what);
		as_layout_set(layout, s->inode_table_start + i, as_buf_str(&what));
		as_buf_free(&what);
	}
	for (uint32_t i = 0; i < s->journal_blocks; i++)
		as_layout_journal(layout, s->journal_start + i);
	for (uint32_t ino = 1; ino < r->paths.n; ino++)
		own_inode(r, ino);
}

struct as_layout *as_layout_lab(struct as_disk *disk)
{
	struct lab_reader r = { .disk = disk };
	unsigned char buf[LAB_BLOCK];

	r.super.block_count = 1;
	if (as_disk_size(disk) < LAB_BLOCK || !read_block(&r, 0, buf))
		return NULL;
	memcpy(&r.super, buf, sizeof(r.super));
	if (r.super.magic != LAB_MAGIC || r.super.block_count > as_disk_size(disk) / LAB_BLOCK ||
	    r.super.inode_table_blocks > r.super.block_count ||
	    r.super.journal_blocks > r.super.block_count || r.super.journal_blocks < 2)
		return NULL;
	r.layout = as_layout_make(LAB_BLOCK, r.super.block_count);
	if (!r.layout)
		return NULL;
	r.layout->reads = reads;
	fill(&r);
	as_layout_paths_free(&r.paths);
	return r.layout;
}
