/* SPDX-License-Identifier: MIT */
/* files: opening, reading and writing, attributes. A file is opened by libext2fs for each call, so
 * that two handles see the same file: an ext2_file_t has a buffer of its own. */
#include "ext2lib.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define READ_MAX ((size_t)1 << 30)

/* ---- Handles --------------------------------------------------------------------------------- */

static int set_size(struct as_fs *fs, ext2_ino_t ino, uint64_t size)
{
	ext2_file_t file;
	errcode_t code = ext2fs_file_open(fs->ext2, ino, EXT2_FILE_WRITE, &file), closed;

	if (code)
		return e2_errno(code);
	code = ext2fs_file_set_size2(file, (ext2_off64_t)size);
	closed = ext2fs_file_close(file);
	return e2_errno(code ? code : closed);
}

static int touch(struct as_fs *fs, ext2_ino_t ino, unsigned which)
{
	struct ext2_inode inode;
	errcode_t code = ext2fs_read_inode(fs->ext2, ino, &inode);

	if (code)
		return e2_errno(code);
	e2_touch(fs, &inode, which);
	return e2_errno(ext2fs_write_inode(fs->ext2, ino, &inode));
}

static int create(struct as_fs *fs, const char *path, uint32_t mode, ext2_ino_t *ino)
{
	const char *name;
	ext2_ino_t dir;
	int rc = fs->readonly ? -EROFS : e2_parent(fs, path, &dir, &name);

	if (!rc)
		rc = e2_new_inode(fs, dir, S_IFREG | mode, ino);
	if (rc)
		return rc;
	rc = e2_add_name(fs, dir, name, *ino, S_IFREG);
	if (rc)
		(void)e2_put_link(fs, *ino);
	return rc;
}

int e2_open(struct as_fs *fs, const char *path, unsigned flags, uint32_t mode,
	    struct as_handle **handle)
{
	struct ext2_inode inode = { .i_mode = 0 };
	struct as_handle *h;
	ext2_ino_t ino;
	int rc = e2_lookup(fs, path, &ino, &inode);

	if (rc == -ENOENT && flags & O_CREAT)
		rc = create(fs, path, mode, &ino);
	else if (!rc && flags & O_CREAT && flags & O_EXCL)
		rc = -EEXIST;
	else if (!rc && flags & O_DIRECTORY && !LINUX_S_ISDIR(inode.i_mode))
		rc = -ENOTDIR;
	else if (!rc && LINUX_S_ISDIR(inode.i_mode) && (flags & (O_ACCMODE | O_CREAT | O_TRUNC)))
		rc = -EISDIR;
	else if (!rc && flags & O_TRUNC && LINUX_S_ISREG(inode.i_mode)) {
		rc = fs->readonly ? -EROFS : set_size(fs, ino, 0);
		if (!rc)
			rc = touch(fs, ino, AS_SET_MTIME);
	}
	if (rc)
		return rc;
	h = as_malloc(fs->host, sizeof(*h));
	if (!h)
		return -ENOMEM;
	*h = (struct as_handle){ ino, flags, fs->open };
	*handle = fs->open = h;
	return 0;
}

int e2_close(struct as_fs *fs, struct as_handle *handle)
{
	struct as_handle **at = &fs->open;
	ext2_ino_t ino = handle->ino;

	while (*at != handle)
		at = &(*at)->next;
	*at = handle->next;
	as_free(fs->host, handle);
	return fs->readonly ? 0 : e2_free_unused(fs, ino);
}

/* ---- Data ------------------------------------------------------------------------------------ */

int64_t e2_read(struct as_fs *fs, struct as_handle *handle, void *buf, size_t len, uint64_t off)
{
	ext2_file_t file;
	unsigned got = 0;
	errcode_t code = ext2fs_file_open(fs->ext2, handle->ino, 0, &file);

	if (code)
		return e2_errno(code);
	code = ext2fs_file_llseek(file, off, EXT2_SEEK_SET, NULL);
	if (!code)
		code = ext2fs_file_read(file, buf, (unsigned)(len < READ_MAX ? len : READ_MAX),
					&got);
	(void)ext2fs_file_close(file);
	return code ? e2_errno(code) : (int64_t)got;
}

