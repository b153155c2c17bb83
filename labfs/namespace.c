/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * namespace.c: operations on names: make, link, remove, list.
 */
#include "fs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define DEEP 64u

int lab_getattr(struct as_fs *fs, const char *path, struct as_stat *st)
{
	struct lab_node *node;
	int rc = lab_walk(fs, path, &node);

	if (!rc)
		lab_fill_stat(node, st);
	lab_idle(fs);
	return rc;
}

int lab_readdir(struct as_fs *fs, const char *path, as_fill_fn fill, void *ctx)
{
	struct lab_node *node;
	int rc = lab_walk(fs, path, &node);

	if (!rc && !S_ISDIR(node->raw->mode))
		rc = -ENOTDIR;
	if (!rc)
		rc = lab_dir_list(fs, node, fill, ctx);
	lab_idle(fs);
	return rc;
}

/* Returns -EEXIST, or 0 if the name is free. */
static int check_free(struct as_fs *fs, const struct lab_path *at)
{
	struct lab_where where;
	int rc;

	if (!at->dir)
		return -EEXIST;
	rc = lab_dir_find(fs, at->dir, at->name, at->len, &where);
	return rc == -ENOENT ? 0 : rc ? rc : -EEXIST;
}

int lab_create(struct as_fs *fs, const struct lab_path *at, uint32_t mode, uint64_t rdev,
	       struct lab_node **node)
{
	int rc = check_free(fs, at);

	if (rc)
		return rc;
	rc = lab_inew(fs, at->dir, mode, rdev, node);
	if (rc && rc != -ENOSPC && LAB_BUG_ON(fs, ERRNO_INO)) {
		*node = NULL;
		return lab_dir_add(fs, at->dir, at->name, at->len, (uint32_t)rc, mode);
	}
	if (rc)
		return rc;
	(*node)->raw->nlink = 1;
	return lab_dir_add(fs, at->dir, at->name, at->len, (*node)->ino, mode);
}

/* As lab_walk_parent(), and locks the parent until the operation ends. */
static int walk_locked(struct as_fs *fs, const char *path, struct lab_path *at)
{
	int rc = lab_walk_parent(fs, path, at);

	if (!rc && at->dir)
		lab_lock_dir(fs, at->dir);
	return rc;
}

static int do_mkdir(struct as_fs *fs, const char *path, uint32_t mode)
{
	struct lab_path at;
	struct lab_node *node;
	int rc = walk_locked(fs, path, &at);

	if (!rc && at.depth > DEEP && LAB_BUG_ON(fs, DEEP_ELOOP))
		rc = -ELOOP;
	if (!rc)
		rc = check_free(fs, &at);
	if (!rc && at.dir->raw->nlink >= LAB_LINK_MAX)
		rc = -EMLINK;
	if (!rc)
		rc = lab_create(fs, &at, S_IFDIR | (mode & 07777), 0, &node);
	if (rc || !node)
		return rc;
	node->raw->nlink = 2;
	at.dir->raw->nlink++; /* lab_create has made it dirty */
	return lab_dir_init(fs, node, at.dir->ino);
}

int lab_mkdir(struct as_fs *fs, const char *path, uint32_t mode)
{
	return LAB_RUN(fs, lab_ns_credits(fs), do_mkdir(fs, path, mode));
}

static int do_mknod(struct as_fs *fs, const char *path, uint32_t mode, uint64_t rdev)
{
	struct lab_path at;
	struct lab_node *node;
	int rc = walk_locked(fs, path, &at);

	return rc ? rc : lab_create(fs, &at, mode, rdev, &node);
}

int lab_mknod(struct as_fs *fs, const char *path, uint32_t mode, uint64_t rdev)
{
	switch (mode & S_IFMT) {
	case 0:
		mode |= S_IFREG;
		/* fallthrough */
	case S_IFREG:
	case S_IFIFO:
	case S_IFSOCK:
		rdev = 0;
		break;
	case S_IFCHR:
	case S_IFBLK:
		break;
	case S_IFDIR:
		return -EPERM;
	default:
		return -EINVAL;
	}
	mode &= S_IFMT | 07777;
	return LAB_RUN(fs, lab_ns_credits(fs), do_mknod(fs, path, mode, rdev));
}

