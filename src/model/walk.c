/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk: path resolution. Follows path_resolution(7) and, where that is silent about order, Linux's
 * link_path_walk(), walk_component(), pick_link() and filename_create() in fs/namei.c.
 */
#include "model/walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One name in one directory. A removed directory (nlink 0) has none: namei.c, __lookup_slow()
 * answers ENOENT for IS_DEADDIR before the file system sees the name; the file system then refuses
 * names over its limit (path_resolution(7), ENAMETOOLONG). */
static int look(const struct as_model *m, uint32_t dir, const char *s, size_t len, uint32_t *ino)
{
	const struct as_inode *inode = inode_at(m, dir);
	const struct as_entry *entry;

	*ino = 0;
	if (inode->nlink == 0)
		return ENOENT;
	if (len > m->traits->name_max)
		return ENAMETOOLONG;
	entry = as_entries_find(inode->dir.entries, s, len);
	if (entry)
		*ino = entry->ino;
	return 0;
}

/* ".." of the root is the root; a removed directory keeps its parent while someone stands in it
 * (the dentry's d_parent). */
static uint32_t parent_of(const struct as_model *m, uint32_t dir)
{
	return dir == MODEL_ROOT ? MODEL_ROOT : inode_at(m, dir)->link.parent;
}

static enum as_walk_last kind_of(const char *s, size_t len)
{
	if (len == 1 && s[0] == '.')
		return LAST_DOT;
	if (len == 2 && s[0] == '.' && s[1] == '.')
		return LAST_DOTDOT;
	return LAST_NAME;
}

/* Where the component leads, links followed or not. */
static int take(const struct as_model *m, uint32_t dir, const char *s, size_t len, bool follow,
		unsigned *links, uint32_t *ino)
{
	const struct as_inode *inode;
	struct as_walk w;
	int err;

	switch (kind_of(s, len)) {
	case LAST_DOT:
		*ino = dir;
		return 0;
	case LAST_DOTDOT:
		*ino = parent_of(m, dir);
		return 0;
	default:
		break;
	}
	err = look(m, dir, s, len, ino);
	if (err)
		return err;
	if (!*ino)
		return ENOENT;
	inode = inode_at(m, *ino);
	if (!follow || !S_ISLNK(inode->mode))
		return 0;
	/* path_resolution(7): at most 40 links in one resolution, then ELOOP. */
	if ((*links)++ >= MODEL_SYMLINKS_MAX)
		return ELOOP;
	w = as_walk_from(m, dir, inode->text->s, WALK_FOLLOW, links);
	*ino = w.ino;
	return w.err;
}

struct as_walk as_walk_from(const struct as_model *m, uint32_t dir, const char *path,
			    enum as_walk_how how, unsigned *links)
{
	struct as_walk w = { .parent = *path == '/' ? MODEL_ROOT : dir };
	const char *p = path;

	while (*p == '/')
		p++;
	if (!*p) {
		w.type = LAST_ROOT;
		w.ino = w.parent;
		w.slash = true;
		return w;
	}
	for (;;) {
		const char *s = p;
		bool last;

		/* A component is only looked for in a directory: ENOTDIR otherwise. */
		if (!is_dir(inode_at(m, w.parent))) {
			w.err = ENOTDIR;
			return w;
		}
		p = strchrnul(p, '/');
		w.last = s;
		w.last_len = (size_t)(p - s);
		w.slash = *p == '/';
		while (*p == '/')
			p++;
		last = !*p;
		if (last)
			break;
		w.err = take(m, w.parent, s, w.last_len, true, links, &w.parent);
		if (w.err)
			return w;
	}
	w.type = kind_of(w.last, w.last_len);
	if (how == WALK_PARENT)
		return w;
	/* A trailing slash follows a link and wants a directory: path_resolution(7). */
	w.err = take(m, w.parent, w.last, w.last_len, how == WALK_FOLLOW || w.slash, links, &w.ino);
	if (!w.err && w.slash && !is_dir(inode_at(m, w.ino)))
		w.err = ENOTDIR;
	if (w.err)
		w.ino = 0;
	return w;
}

/* See walk.h. False: an ordinary path, if a strange one. */
static bool from_pin(const struct as_model *m, const char *path, enum as_walk_how how,
		     struct as_walk *w)
{
	char *end;
	unsigned long slot = strtoul(path + 1, &end, 10);
	unsigned links = 0;
	const struct as_file *file;

	if (slot < WALK_PIN_SLOT || slot > INT32_MAX || (*end && *end != '/'))
		return false;
	file = as_file_at(m, (int32_t)slot);
	if (!file)
		return false;
	*w = (struct as_walk){ .parent = file->ino, .ino = file->ino, .type = LAST_ROOT };
	if (*end)
		*w = as_walk_from(m, file->ino, end + 1, how, &links);
	return true;
}

struct as_walk as_walk_path(const struct as_model *m, const char *path, enum as_walk_how how)
{
	unsigned links = 0;
	struct as_walk w;

	if (*path == WALK_PIN && from_pin(m, path, how, &w))
		return w;

	/* getname(): "" is ENOENT, PATH_MAX bytes without the NUL are ENAMETOOLONG; before anything
	 * else. */
	if (!*path)
		return (struct as_walk){ .err = ENOENT };
	if (strnlen(path, MODEL_PATH_MAX) == MODEL_PATH_MAX)
		return (struct as_walk){ .err = ENAMETOOLONG };
	return as_walk_from(m, m->cwd, path, how, &links);
}

void as_walk_last(const struct as_model *m, struct as_walk *w)
{
	w->err = look(m, w->parent, w->last, w->last_len, &w->ino);
}

bool as_walk_is_above(const struct as_model *m, uint32_t dir, uint32_t ino)
{
	while (ino != dir && ino != MODEL_ROOT)
		ino = parent_of(m, ino);
	return ino == dir;
}