int64_t e2_write(struct as_fs *fs, struct as_handle *handle, const void *buf, size_t len,
		 uint64_t *off)
{
	struct ext2_inode inode;
	ext2_file_t file;
	unsigned done = 0;
	errcode_t code, closed;

	if (fs->readonly)
		return -EROFS;
	code = ext2fs_read_inode(fs->ext2, handle->ino, &inode);
	if (!code && handle->flags & O_APPEND)
		*off = EXT2_I_SIZE(&inode);
	/* The library would go on, to what it cannot address. */
	if (!code && len && *off >= E2_FILE_BYTES)
		return -EFBIG;
	if (!code && len > E2_FILE_BYTES - *off)
		len = (size_t)(E2_FILE_BYTES - *off);
	if (!code)
		code = ext2fs_file_open(fs->ext2, handle->ino, EXT2_FILE_WRITE, &file);
	if (code)
		return e2_errno(code);
	code = ext2fs_file_llseek(file, *off, EXT2_SEEK_SET, NULL);
	if (!code)
		code = ext2fs_file_write(file, buf, (unsigned)(len < READ_MAX ? len : READ_MAX),
					 &done);
	closed = ext2fs_file_close(file);
	*off += done;
	if (done) {
		int rc = touch(fs, handle->ino, AS_SET_MTIME);

		if (rc)
			return rc;
	}
	/* What was written is in the file, though closing it fails again for the rest. */
	if (code == EXT2_ET_BLOCK_ALLOC_FAIL && done)
		return done;
	return code || closed ? e2_errno(code ? code : closed) : (int64_t)done;
}

/* ---- Attributes ------------------------------------------------------------------------------ */

static int stat_inode(struct as_fs *fs, ext2_ino_t ino, struct as_stat *st)
{
	struct ext2_inode inode;
	errcode_t code = ext2fs_read_inode(fs->ext2, ino, &inode);

	if (code)
		return e2_errno(code);
	*st = (struct as_stat){ .ino = ino,
				.mode = inode.i_mode,
				.nlink = inode.i_links_count,
				.uid = inode_uid(inode),
				.gid = inode_gid(inode),
				.size = EXT2_I_SIZE(&inode),
				.blocks = ext2fs_get_stat_i_blocks(fs->ext2, &inode),
				.atime_ns = (int64_t)inode.i_atime * 1000000000,
				.mtime_ns = (int64_t)inode.i_mtime * 1000000000,
				.ctime_ns = (int64_t)inode.i_ctime * 1000000000 };
	return 0;
}

int e2_getattr(struct as_fs *fs, const char *path, struct as_stat *st)
{
	struct ext2_inode inode;
	ext2_ino_t ino;
	int rc = e2_lookup(fs, path, &ino, &inode);

	return rc ? rc : stat_inode(fs, ino, st);
}

int e2_fgetattr(struct as_fs *fs, struct as_handle *handle, struct as_stat *st)
{
	return stat_inode(fs, handle->ino, st);
}

static int set_inode(struct as_fs *fs, ext2_ino_t ino, const struct as_stat *st, unsigned set)
{
	struct ext2_inode inode;
	errcode_t code;
	int rc;

	if (fs->readonly)
		return -EROFS;
	code = ext2fs_read_inode(fs->ext2, ino, &inode);
	if (code)
		return e2_errno(code);
	if (set & AS_SET_SIZE) {
		if (LINUX_S_ISDIR(inode.i_mode))
			return -EISDIR;
		if (st->size > E2_FILE_BYTES)
			return -EFBIG;
		rc = set_size(fs, ino, st->size);
		if (rc)
			return rc;
		code = ext2fs_read_inode(fs->ext2, ino, &inode);
		if (code)
			return e2_errno(code);
	}
	if (set & AS_SET_MODE)
		inode.i_mode = (uint16_t)((inode.i_mode & S_IFMT) | (st->mode & 07777));
	if (set & AS_SET_UID) {
		inode.i_uid = (uint16_t)st->uid;
		ext2fs_set_i_uid_high(inode, (uint16_t)(st->uid >> 16));
	}
	if (set & AS_SET_GID) {
		inode.i_gid = (uint16_t)st->gid;
		ext2fs_set_i_gid_high(inode, (uint16_t)(st->gid >> 16));
	}
	e2_touch(fs, &inode, set & AS_SET_SIZE ? AS_SET_MTIME : 0);
	return e2_errno(ext2fs_write_inode(fs->ext2, ino, &inode));
}

int e2_setattr(struct as_fs *fs, const char *path, const struct as_stat *st, unsigned set)
{
	struct ext2_inode inode;
	ext2_ino_t ino;
	int rc = e2_lookup(fs, path, &ino, &inode);

	return rc ? rc : set_inode(fs, ino, st, set);
}

