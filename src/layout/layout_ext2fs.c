/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layout_ext2fs: the blocks of ext2, ext3 and ext4, read by libext2fs. The library reads files, so
 * it gets a copy of the disk as a file in memory. The journal's descriptors are read here, since
 * the library leaves that to e2fsck.
 */
#include "layout/layout_priv.h"

#include <ext2fs/ext2fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 64
#define JOURNAL_MAGIC 0xc03b3998u

enum { J_DESCRIPTOR = 1, J_COMMIT = 2, J_SUPER_V1 = 3, J_SUPER_V2 = 4, J_REVOKE = 5 };
enum { J_64BIT = 2, J_CSUM_V2 = 8, J_CSUM_V3 = 16 };
enum { TAG_SAME_UUID = 2, TAG_LAST = 8 };

struct ext_reader {
	ext2_filsys fs;
	struct as_layout *layout;
	struct as_layout_paths paths;
};

static uint32_t be32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* ---- What a block says of itself ---- */

static void say_tags(struct as_layout *layout, uint64_t at, const unsigned char *data,
		     struct as_buf *out)
{
	uint32_t features = layout->journal_features, bytes = layout->block_bytes;
	bool v3 = features & J_CSUM_V3, wide = features & J_64BIT;
	uint32_t tag_bytes = v3 ? 16 : wide ? 12 : 8, pos = 12, n = 0, flags;

	if (features & (J_CSUM_V2 | J_CSUM_V3))
		bytes -= 4;
	do {
		const unsigned char *tag = data + pos;
		uint64_t home;

		if (pos + tag_bytes > bytes)
			return;
		home = be32(tag);
		flags = v3 ? be32(tag + 4) : (uint32_t)tag[6] << 8 | tag[7];
		if (wide)
			home |= (uint64_t)be32(tag + 8) << 32;
		n++;
		/* The ring begins with block 1. */
		as_layout_copy(layout, (at - 1 + n) % (layout->n_journal - 1) + 1, home);
		as_buf_adds(out, n > 1 ? ", " : " of ");
		as_layout_home(layout, home, out);
		pos += tag_bytes + (flags & TAG_SAME_UUID ? 0 : 16);
	} while (!(flags & TAG_LAST));
}

static void say_journal_super(const unsigned char *data, struct as_buf *out)
{
	as_buf_adds(out, "journal: its superblock, ");
	if (be32(data + 28) == 0)
		as_buf_adds(out, AS_LAYOUT_EMPTY);
	else
		as_buf_addf(out, "which says that it begins with transaction %u", be32(data + 24));
}

static bool reads(struct as_layout *layout, uint64_t block, const unsigned char *data,
		  struct as_buf *out)
{
	const struct as_layout_block *at = &layout->block[block];

	if (!at->is_journal || be32(data) != JOURNAL_MAGIC)
		return false;
	switch (be32(data + 4)) {
	case J_DESCRIPTOR:
		as_buf_addf(out, "journal: descriptor of transaction %u, with copies",
			    be32(data + 8));
		say_tags(layout, at->at, data, out);
		return true;
	case J_COMMIT:
		as_buf_addf(out, "journal: commit block of transaction %u", be32(data + 8));
		return true;
	case J_SUPER_V1:
	case J_SUPER_V2:
		say_journal_super(data, out);
		return true;
	case J_REVOKE:
		as_buf_addf(out, "journal: revoked blocks of transaction %u", be32(data + 8));
		return true;
	default:
		return false;
	}
}

/* ---- Directories ---- */

struct layout_ext2fs_dir_walk {
	struct ext_reader *r;
	const char *path;
	unsigned depth;
};

static void walk_dir(struct ext_reader *r, ext2_ino_t ino, unsigned depth);

static int dir_entry(ext2_ino_t dir, int entry, struct ext2_dir_entry *dirent, int offset,
		     int blocksize, char *buf, void *ctx)
{
	struct layout_ext2fs_dir_walk *walk = ctx;
	size_t len = (size_t)ext2fs_dirent_name_len(dirent);
	struct ext2_inode inode;

	(void)dir;
	(void)offset;
	(void)blocksize;
	(void)buf;
	if (entry != DIRENT_OTHER_FILE || !dirent->inode ||
	    dirent->inode > walk->r->fs->super->s_inodes_count)
		return 0;
	as_layout_path_set(&walk->r->paths, dirent->inode, walk->path, dirent->name, len);
	if (!ext2fs_read_inode(walk->r->fs, dirent->inode, &inode) && LINUX_S_ISDIR(inode.i_mode))
		walk_dir(walk->r, dirent->inode, walk->depth + 1);
	return 0;
}

static void walk_dir(struct ext_reader *r, ext2_ino_t ino, unsigned depth)
{
	struct layout_ext2fs_dir_walk walk = { .r = r, .path = r->paths.path[ino], .depth = depth };

	if (depth < DEPTH_MAX)
		(void)ext2fs_dir_iterate2(r->fs, ino, 0, NULL, dir_entry, &walk);
}

/* ---- What belongs to an inode ---- */

struct layout_ext2fs_owner {
	struct ext_reader *r;
	char what[512], pointers[512];
	bool is_data, is_journal;
};

