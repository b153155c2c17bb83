/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * path.c: from a path to its inode. Paths are absolute and normal (target.h, rule 5).
 */
#include "fs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static int check_len(const struct as_fs *fs, size_t len)
{
	if (len > LAB_NAME_MAX - LAB_BUG_ON(fs, NAME_255))
		return -ENAMETOOLONG;
	return 0;
}

static int step(struct as_fs *fs, struct lab_node **dir, const char *name, size_t len)
{
	struct lab_where where;
	int rc;

	if (!S_ISDIR((*dir)->raw->mode))
		return -ENOTDIR;
	rc = check_len(fs, len);
	if (!rc)
		rc = lab_dir_find(fs, *dir, name, len, &where);
	return rc ? rc : lab_iget(fs, where.ino, dir);
}

int lab_walk_parent(struct as_fs *fs, const char *path, struct lab_path *at)
{
	struct lab_node *dir;
	const char *name = path + 1;
	int rc;

	memset(at, 0, sizeof(*at));
	if (path[0] != '/')
		return -EINVAL;
	if (!*name)
		return 0;
	rc = lab_iget(fs, LAB_ROOT_INO, &dir);
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
	return check_len(fs, at->len);
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
