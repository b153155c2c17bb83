/* SPDX-License-Identifier: MIT */
/* ext2lib: making and mounting, inodes, and the table that assay loads. See ext2lib.h. */
#include "ext2lib.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Making and mounting --------------------------------------------------------------------- */

/* Options: block=1024|2048|4096, extents. */
static int read_opts(const char *opts, unsigned *log_block, bool *extents)
{
	while (*opts) {
		size_t len = strcspn(opts, ",");

		if (len == 10 && !strncmp(opts, "block=1024", len))
			*log_block = 0;
		else if (len == 10 && !strncmp(opts, "block=2048", len))
			*log_block = 1;
		else if (len == 10 && !strncmp(opts, "block=4096", len))
			*log_block = 2;
		else if (len == 7 && !strncmp(opts, "extents", len))
			*extents = true;
		else if (!(len == 2 && !strncmp(opts, "ro", len)))
			return -EINVAL;
		opts += len + (opts[len] == ',');
	}
	return 0;
}

static int mkfs(const struct as_mount_args *args)
{
	struct ext2_super_block param;
	ext2_filsys ext2 = NULL;
	unsigned log_block = 0;
	bool extents = false;
	errcode_t code;
	int rc = read_opts(args->opts, &log_block, &extents);

	if (rc)
		return rc;
	memset(&param, 0, sizeof(param));
	param.s_rev_level = EXT2_DYNAMIC_REV;
	param.s_inode_size = 256;
	param.s_log_block_size = param.s_log_cluster_size = log_block;
	param.s_blocks_count = (uint32_t)(args->bd->size_bytes >> (10 + log_block));
	param.s_inodes_count = 1024;
	ext2fs_set_feature_filetype(&param);
	ext2fs_set_feature_sparse_super(&param);
	ext2fs_set_feature_large_file(&param);
	ext2fs_set_feature_xattr(&param);
	if (extents)
		ext2fs_set_feature_extents(&param);
	e2_device(args->bd);
	code = ext2fs_initialize("assay", 0, &param, &e2_io, &ext2);
	if (code)
		return e2_errno(code);
	code = ext2fs_allocate_tables(ext2);
	for (dgrp_t i = 0; !code && i < ext2->group_desc_count; i++)
		code = ext2fs_zero_blocks2(ext2, ext2fs_inode_table_loc(ext2, i),
					   (int)ext2->inode_blocks_per_group, NULL, NULL);
	if (!code)
		code = ext2fs_mkdir(ext2, EXT2_ROOT_INO, EXT2_ROOT_INO, NULL);
	for (ext2_ino_t i = 1; !code && i < EXT2_FIRST_INODE(ext2->super); i++)
		if (i != EXT2_ROOT_INO)
			ext2fs_inode_alloc_stats2(ext2, i, +1, 0);
	/* e2fsck makes both where they are missing, and says that it has repaired something. */
	memset(ext2->super->s_uuid, 0x5a, sizeof(ext2->super->s_uuid));
	if (!code)
		code = ext2fs_mkdir(ext2, EXT2_ROOT_INO, 0, "lost+found");
	ext2fs_mark_ib_dirty(ext2);
	if (code)
		ext2fs_free(ext2);
	else
		code = ext2fs_close_free(&ext2);
	return e2_errno(code);
}

static int mount(const struct as_mount_args *args, struct as_fs **out)
{
	unsigned log_block;
	bool extents;
	struct as_fs *fs;
	errcode_t code;
	int rc = read_opts(args->opts, &log_block, &extents);

	if (rc)
		return rc;
	fs = as_malloc(args->host, sizeof(*fs));
	if (!fs)
		return -ENOMEM;
	fs->host = args->host;
	fs->readonly = args->readonly;
	e2_device(args->bd);
	code = ext2fs_open("assay", args->readonly ? 0 : EXT2_FLAG_RW, 0, 0, &e2_io, &fs->ext2);
	if (!code)
		code = ext2fs_read_bitmaps(fs->ext2);
	if (code) {
		if (fs->ext2)
			ext2fs_free(fs->ext2);
		as_free(args->host, fs);
		return e2_errno(code);
	}
	*out = fs;
	return 0;
}

static int unmount(struct as_fs *fs)
{
	/* ext2fs_close() flushes only if the super block, or a bitmap, has changed. */
	errcode_t code = fs->readonly ? 0 : ext2fs_flush(fs->ext2), closed;

	closed = ext2fs_close_free(&fs->ext2);
	if (closed && fs->ext2)
		ext2fs_free(fs->ext2);
	as_free(fs->host, fs);
	return e2_errno(code ? code : closed);
}

static int sync_all(struct as_fs *fs)
{
	return fs->readonly ? 0 : e2_errno(ext2fs_flush(fs->ext2));
}