static int own_block(ext2_filsys fs, blk64_t *block, e2_blkcnt_t at, blk64_t ref, int ref_offset,
		     void *ctx)
{
	struct layout_ext2fs_owner *owner = ctx;

	(void)fs;
	(void)ref;
	(void)ref_offset;
	if (owner->is_journal && at >= 0)
		as_layout_journal(owner->r->layout, *block);
	else if (at < 0)
		as_layout_set(owner->r->layout, *block, owner->pointers);
	else if (owner->is_data)
		as_layout_data(owner->r->layout, *block, owner->what, (uint64_t)at);
	else
		as_layout_set(owner->r->layout, *block, owner->what);
	return 0;
}

static void own_inode(struct ext_reader *r, ext2_ino_t ino, const char *path)
{
	struct layout_ext2fs_owner owner = { .r = r, .is_journal = ino == EXT2_JOURNAL_INO };
	struct ext2_inode inode;
	blk64_t acl;

	if (ext2fs_read_inode(r->fs, ino, &inode) || !inode.i_links_count)
		return;
	snprintf(owner.what, sizeof(owner.what), "attributes of %s", path);
	acl = ext2fs_file_acl_block(r->fs, &inode);
	if (acl)
		as_layout_set(r->layout, acl, owner.what);
	snprintf(owner.what, sizeof(owner.what), "%s %s",
		 LINUX_S_ISDIR(inode.i_mode)   ? "directory"
		 : LINUX_S_ISLNK(inode.i_mode) ? "text of"
					       : "data of",
		 path);
	snprintf(owner.pointers, sizeof(owner.pointers), "extents of %s", path);
	owner.is_data = LINUX_S_ISREG(inode.i_mode);
	if (ext2fs_inode_has_valid_blocks2(r->fs, &inode))
		(void)ext2fs_block_iterate3(r->fs, ino, BLOCK_FLAG_READ_ONLY, NULL, own_block,
					    &owner);
}

/* ---- All of it ---- */

static void set_group(struct ext_reader *r, dgrp_t group)
{
	ext2_filsys fs = r->fs;
	struct as_layout *layout = r->layout;
	uint32_t per_block = fs->blocksize / EXT2_INODE_SIZE(fs->super);
	blk64_t super = 0, old_desc = 0, new_desc = 0, table = ext2fs_inode_table_loc(fs, group);
	blk_t used = 0;

	(void)ext2fs_super_and_bgd_loc2(fs, group, &super, &old_desc, &new_desc, &used);
	if (super || group == 0)
		as_layout_set(layout, super, group ? "backup superblock" : "superblock");
	for (blk64_t i = 0; old_desc && i < fs->desc_blocks; i++)
		as_layout_set(layout, old_desc + i,
			      group ? "backup group descriptors" : "group descriptors");
	as_layout_set(layout, ext2fs_block_bitmap_loc(fs, group), "block bitmap");
	as_layout_set(layout, ext2fs_inode_bitmap_loc(fs, group), "inode bitmap");
	for (uint32_t i = 0; table && i < fs->inode_blocks_per_group; i++) {
		uint32_t first = group * fs->super->s_inodes_per_group + i * per_block + 1;
		struct as_buf what = { 0 };

		as_layout_inodes(&r->paths, first, first + per_block, &what);
		as_layout_set(layout, table + i, as_buf_str(&what));
		as_buf_free(&what);
	}
}

static void journal_features(struct ext_reader *r)
{
	unsigned char *buf = as_xcalloc(1, r->fs->blocksize);

	if (r->layout->n_journal > 1 &&
	    !io_channel_read_blk64(r->fs->io, r->layout->journal[0], 1, buf) &&
	    be32(buf) == JOURNAL_MAGIC && be32(buf + 4) == J_SUPER_V2)
		r->layout->journal_features = be32(buf + 40);
	free(buf);
}

static void fill(struct ext_reader *r)
{
	as_layout_path_set(&r->paths, EXT2_ROOT_INO, "/", "", 0);
	walk_dir(r, EXT2_ROOT_INO, 0);
	for (dgrp_t group = 0; group < r->fs->group_desc_count; group++)
		set_group(r, group);
	if (ext2fs_has_feature_journal(r->fs->super))
		own_inode(r, EXT2_JOURNAL_INO, "the journal");
	own_inode(r, EXT2_RESIZE_INO, "the reserve for growing");
	for (uint32_t ino = 1; ino < r->paths.n; ino++)
		if (r->paths.path[ino])
			own_inode(r, ino, r->paths.path[ino]);
	journal_features(r);
}

static int put_chunk(void *ctx, uint64_t index, const unsigned char *data)
{
	return pwrite(*(int *)ctx, data, AS_CHUNK_BYTES, (off_t)(index * AS_CHUNK_BYTES)) !=
	       AS_CHUNK_BYTES;
}

struct as_layout *as_layout_ext2fs(struct as_disk *disk)
{
	struct ext_reader r = { .fs = NULL };
	int fd = memfd_create("layout", MFD_CLOEXEC);
	char name[64];

	if (fd < 0)
		return NULL;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	if (ftruncate(fd, (off_t)as_disk_size(disk)) == 0 &&
	    as_disk_each(disk, put_chunk, &fd) == 0 &&
	    ext2fs_open(name, EXT2_FLAG_IGNORE_CSUM_ERRORS, 0, 0, unix_io_manager, &r.fs) == 0) {
		r.layout = as_layout_make(r.fs->blocksize, ext2fs_blocks_count(r.fs->super));
		if (r.layout) {
			r.layout->reads = reads;
			fill(&r);
		}
		as_layout_paths_free(&r.paths);
		(void)ext2fs_close_free(&r.fs);
	}
	close(fd);
	return r.layout;
}