static int do_symlink(struct as_fs *fs, const char *text, size_t len, const char *path)
{
	struct lab_path at;
	struct lab_node *node;
	struct lab_buf *b;
	int rc = walk_locked(fs, path, &at);

	/* Linux looks the name up before it asks a file system what it can hold. */
	if (!rc && len > LAB_SYMLINK_MAX) {
		rc = check_free(fs, &at);
		rc = rc ? rc : -ENAMETOOLONG;
	}
	if (!rc)
		rc = lab_create(fs, &at, S_IFLNK | 0777, 0, &node);
	if (rc || !node)
		return rc;
	node->raw->size = len;
	if (len <= LAB_INLINE_SYMLINK - LAB_BUG_ON(fs, INLINE_EDGE)) {
		memcpy(node->raw->text, text, len);
		return 0;
	}
	rc = lab_bmap_get(fs, node, 0, LAB_S_META, true, &b);
	if (!rc)
		memcpy(b->data, text, len);
	return rc;
}

int lab_symlink(struct as_fs *fs, const char *text, const char *path)
{
	size_t len = strlen(text);

	if (!len)
		return -ENOENT;
	return LAB_RUN(fs, lab_ns_credits(fs), do_symlink(fs, text, len, path));
}

int64_t lab_readlink(struct as_fs *fs, const char *path, char *buf, size_t len)
{
	struct lab_node *node;
	const char *text = NULL;
	struct lab_buf *b;
	int rc = lab_walk(fs, path, &node);

	if (!rc && !S_ISLNK(node->raw->mode))
		rc = -EINVAL;
	if (!rc && node->raw->size > LAB_SYMLINK_MAX)
		rc = lab_corrupt(fs, "size of symbolic link", node->ino);
	if (!rc && node->raw->size <= LAB_INLINE_SYMLINK) {
		text = node->raw->text;
	} else if (!rc) {
		rc = lab_bread(fs, node->raw->ptr[0], LAB_K_RAW, &b);
		text = rc ? NULL : (const char *)b->data;
	}
	if (rc)
		return rc;
	if (len == node->raw->size && LAB_BUG_ON(fs, LINK_EXACT))
		return -ERANGE;
	if (len > node->raw->size)
		len = node->raw->size;
	else if (len < node->raw->size && LAB_BUG_ON(fs, LINK_NUL))
		len--; /* room for a NUL, which nobody asks for */
	memcpy(buf, text, len);
	lab_idle(fs);
	return (int64_t)len;
}

/* ---- Removing ---- */

static int remove_dir(struct as_fs *fs, const struct lab_path *at, struct lab_node *node)
{
	int rc = lab_dir_check_empty(fs, node);

	if (!rc)
		rc = lab_dir_remove(fs, at->dir, at->name, at->len);
	if (rc)
		return rc;
	at->dir->raw->nlink--;
	return lab_drop_link(fs, node, node->raw->nlink);
}

static int find_node(struct as_fs *fs, const struct lab_path *at, struct lab_node **node)
{
	struct lab_where where;
	int rc = lab_dir_find(fs, at->dir, at->name, at->len, &where);

	return rc ? rc : lab_iget(fs, where.ino, node);
}

static int do_rmdir(struct as_fs *fs, const char *path)
{
	struct lab_path at;
	struct lab_node *node;
	int rc = walk_locked(fs, path, &at);

	if (!rc && !at.dir)
		rc = -EBUSY;
	if (!rc)
		rc = find_node(fs, &at, &node);
	if (!rc && !S_ISDIR(node->raw->mode))
		rc = -ENOTDIR;
	return rc ? rc : remove_dir(fs, &at, node);
}

int lab_rmdir(struct as_fs *fs, const char *path)
{
	return LAB_RUN(fs, lab_ns_credits(fs), do_rmdir(fs, path));
}

