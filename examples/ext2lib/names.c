/* SPDX-License-Identifier: MIT */
/* names: directories and the names in them. libext2fs has ext2fs_link(), ext2fs_unlink() and
 * ext2fs_lookup(); the rest is made of them. */
#include "ext2lib.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* Adds to, or takes from, the links of a directory. */
static int change_links(struct as_fs *fs, ext2_ino_t dir, int by)
{
	struct ext2_inode inode;
	errcode_t code = ext2fs_read_inode(fs->ext2, dir, &inode);

	if (code)
		return e2_errno(code);
	inode.i_links_count = (uint16_t)(inode.i_links_count + by);
	return e2_errno(ext2fs_write_inode(fs->ext2, dir, &inode));
}

/* A place for a new name: -EEXIST if it is taken. */
static int new_place(struct as_fs *fs, const char *path, ext2_ino_t *dir, const char **name)
{
	ext2_ino_t there;
	int rc;

	if (fs->readonly)
		return -EROFS;
	rc = e2_parent(fs, path, dir, name);
	if (rc)
		return rc;
	if (!**name)
		return -EEXIST;
	rc = e2_name_in(fs, *dir, *name, &there);
	return rc == -ENOENT ? 0 : rc ? rc : -EEXIST;
}

int e2_mkdir(struct as_fs *fs, const char *path, uint32_t mode)
{
	struct ext2_inode inode;
	const char *name;
	ext2_ino_t dir, ino = 0;
	errcode_t code;
	int rc = new_place(fs, path, &dir, &name);

	if (rc)
		return rc;
	code = ext2fs_mkdir(fs->ext2, dir, 0, name);
	if (code == EXT2_ET_DIR_NO_SPACE) {
		code = ext2fs_expand_dir(fs->ext2, dir);
		if (!code)
			code = ext2fs_mkdir(fs->ext2, dir, 0, name);
	}
	if (!code)
		code = ext2fs_lookup(fs->ext2, dir, name, (int)strlen(name), NULL, &ino);
	if (!code)
		code = ext2fs_read_inode(fs->ext2, ino, &inode);
	if (code)
		return e2_errno(code);
	inode.i_mode = (uint16_t)(S_IFDIR | mode);
	e2_touch(fs, &inode, AS_SET_ATIME | AS_SET_MTIME);
	code = e2_inherit(fs, dir, &inode);
	if (!code)
		code = ext2fs_write_inode(fs->ext2, ino, &inode);
	return code ? e2_errno(code) : e2_touch_dir(fs, dir);
}

static int stop_at_entry(ext2_ino_t dir, int entry, struct ext2_dir_entry *dirent, int offset,
			 int blocksize, char *buf, void *found)
{
	(void)dir;
	(void)dirent;
	(void)offset;
	(void)blocksize;
	(void)buf;
	*(bool *)found |= entry == DIRENT_OTHER_FILE;
	return *(bool *)found ? DIRENT_ABORT : 0;
}

static int check_empty(struct as_fs *fs, ext2_ino_t dir)
{
	bool found = false;
	errcode_t code = ext2fs_dir_iterate2(fs->ext2, dir, 0, NULL, stop_at_entry, &found);

	return code ? e2_errno(code) : found ? -ENOTEMPTY : 0;
}

/* Takes the name away, and with it the inode if that was the last. */
static int remove_name(struct as_fs *fs, ext2_ino_t dir, const char *name, ext2_ino_t ino,
		       bool is_dir)
{
	int rc = e2_errno(ext2fs_unlink(fs->ext2, dir, name, ino, 0));

	if (!rc)
		rc = e2_touch_dir(fs, dir);
	if (!rc)
		rc = e2_put_link(fs, ino);
	if (!rc && is_dir)
		rc = change_links(fs, dir, -1);
	return rc;
}

static int remove_at(struct as_fs *fs, const char *path, bool is_dir)
{
	struct ext2_inode inode;
	ext2_ino_t dir, ino;
	const char *name;
	int rc = fs->readonly ? -EROFS : e2_parent(fs, path, &dir, &name);

	if (!rc && !*name)
		rc = is_dir ? -EBUSY : -EISDIR;
	if (!rc)
		rc = e2_lookup(fs, path, &ino, &inode);
	if (!rc && is_dir != !!LINUX_S_ISDIR(inode.i_mode))
		rc = is_dir ? -ENOTDIR : -EISDIR;
	if (!rc && is_dir)
		rc = check_empty(fs, ino);
	return rc ? rc : remove_name(fs, dir, name, ino, is_dir);
}