static int fsync_all(struct as_fs *fs, struct as_handle *handle, bool data_only)
{
	(void)handle;
	(void)data_only;
	return sync_all(fs);
}

static int statfs_all(struct as_fs *fs, struct as_statfs *st)
{
	struct ext2_super_block *super = fs->ext2->super;

	*st = (struct as_statfs){ .block_bytes = fs->ext2->blocksize,
				  .name_max = EXT2_NAME_LEN,
				  .blocks = ext2fs_blocks_count(super),
				  .blocks_free = ext2fs_free_blocks_count(super),
				  .files = super->s_inodes_count,
				  .files_free = super->s_free_inodes_count };
	return 0;
}

/* ---- Inodes ---------------------------------------------------------------------------------- */

void e2_touch(struct as_fs *fs, struct ext2_inode *inode, unsigned which)
{
	uint32_t now = (uint32_t)(fs->host->now_ns(fs->host->ctx) / 1000000000);

	inode->i_ctime = now;
	if (which & AS_SET_ATIME)
		inode->i_atime = now;
	if (which & AS_SET_MTIME)
		inode->i_mtime = now;
}

int e2_touch_dir(struct as_fs *fs, ext2_ino_t dir)
{
	struct ext2_inode inode;
	errcode_t code = ext2fs_read_inode(fs->ext2, dir, &inode);

	if (code)
		return e2_errno(code);
	e2_touch(fs, &inode, AS_SET_MTIME);
	return e2_errno(ext2fs_write_inode(fs->ext2, dir, &inode));
}

int e2_name_in(struct as_fs *fs, ext2_ino_t dir, const char *name, ext2_ino_t *ino)
{
	return e2_errno(ext2fs_lookup(fs->ext2, dir, name, (int)strlen(name), NULL, ino));
}

int e2_parent(struct as_fs *fs, const char *path, ext2_ino_t *dir, const char **name)
{
	*dir = EXT2_ROOT_INO;
	for (*name = path + 1;;) {
		size_t len = strcspn(*name, "/");
		struct ext2_inode inode;
		errcode_t code = ext2fs_read_inode(fs->ext2, *dir, &inode);

		if (code)
			return e2_errno(code);
		if (!LINUX_S_ISDIR(inode.i_mode))
			return -ENOTDIR;
		if (!(*name)[len])
			return 0;
		code = ext2fs_lookup(fs->ext2, *dir, *name, (int)len, NULL, dir);
		if (code)
			return e2_errno(code);
		*name += len + 1;
	}
}

int e2_lookup(struct as_fs *fs, const char *path, ext2_ino_t *ino, struct ext2_inode *inode)
{
	const char *name;
	int rc = e2_parent(fs, path, ino, &name);

	if (!rc && *name)
		rc = e2_name_in(fs, *ino, name, ino);
	return rc ? rc : e2_errno(ext2fs_read_inode(fs->ext2, *ino, inode));
}

errcode_t e2_inherit(struct as_fs *fs, ext2_ino_t dir, struct ext2_inode *inode)
{
	struct ext2_inode parent;
	errcode_t code = ext2fs_read_inode(fs->ext2, dir, &parent);

	if (code || !(parent.i_mode & S_ISGID))
		return code;
	inode->i_gid = parent.i_gid;
	ext2fs_set_i_gid_high(*inode, parent.osd2.linux2.l_i_gid_high);
	if (LINUX_S_ISDIR(inode->i_mode))
		inode->i_mode |= S_ISGID;
	return 0;
}

int e2_new_inode(struct as_fs *fs, ext2_ino_t dir, uint32_t mode, ext2_ino_t *ino)
{
	struct ext2_inode inode;
	errcode_t code = ext2fs_new_inode(fs->ext2, dir, (int)mode, NULL, ino);

	if (code)
		return e2_errno(code);
	memset(&inode, 0, sizeof(inode));
	inode.i_mode = (uint16_t)mode;
	inode.i_links_count = 1;
	e2_touch(fs, &inode, AS_SET_ATIME | AS_SET_MTIME);
	code = e2_inherit(fs, dir, &inode);
	if (code)
		return e2_errno(code);
	if (ext2fs_has_feature_extents(fs->ext2->super) && S_ISREG(mode)) {
		ext2_extent_handle_t handle;

		inode.i_flags = EXT4_EXTENTS_FL;
		code = ext2fs_extent_open2(fs->ext2, *ino, &inode, &handle);
		if (code)
			return e2_errno(code);
		ext2fs_extent_free(handle);
	}
	code = ext2fs_write_new_inode(fs->ext2, *ino, &inode);
	if (!code)
		ext2fs_inode_alloc_stats2(fs->ext2, *ino, +1, 0);
	return e2_errno(code);
}