int e2_fsetattr(struct as_fs *fs, struct as_handle *handle, const struct as_stat *st, unsigned set)
{
	return set_inode(fs, handle->ino, st, set);
}

/* ---- Extended attributes --------------------------------------------------------------------- */

static int open_xattrs(struct as_fs *fs, const char *path, struct ext2_xattr_handle **xattrs)
{
	struct ext2_inode inode;
	ext2_ino_t ino;
	errcode_t code;
	int rc = e2_lookup(fs, path, &ino, &inode);

	*xattrs = NULL;
	if (rc)
		return rc;
	code = ext2fs_xattrs_open(fs->ext2, ino, xattrs);
	if (!code)
		code = ext2fs_xattrs_read(*xattrs);
	if (code && *xattrs)
		(void)ext2fs_xattrs_close(xattrs);
	return e2_errno(code);
}

static int touch_path(struct as_fs *fs, const char *path)
{
	struct ext2_inode inode;
	ext2_ino_t ino;
	int rc = e2_lookup(fs, path, &ino, &inode);

	return rc ? rc : touch(fs, ino, 0);
}

int64_t e2_getxattr(struct as_fs *fs, const char *path, const char *name, void *value, size_t len)
{
	struct ext2_xattr_handle *xattrs;
	void *got = NULL;
	size_t got_len = 0;
	int rc = open_xattrs(fs, path, &xattrs);

	if (rc)
		return rc;
	rc = e2_errno(ext2fs_xattr_get(xattrs, name, &got, &got_len));
	(void)ext2fs_xattrs_close(&xattrs);
	if (!rc && len && got_len > len)
		rc = -ERANGE;
	if (!rc && len)
		memcpy(value, got, got_len);
	ext2fs_free_mem(&got);
	return rc ? rc : (int64_t)got_len;
}

int e2_setxattr(struct as_fs *fs, const char *path, const char *name, const void *value, size_t len,
		unsigned flags)
{
	struct ext2_xattr_handle *xattrs;
	int64_t there = e2_getxattr(fs, path, name, NULL, 0);
	int rc, closed;

	if (fs->readonly)
		return -EROFS;
	if (there < 0 && there != -ENODATA)
		return (int)there;
	if (flags & XATTR_CREATE && there >= 0)
		return -EEXIST;
	if (flags & XATTR_REPLACE && there < 0)
		return -ENODATA;
	rc = open_xattrs(fs, path, &xattrs);
	if (rc)
		return rc;
	rc = e2_errno(ext2fs_xattr_set(xattrs, name, value, len));
	closed = e2_errno(ext2fs_xattrs_close(&xattrs));
	rc = rc ? rc : closed;
	return rc ? rc : touch_path(fs, path);
}

struct xattr_list {
	char *list;
	size_t len, used;
};

static int add_xattr(char *name, char *value, size_t value_len, void *ctx)
{
	struct xattr_list *l = ctx;
	size_t len = strlen(name) + 1;

	(void)value;
	(void)value_len;
	if (l->used + len <= l->len)
		memcpy(l->list + l->used, name, len);
	l->used += len;
	return 0;
}

int64_t e2_listxattr(struct as_fs *fs, const char *path, char *list, size_t len)
{
	struct xattr_list l = { list, len, 0 };
	struct ext2_xattr_handle *xattrs;
	int rc = open_xattrs(fs, path, &xattrs);

	if (rc)
		return rc;
	rc = e2_errno(ext2fs_xattrs_iterate(xattrs, add_xattr, &l));
	(void)ext2fs_xattrs_close(&xattrs);
	if (rc)
		return rc;
	return len && l.used > len ? -ERANGE : (int64_t)l.used;
}

int e2_removexattr(struct as_fs *fs, const char *path, const char *name)
{
	struct ext2_xattr_handle *xattrs;
	int64_t there = e2_getxattr(fs, path, name, NULL, 0);
	int rc, closed;

	if (fs->readonly)
		return -EROFS;
	if (there < 0)
		return (int)there;
	rc = open_xattrs(fs, path, &xattrs);
	if (rc)
		return rc;
	rc = e2_errno(ext2fs_xattr_remove(xattrs, name));
	closed = e2_errno(ext2fs_xattrs_close(&xattrs));
	rc = rc ? rc : closed;
	return rc ? rc : touch_path(fs, path);
}