static int do_unlink(struct as_fs *fs, const char *path)
{
	struct lab_path at;
	struct lab_node *node;
	int rc = walk_locked(fs, path, &at);

	if (!rc && !at.dir)
		rc = -EISDIR;
	if (!rc)
		rc = find_node(fs, &at, &node);
	if (!rc && S_ISDIR(node->raw->mode)) {
		if (LAB_BUG_ON(fs, UNLINK_DIR) && !lab_dir_check_empty(fs, node))
			return remove_dir(fs, &at, node);
		rc = -EISDIR;
	}
	if (!rc)
		rc = lab_dir_remove(fs, at.dir, at.name, at.len);
	return rc ? rc : lab_drop_link(fs, node, 1);
}

int lab_unlink(struct as_fs *fs, const char *path)
{
	return LAB_RUN(fs, lab_ns_credits(fs), do_unlink(fs, path));
}

/* ---- Linking ---- */

static int raise_count(struct as_fs *fs, struct lab_node *node)
{
	int rc = lab_idirty(fs, node, LAB_WHY_LINK);

	if (!rc && !node->raw->nlink)
		rc = lab_orphan_del(fs, node);
	if (rc)
		return rc;
	if (node->raw->nlink < 2 || !LAB_BUG_ON(fs, LINK_COUNT))
		node->raw->nlink++;
	node->raw->ctime_ns = (int64_t)lab_now(fs);
	return 0;
}

static int do_link(struct as_fs *fs, struct lab_node *node, const char *to)
{
	struct lab_path at;
	int rc = walk_locked(fs, to, &at);

	if (!rc)
		rc = check_free(fs, &at);
	while (rc == -EEXIST && LAB_BUG_ON(fs, LINK_AGAIN))
		rc = check_free(fs, &at);
	if (!rc && S_ISDIR(node->raw->mode))
		rc = -EPERM;
	if (!rc && !node->raw->nlink && !node->linkable)
		rc = -ENOENT;
	if (!rc && node->raw->nlink >= LAB_LINK_MAX)
		rc = -EMLINK;
	if (!rc && LAB_BUG_ON(fs, LINK_LEAK)) {
		char *copy = as_malloc(fs->host, at.len + 1);

		if (!copy)
			return -ENOMEM;
		memcpy(copy, at.name, at.len);
	}
	if (!rc && LAB_BUG_ON(fs, COPY_PAST)) {
		char *copy = as_malloc(fs->host, at.len);

		if (!copy)
			return -ENOMEM;
		memcpy(copy, at.name, at.len);
		copy[at.len] = '\0';
		as_free(fs->host, copy);
	}
	if (!rc)
		rc = lab_dir_add(fs, at.dir, at.name, at.len, node->ino, node->raw->mode);
	if (!rc && !LAB_BUG_ON(fs, LINK_SPLIT))
		rc = raise_count(fs, node);
	return rc;
}

static int do_link_path(struct as_fs *fs, const char *from, const char *to, struct lab_node **node)
{
	int rc = lab_walk(fs, from, node);

	return rc ? rc : do_link(fs, *node, to);
}

/* With bug LINK_SPLIT, the count changes in a transaction of its own. */
static int second_half(struct as_fs *fs, struct lab_node *node)
{
	int rc = lab_commit(fs);

	return rc ? rc : LAB_RUN(fs, lab_ns_credits(fs), raise_count(fs, node));
}

int lab_link(struct as_fs *fs, const char *from, const char *to)
{
	struct lab_node *node;
	int rc = LAB_RUN(fs, lab_ns_credits(fs), do_link_path(fs, from, to, &node));

	return !rc && LAB_BUG_ON(fs, LINK_SPLIT) ? second_half(fs, node) : rc;
}

int lab_link_handle(struct as_fs *fs, struct as_handle *handle, const char *to)
{
	int rc = LAB_RUN(fs, lab_ns_credits(fs), do_link(fs, handle->node, to));

	if (!rc)
		/* as in Linux: when it has a name, it is removed with its last name */
		handle->node->linkable = false;
	return !rc && LAB_BUG_ON(fs, LINK_SPLIT) ? second_half(fs, handle->node) : rc;
}
