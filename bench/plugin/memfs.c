/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memfs: a file system that does as little as it can for a call, as a plugin. bench_plugin.c hunts
 * it: what the hunt takes is then the time of assay, and not that of the file system.
 *
 * In memory: all nodes; a directory has a list of its entries. A sync writes all of it to the disk,
 * one node after the other, if something has changed. It is not meant for power cuts.
 */
#include "memfs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static int64_t now(struct as_fs *fs)
{
	fs->changed = true;
	return (int64_t)fs->host->now_ns(fs->host->ctx);
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

void mem_enter(struct node *dir, struct node *n, const char *name, size_t len)
{
	memcpy(n->name, name, len);
	n->name[len] = '\0';
	n->name_len = (uint32_t)len;
	n->parent = dir;
	n->next = dir->first;
	n->link = &dir->first;
	if (n->next)
		n->next->link = &n->next;
	dir->first = n;
	dir->subdirs += S_ISDIR(n->mode);
}

static void leave(struct node *n)
{
	*n->link = n->next;
	if (n->next)
		n->next->link = n->link;
	n->link = NULL;
	n->parent->subdirs -= S_ISDIR(n->mode);
}

void mem_free_node(struct as_fs *fs, struct node *n)
{
	fs->used -= bytes_of(n);
	as_free(fs->host, n->data);
	as_free(fs->host, n);
}

static void drop(struct as_fs *fs, struct node *n)
{
	leave(n);
	n->ctime_ns = now(fs);
	if (!n->opens)
		mem_free_node(fs, n);
}

struct place {
	struct node *dir, *node;
	const char *name;
	size_t len;
};

static int walk(struct as_fs *fs, const char *path, struct place *p)
{
	*p = (struct place){ .node = fs->root, .name = path + 1 };
	while (*p->name) {
		p->dir = p->node;
		if (!S_ISDIR(p->dir->mode))
			return -ENOTDIR;
		p->len = (size_t)(strchrnul(p->name, '/') - p->name);
		for (p->node = p->dir->first; p->node; p->node = p->node->next)
			if (p->node->name_len == p->len && !memcmp(p->node->name, p->name, p->len))
				break;
		if (!p->name[p->len])
			return 0;
		if (!p->node)
			return -ENOENT;
		p->name += p->len + 1;
	}
	return 0;
}

static int walk_to(struct as_fs *fs, const char *path, struct place *p)
{
	int rc = walk(fs, path, p);

	return !rc && !p->node ? -ENOENT : rc;
}

static bool has_room(const struct as_fs *fs, uint64_t more)
{
	return fs->used + more + SECTOR <= fs->bd->size_bytes;
}

static int make(struct as_fs *fs, struct place *p, uint32_t mode)
{
	struct node *n;

	if (p->node)
		return -EEXIST;
	if (fs->readonly)
		return -EROFS;
	if (!has_room(fs, sizeof(struct saved) + NAME_BYTES))
		return -ENOSPC;
	n = as_malloc(fs->host, sizeof(*n));
	if (!n)
		return -ENOMEM;
	n->mode = mode;
	if (p->dir->mode & S_ISGID) {
		n->gid = p->dir->gid;
		n->mode |= S_ISDIR(mode) ? S_ISGID : 0;
	}
	n->ino = fs->next_ino++;
	n->atime_ns = n->mtime_ns = n->ctime_ns = now(fs);
	fs->used += bytes_of(n);
	mem_enter(p->dir, n, p->name, p->len);
	p->node = n;
	return 0;
}

int mem_resize(struct as_fs *fs, struct node *n, uint64_t size)
{
	if (size > FILE_BYTES)
		return -EFBIG;
	if (size > n->size && !has_room(fs, size - n->size))
		return -ENOSPC;
	if (size > n->room) {
		size_t room = size < 512 ? 512 : 2 * (size_t)size;
		void *data = as_realloc(fs->host, n->data, (size_t)n->size, room);

		if (!data)
			return -ENOMEM;
		n->data = data;
		n->room = room;
	}
	if (size < n->size)
		memset(n->data + size, 0, (size_t)(n->size - size));
	fs->used = fs->used - n->size + size;
	n->size = size;
	return 0;
}

static int fs_statfs(struct as_fs *fs, struct as_statfs *st)
{
	uint64_t free_bytes = fs->bd->size_bytes - fs->used - SECTOR;

	*st = (struct as_statfs){ .block_bytes = SECTOR,
				  .name_max = NAME_BYTES,
				  .blocks = fs->bd->size_bytes / SECTOR,
				  .blocks_free = free_bytes / SECTOR };
	return 0;
}

/* ---- Attributes and names -------------------------------------------------------------------- */

static int stat_node(const struct node *n, struct as_stat *st)
{
	*st = (struct as_stat){ .ino = n->ino,
				.mode = n->mode,
				.nlink = n->parent && !n->link ? 0
					 : S_ISDIR(n->mode)    ? 2 + n->subdirs
							       : 1,
				.uid = n->uid,
				.gid = n->gid,
				.size = n->size,
				.atime_ns = n->atime_ns,
				.mtime_ns = n->mtime_ns,
				.ctime_ns = n->ctime_ns };
	return 0;
}

static int set_node(struct as_fs *fs, struct node *n, const struct as_stat *st, unsigned set)
{
	int rc = 0;

	if (fs->readonly)
		return -EROFS;
	if (set & AS_SET_SIZE)
		rc = S_ISDIR(n->mode) ? -EISDIR : mem_resize(fs, n, st->size);
	if (rc)
		return rc;
	n->ctime_ns = now(fs);
	if (set & AS_SET_SIZE)
		n->mtime_ns = n->ctime_ns;
	if (set & AS_SET_MODE)
		n->mode = (n->mode & S_IFMT) | (st->mode & 07777);
	if (set & AS_SET_UID)
		n->uid = st->uid;
	if (set & AS_SET_GID)
		n->gid = st->gid;
	if (set & AS_SET_ATIME)
		n->atime_ns = st->atime_ns;
	if (set & AS_SET_MTIME)
		n->mtime_ns = st->mtime_ns;
	return 0;
}

static int fs_getattr(struct as_fs *fs, const char *path, struct as_stat *st)
{
	struct place p;
	int rc = walk_to(fs, path, &p);

	return rc ? rc : stat_node(p.node, st);
}

static int fs_setattr(struct as_fs *fs, const char *path, const struct as_stat *st, unsigned set)
{
	struct place p;
	int rc = walk_to(fs, path, &p);

	return rc ? rc : set_node(fs, p.node, st, set);
}

static int fs_mkdir(struct as_fs *fs, const char *path, uint32_t mode)
{
	struct place p;
	int rc = walk(fs, path, &p);

	return rc ? rc : make(fs, &p, S_IFDIR | mode);
}

static int fs_remove(struct as_fs *fs, const char *path, bool dir)
{
	struct place p;
	int rc = walk_to(fs, path, &p);

	if (rc)
		return rc;
	if (fs->readonly)
		return -EROFS;
	if (dir != S_ISDIR(p.node->mode))
		return dir ? -ENOTDIR : -EISDIR;
	if (p.node == fs->root)
		return -EBUSY;
	if (p.node->first)
		return -ENOTEMPTY;
	drop(fs, p.node);
	return 0;
}

static int fs_rmdir(struct as_fs *fs, const char *path)
{
	return fs_remove(fs, path, true);
}

static int fs_unlink(struct as_fs *fs, const char *path)
{
	return fs_remove(fs, path, false);
}

static bool lies_below(const struct node *n, const struct node *top)
{
	for (; n; n = n->parent)
		if (n == top)
			return true;
	return false;
}

static int fs_rename(struct as_fs *fs, const char *from_path, const char *to_path, unsigned flags)
{
	struct place from, to;
	int rc = walk_to(fs, from_path, &from);

	if (!rc)
		rc = walk(fs, to_path, &to);
	if (rc || flags)
		return rc ? rc : -EINVAL;
	if (fs->readonly)
		return -EROFS;
	if (to.node == from.node)
		return 0;
	if (from.node == fs->root || to.node == fs->root)
		return -EBUSY;
	if (lies_below(to.dir, from.node))
		return -EINVAL;
	if (to.node && lies_below(from.dir, to.node))
		return -ENOTEMPTY;
	if (to.node && S_ISDIR(from.node->mode) != S_ISDIR(to.node->mode))
		return S_ISDIR(to.node->mode) ? -EISDIR : -ENOTDIR;
	if (to.node && to.node->first)
		return -ENOTEMPTY;
	if (to.node)
		drop(fs, to.node);
	leave(from.node);
	mem_enter(to.dir, from.node, to.name, to.len);
	from.node->ctime_ns = now(fs);
	return 0;
}

static int fs_readdir(struct as_fs *fs, const char *path, as_fill_fn fill, void *ctx)
{
	struct place p;
	int rc = walk_to(fs, path, &p);

	if (!rc && !S_ISDIR(p.node->mode))
		rc = -ENOTDIR;
	for (struct node *n = rc ? NULL : p.node->first; n && !rc; n = n->next)
		rc = fill(ctx, n->name, n->ino, n->mode & S_IFMT);
	return rc;
}

/* ---- Open files ------------------------------------------------------------------------------ */

static int may_open(const struct node *n, unsigned flags)
{
	bool dir = S_ISDIR(n->mode);

	if (flags & O_CREAT && flags & O_EXCL)
		return -EEXIST;
	if (flags & O_DIRECTORY && !dir)
		return -ENOTDIR;
	if (dir && (flags & (O_CREAT | O_TRUNC) || (flags & O_ACCMODE) != O_RDONLY))
		return -EISDIR;
	return 0;
}

static int fs_open(struct as_fs *fs, const char *path, unsigned flags, uint32_t mode,
		   struct as_handle **out)
{
	struct as_stat empty = { 0 };
	struct as_handle *handle;
	struct place p;
	int rc = walk(fs, path, &p);

	if (!rc && !p.node && !(flags & O_CREAT))
		rc = -ENOENT;
	if (!rc && p.node)
		rc = may_open(p.node, flags);
	if (rc)
		return rc;
	handle = as_malloc(fs->host, sizeof(*handle));
	if (!handle)
		return -ENOMEM;
	if (!p.node)
		rc = make(fs, &p, S_IFREG | mode);
	else if (flags & O_TRUNC)
		rc = set_node(fs, p.node, &empty, AS_SET_SIZE);
	if (rc) {
		as_free(fs->host, handle);
		return rc;
	}
	handle->node = p.node;
	handle->flags = flags;
	p.node->opens++;
	*out = handle;
	return 0;
}

static int fs_close(struct as_fs *fs, struct as_handle *handle)
{
	struct node *n = handle->node;

	as_free(fs->host, handle);
	if (!--n->opens && n->parent && !n->link)
		mem_free_node(fs, n);
	return 0;
}

static int64_t fs_read(struct as_fs *fs, struct as_handle *handle, void *buf, size_t len,
		       uint64_t off)
{
	const struct node *n = handle->node;

	(void)fs;
	if (S_ISDIR(n->mode))
		return -EISDIR;
	if (off >= n->size)
		return 0;
	if (len > n->size - off)
		len = (size_t)(n->size - off);
	memcpy(buf, n->data + off, len);
	return (int64_t)len;
}

static int64_t fs_write(struct as_fs *fs, struct as_handle *handle, const void *buf, size_t len,
			uint64_t *off)
{
	struct node *n = handle->node;
	uint64_t at = handle->flags & O_APPEND ? n->size : *off;
	int rc = 0;

	if (fs->readonly)
		return -EROFS;
	if (!len)
		return 0;
	if (at >= FILE_BYTES)
		return -EFBIG;
	if (len > FILE_BYTES - at)
		len = (size_t)(FILE_BYTES - at);
	if (at + len > n->size)
		rc = mem_resize(fs, n, at + len);
	if (rc)
		return rc;
	memcpy(n->data + at, buf, len);
	n->mtime_ns = n->ctime_ns = now(fs);
	*off = at + len;
	return (int64_t)len;
}

static int fs_fgetattr(struct as_fs *fs, struct as_handle *handle, struct as_stat *st)
{
	(void)fs;
	return stat_node(handle->node, st);
}

static int fs_fsetattr(struct as_fs *fs, struct as_handle *handle, const struct as_stat *st,
		       unsigned set)
{
	return set_node(fs, handle->node, st, set);
}

static int fs_fsync(struct as_fs *fs, struct as_handle *handle, bool data_only)
{
	(void)handle;
	(void)data_only;
	return mem_sync(fs);
}

static const struct as_limits limits = { .name_max = NAME_BYTES, .file_bytes = FILE_BYTES };

__attribute__((visibility("default"))) extern const struct as_target_ops as_target;
const struct as_target_ops as_target = {
	.api = AS_TARGET_API,
	.caps = AS_CAP_OWNER | AS_CAP_TIMES | AS_CAP_STATFS | AS_CAP_OPEN_UNLINKED,
	.name = "memfs",
	.version = "1",
	.min_bytes = 256 * 1024,
	.default_bytes = 4 * 1024 * 1024,
	.mkfs = mem_mkfs,
	.mount = mem_mount,
	.unmount = mem_unmount,
	.sync = mem_sync,
	.getattr = fs_getattr,
	.setattr = fs_setattr,
	.mkdir = fs_mkdir,
	.rmdir = fs_rmdir,
	.unlink = fs_unlink,
	.rename = fs_rename,
	.readdir = fs_readdir,
	.open = fs_open,
	.close = fs_close,
	.read = fs_read,
	.write = fs_write,
	.fgetattr = fs_fgetattr,
	.fsetattr = fs_fsetattr,
	.fsync = fs_fsync,
	.statfs = fs_statfs,
	.limits = &limits,
};