int e2_add_name(struct as_fs *fs, ext2_ino_t dir, const char *name, ext2_ino_t ino, uint32_t mode)
{
	int type = S_ISDIR(mode) ? EXT2_FT_DIR : S_ISLNK(mode) ? EXT2_FT_SYMLINK : EXT2_FT_REG_FILE;
	errcode_t code = ext2fs_link(fs->ext2, dir, name, ino, type);

	if (code == EXT2_ET_DIR_NO_SPACE) {
		code = ext2fs_expand_dir(fs->ext2, dir);
		if (!code)
			code = ext2fs_link(fs->ext2, dir, name, ino, type);
	}
	return code ? e2_errno(code) : e2_touch_dir(fs, dir);
}

int e2_free_unused(struct as_fs *fs, ext2_ino_t ino)
{
	struct ext2_inode inode;
	errcode_t code = ext2fs_read_inode(fs->ext2, ino, &inode);
	bool is_dir = LINUX_S_ISDIR(inode.i_mode);

	for (struct as_handle *h = fs->open; h; h = h->next)
		if (h->ino == ino)
			return 0;
	if (code || inode.i_links_count)
		return e2_errno(code);
	code = ext2fs_free_ext_attr(fs->ext2, ino, NULL);
	if (!code)
		code = ext2fs_read_inode(fs->ext2, ino, &inode);
	if (!code && ext2fs_inode_has_valid_blocks2(fs->ext2, &inode))
		code = ext2fs_punch(fs->ext2, ino, &inode, NULL, 0, ~0ULL);
	inode.i_dtime = (uint32_t)(fs->host->now_ns(fs->host->ctx) / 1000000000);
	if (!code)
		code = ext2fs_write_inode(fs->ext2, ino, &inode);
	if (!code)
		ext2fs_inode_alloc_stats2(fs->ext2, ino, -1, is_dir);
	return e2_errno(code);
}

int e2_put_link(struct as_fs *fs, ext2_ino_t ino)
{
	struct ext2_inode inode;
	errcode_t code = ext2fs_read_inode(fs->ext2, ino, &inode);

	if (code)
		return e2_errno(code);
	inode.i_links_count = LINUX_S_ISDIR(inode.i_mode) ? 0 : (uint16_t)(inode.i_links_count - 1);
	e2_touch(fs, &inode, 0);
	code = ext2fs_write_inode(fs->ext2, ino, &inode);
	return code ? e2_errno(code) : e2_free_unused(fs, ino);
}

/* ---- The table ------------------------------------------------------------------------------- */

static const struct as_contract contract = {
	.after_cut = AS_CUT_REPAIR, /* and e2fsck comes before the mount */
	.promises = AS_PROMISE_ONLY_SYNC | AS_PROMISE_FSYNC_NAMES | AS_PROMISE_FSYNC_TIMES |
		    AS_PROMISE_FSYNC_BLOCKS | AS_PROMISE_MAKES_FOUND,
	.semantics = AS_MEANS_FAILED_MAYBE_DONE, /* nothing is undone when the disk fails */
};

static const struct as_limits limits = {
	.name_max = EXT2_NAME_LEN,
	.link_max = 65000,
	.dir_link_max = 65000,
	.symlink_max = E2_SYMLINK_MAX,
	.xattr_bytes = 900,
	.file_bytes = E2_FILE_BYTES,
};

const struct as_target_ops as_target = {
	.api = AS_TARGET_API,
	.caps = AS_CAP_HARDLINK | AS_CAP_SYMLINK | AS_CAP_XATTR | AS_CAP_OWNER | AS_CAP_STATFS |
		AS_CAP_OPEN_UNLINKED | AS_CAP_FSCK,
	.name = "ext2lib",
	.version = "1",
	.min_bytes = 256u << 10,
	.default_bytes = 4u << 20,
	.mkfs = mkfs,
	.mount = mount,
	.unmount = unmount,
	.sync = sync_all,
	.getattr = e2_getattr,
	.setattr = e2_setattr,
	.mkdir = e2_mkdir,
	.rmdir = e2_rmdir,
	.unlink = e2_unlink,
	.rename = e2_rename,
	.readdir = e2_readdir,
	.open = e2_open,
	.close = e2_close,
	.read = e2_read,
	.write = e2_write,
	.fgetattr = e2_fgetattr,
	.fsetattr = e2_fsetattr,
	.fsync = fsync_all,
	.link = e2_link,
	.symlink = e2_symlink,
	.readlink = e2_readlink,
	.setxattr = e2_setxattr,
	.getxattr = e2_getxattr,
	.listxattr = e2_listxattr,
	.removexattr = e2_removexattr,
	.statfs = statfs_all,
	.fsck = e2_fsck,
	.limits = &limits,
	.contract = &contract,
};
