/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * path.c: from a path to its inode. Paths are absolute and normal (target.h, rule 5).
 *
 * The directory found last is remembered by its path, so that many calls in one directory, or ever
 * deeper, do not walk from the root each time. It is forgotten (lab_walk_forget) when a directory
 * may have lost its name or got another one.
 */
#include "fs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static int step(struct as_fs *fs, struct lab_node **dir, const char *name, size_t len)
{
	struct lab_where where;
	int rc;

	if (!S_ISDIR((*dir)->raw->mode))
		return -ENOTDIR;
	rc = lab_dir_find(fs, *dir, name, len, &where);
	return rc ? rc : lab_iget(fs, where.ino, dir);
}

/* Where the walk starts: at the directory that was found last if the path leads through it. */
static int start(struct as_fs *fs, const char *path, struct lab_node **dir, const char **name,
		 unsigned *depth)
{
	size_t len = fs->walked_len;

	if (len && !strncmp(path, fs->walked, len) && path[len] == '/') {
		*name = path + len + 1;
		*depth = fs->walked_depth;
		return lab_iget(fs, fs->walked_ino, dir);
	}
	*name = path + 1;
	*depth = 0;
	return lab_iget(fs, LAB_ROOT_INO, dir);
}

/* Remembers the parent. If there is no memory for it, the next walk is only longer. */
static void remember(struct as_fs *fs, const char *path, const struct lab_path *at)
{
	size_t len = (size_t)(at->name - path) - 1;

	if (!len || (len == fs->walked_len && !memcmp(fs->walked, path, len)))
		return;
	if (len > fs->walked_cap) {
		size_t cap = len * 2 + 64;
		char *more = as_malloc(fs->host, cap);

		if (!more) {
			as_forgive(fs->host);
			return;
		}
		as_free(fs->host, fs->walked);
		fs->walked = more;
		fs->walked_cap = cap;
	}
	memcpy(fs->walked, path, len);
	fs->walked_len = len;
	fs->walked_ino = at->dir->ino;
	fs->walked_depth = at->depth - 1;
}

/* With bug WALK_STACK: how many parts a path has. */
static __attribute__((noinline)) unsigned count_parts(const char *path)
{
	volatile char part[4096];
	size_t len = strcspn(path + 1, "/");
	unsigned more = 0;

	for (size_t i = 0; i < len && i < sizeof(part); i++)
		part[i] = path[1 + i];
	if (len && path[1 + len])
		more = count_parts(path + 1 + len);
	return len ? more + (part[0] != '\0') : more;
}

int lab_walk_parent(struct as_fs *fs, const char *path, struct lab_path *at)
{
	struct lab_node *dir;
	const char *name;
	int rc;

	memset(at, 0, sizeof(*at));
	if (path[0] != '/')
		return -EINVAL;
	if (!path[1] || (LAB_BUG_ON(fs, WALK_STACK) && !count_parts(path)))
		return 0;
	rc = start(fs, path, &dir, &name, &at->depth);
	while (!rc) {
		const char *end = strchrnul(name, '/');

		at->depth++;
		if (!*end) {
			at->dir = dir;
			at->name = name;
			at->len = (size_t)(end - name);
			break;
		}
		rc = step(fs, &dir, name, (size_t)(end - name));
		name = end + 1;
	}
	if (rc)
		return rc;
	if (!S_ISDIR(dir->raw->mode))
		return -ENOTDIR;
	remember(fs, path, at);
	return 0;
}

int lab_walk(struct as_fs *fs, const char *path, struct lab_node **node)
{
	struct lab_path at;
	int rc = lab_walk_parent(fs, path, &at);

	if (rc)
		return rc;
	if (!at.dir)
		return lab_iget(fs, LAB_ROOT_INO, node);
	*node = at.dir;
	return step(fs, node, at.name, at.len);
}