int e2_rmdir(struct as_fs *fs, const char *path)
{
	return remove_at(fs, path, true);
}

int e2_unlink(struct as_fs *fs, const char *path)
{
	return remove_at(fs, path, false);
}

/* The checks of a rename that are the file system's. */
static int check_rename(struct as_fs *fs, const char *from, const char *to, ext2_ino_t from_ino,
			bool from_dir, ext2_ino_t there)
{
	struct ext2_inode inode;
	size_t len = strlen(from);
	errcode_t code;

	if (from_dir && !strncmp(from, to, len) && to[len] == '/')
		return -EINVAL;
	/* Onto a directory that it is in, whatever it is. */
	len = strlen(to);
	if (!strncmp(from, to, len) && from[len] == '/')
		return -ENOTEMPTY;
	if (!there || there == from_ino)
		return 0;
	code = ext2fs_read_inode(fs->ext2, there, &inode);
	if (code)
		return e2_errno(code);
	if (from_dir != !!LINUX_S_ISDIR(inode.i_mode))
		return from_dir ? -ENOTDIR : -EISDIR;
	return from_dir ? check_empty(fs, there) : 0;
}

static int set_dotdot(ext2_ino_t dir, int entry, struct ext2_dir_entry *dirent, int offset,
		      int blocksize, char *buf, void *parent)
{
	(void)dir;
	(void)offset;
	(void)blocksize;
	(void)buf;
	if (entry != DIRENT_DOT_DOT_FILE)
		return 0;
	dirent->inode = *(ext2_ino_t *)parent;
	return DIRENT_CHANGED | DIRENT_ABORT;
}

static int move_dir(struct as_fs *fs, ext2_ino_t ino, ext2_ino_t from, ext2_ino_t to)
{
	int rc = e2_errno(ext2fs_dir_iterate2(fs->ext2, ino, DIRENT_FLAG_INCLUDE_EMPTY, NULL,
					      set_dotdot, &to));

	if (!rc)
		rc = change_links(fs, from, -1);
	return rc ? rc : change_links(fs, to, +1);
}

int e2_rename(struct as_fs *fs, const char *from, const char *to, unsigned flags)
{
	struct ext2_inode inode;
	ext2_ino_t from_parent, to_parent, ino, there = 0;
	const char *from_name, *to_name;
	bool is_dir;
	int rc = fs->readonly ? -EROFS : flags ? -EINVAL : 0;

	if (!rc)
		rc = e2_parent(fs, from, &from_parent, &from_name);
	if (!rc)
		rc = e2_lookup(fs, from, &ino, &inode);
	if (!rc)
		rc = e2_parent(fs, to, &to_parent, &to_name);
	if (!rc && (!*from_name || !*to_name))
		rc = -EBUSY;
	if (rc)
		return rc;
	is_dir = LINUX_S_ISDIR(inode.i_mode);
	rc = e2_name_in(fs, to_parent, to_name, &there);
	rc = rc == -ENOENT ? 0 : rc;
	if (!rc)
		rc = check_rename(fs, from, to, ino, is_dir, there);
	if (rc || there == ino)
		return rc;
	if (there)
		rc = remove_name(fs, to_parent, to_name, there, is_dir);
	if (!rc)
		rc = e2_add_name(fs, to_parent, to_name, ino, inode.i_mode);
	if (!rc)
		rc = e2_errno(ext2fs_unlink(fs->ext2, from_parent, from_name, ino, 0));
	if (!rc)
		rc = e2_touch_dir(fs, from_parent);
	if (!rc && is_dir && from_parent != to_parent)
		rc = move_dir(fs, ino, from_parent, to_parent);
	return rc;
}

struct listing {
	as_fill_fn fill;
	void *ctx;
	int rc;
};

static int list_entry(ext2_ino_t dir, int entry, struct ext2_dir_entry *dirent, int offset,
		      int blocksize, char *buf, void *ctx)
{
	static const uint32_t types[] = { 0,	   S_IFREG, S_IFDIR,  S_IFCHR,
					  S_IFBLK, S_IFIFO, S_IFSOCK, S_IFLNK };
	struct listing *l = ctx;
	char name[EXT2_NAME_LEN + 1];
	int len = ext2fs_dirent_name_len(dirent), type = ext2fs_dirent_file_type(dirent);

	(void)dir;
	(void)offset;
	(void)blocksize;
	(void)buf;
	if (entry != DIRENT_OTHER_FILE)
		return 0;
	memcpy(name, dirent->name, (size_t)len);
	name[len] = '\0';
	l->rc = l->fill(l->ctx, name, dirent->inode, type < 8 ? types[type] : 0);
	return l->rc ? DIRENT_ABORT : 0;
}

int e2_readdir(struct as_fs *fs, const char *path, as_fill_fn fill, void *ctx)
{
	struct listing l = { fill, ctx, 0 };
	struct ext2_inode inode;
	ext2_ino_t ino;
	int rc = e2_lookup(fs, path, &ino, &inode);

	if (!rc && !LINUX_S_ISDIR(inode.i_mode))
		rc = -ENOTDIR;
	if (!rc)
		rc = e2_errno(ext2fs_dir_iterate2(fs->ext2, ino, 0, NULL, list_entry, &l));
	return rc ? rc : l.rc;
}

/* ---- Links ----------------------------------------------------------------------------------- */

int e2_link(struct as_fs *fs, const char *from, const char *to)
{
	struct ext2_inode inode;
	ext2_ino_t ino, dir;
	const char *name;
	int rc = e2_lookup(fs, from, &ino, &inode);

	if (!rc)
		rc = new_place(fs, to, &dir, &name);
	if (!rc && LINUX_S_ISDIR(inode.i_mode))
		rc = -EPERM;
	if (!rc && inode.i_links_count >= 65000)
		rc = -EMLINK;
	if (!rc)
		rc = e2_add_name(fs, dir, name, ino, inode.i_mode);
	if (rc)
		return rc;
	inode.i_links_count++;
	e2_touch(fs, &inode, 0);
	return e2_errno(ext2fs_write_inode(fs->ext2, ino, &inode));
}

int e2_symlink(struct as_fs *fs, const char *text, const char *path)
{
	struct ext2_inode inode;
	const char *name;
	ext2_ino_t dir, ino;
	errcode_t code;
	int rc = new_place(fs, path, &dir, &name);

	/* The library says that the argument is not valid. */
	if (!rc && strlen(text) > E2_SYMLINK_MAX)
		rc = -ENAMETOOLONG;
	if (rc)
		return rc;
	code = ext2fs_symlink(fs->ext2, dir, 0, name, text);
	if (code == EXT2_ET_DIR_NO_SPACE) {
		code = ext2fs_expand_dir(fs->ext2, dir);
		if (!code)
			code = ext2fs_symlink(fs->ext2, dir, 0, name, text);
	}
	if (!code)
		code = ext2fs_lookup(fs->ext2, dir, name, (int)strlen(name), NULL, &ino);
	if (!code)
		code = ext2fs_read_inode(fs->ext2, ino, &inode);
	if (!code)
		code = e2_inherit(fs, dir, &inode);
	if (!code)
		code = ext2fs_write_inode(fs->ext2, ino, &inode);
	return code ? e2_errno(code) : e2_touch_dir(fs, dir);
}

int64_t e2_readlink(struct as_fs *fs, const char *path, char *buf, size_t len)
{
	struct ext2_inode inode;
	ext2_ino_t ino;
	ext2_file_t file;
	unsigned got = 0;
	errcode_t code;
	int rc = e2_lookup(fs, path, &ino, &inode);

	if (!rc && !LINUX_S_ISLNK(inode.i_mode))
		rc = -EINVAL;
	if (rc)
		return rc;
	if (ext2fs_is_fast_symlink(&inode)) {
		got = inode.i_size < len ? inode.i_size : (unsigned)len;
		memcpy(buf, inode.i_block, got);
		return got;
	}
	code = ext2fs_file_open(fs->ext2, ino, 0, &file);
	if (code)
		return e2_errno(code);
	code = ext2fs_file_read(file, buf, (unsigned)len, &got);
	(void)ext2fs_file_close(file);
	return code ? e2_errno(code) : (int64_t)got;
}
