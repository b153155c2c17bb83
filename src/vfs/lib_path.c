/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lib_path: from what a workload wrote to the absolute, normal path that a library is given.
 *
 * Method. As Linux's link_path_walk() (fs/namei.c): component by component, each asked for with
 * getattr; what must be walked still is text. A link is walked by putting its text in front of the
 * rest, so there is no recursion; the 41st link of one walk is ELOOP (MAXSYMLINKS).
 *
 * The working directory is a path, kept true across renames. When it (or a directory above it that
 * was emptied) is removed, `gone` counts how many removed levels lie below the last one that is
 * still there: "." stays, ".." climbs, any name is ENOENT, as in a dead dentry.
 */
#include "vfs/lib_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *as_lib_place_path(const struct as_lib_place *p)
{
	return p->path.len ? p->path.data : "/";
}

void as_lib_place_free(struct as_lib_place *p)
{
	as_buf_free(&p->path);
}

static void cut(struct as_buf *path, size_t len)
{
	path->len = len;
	if (path->data)
		path->data[len] = '\0';
}

static void pop(struct as_lib_place *p)
{
	size_t len = p->path.len;

	if (p->gone) {
		p->gone--;
		return;
	}
	while (len && p->path.data[len - 1] != '/')
		len--;
	cut(&p->path, len ? len - 1 : 0);
}

/* The walk ended in a directory by ".", ".." or "/". */
static int end_in_dir(struct as_lib *l, enum as_lib_walk how, enum as_lib_last last,
		      struct as_lib_place *p)
{
	p->last = last;
	if (how == WALK_PARENT)
		return 0;
	p->there = true;
	if (!p->gone)
		return as_lib_getattr(l, as_lib_place_path(p), &p->st);
	/* A removed directory is reached through the handle that the working directory keeps. */
	if (p->gone == l->cwd.gone && l->cwd.handle)
		return l->ops->fgetattr(l->fs, l->cwd.handle, &p->st);
	return -AS_ERR_UNSUPPORTED;
}

/* Puts the text of the link at p->path in front of `rest`, into the buffer not in use. */
static int push_link(struct as_lib *l, struct as_lib_place *p, const char *rest, unsigned which,
		     const char **todo)
{
	struct as_buf *text = &l->todo[which];
	int64_t len;

	as_buf_clear(text);
	len = l->ops->readlink(l->fs, as_lib_place_path(p), as_buf_reserve(text, AS_VFS_PATH_MAX),
			       AS_VFS_PATH_MAX);
	if (len < 0)
		return (int)len;
	if (!len)
		return -ENOENT;
	text->len = (size_t)len < AS_VFS_PATH_MAX ? (size_t)len : AS_VFS_PATH_MAX - 1;
	text->data[text->len] = '\0';
	as_buf_adds(text, rest);
	*todo = text->data;
	pop(p);
	if (text->data[0] == '/')
		cut(&p->path, 0);
	return 0;
}

static bool wants_follow(enum as_lib_walk how, bool slash)
{
	return slash || how == WALK_FOLLOW || how == WALK_CREATE;
}

/* A component that is not "." or "..", already appended to p->path. Returns 1 when the walk ends
 * here, 0 when it goes on at *todo, or a negative errno. */
static int step(struct as_lib *l, enum as_lib_walk how, bool last, const char **todo,
		unsigned *links, struct as_lib_place *p)
{
	bool creates = how == WALK_CREATE || how == WALK_CREATE_NOFOLLOW;
	int rc;

	p->slash = last && **todo == '/';
	if (last && how == WALK_PARENT)
		return 1;
	/* open(2) with O_CREAT: fs/namei.c, open_last_lookups(). */
	if (last && creates && p->slash)
		return -EISDIR;
	rc = as_lib_getattr(l, as_lib_place_path(p), &p->st);
	if (rc == -ENOENT && last && creates)
		return 1;
	if (rc)
		return rc;
	if (S_ISLNK(p->st.mode) && (!last || wants_follow(how, p->slash))) {
		if ((*links)++ >= AS_VFS_SYMLINKS_MAX)
			return -ELOOP;
		return push_link(l, p, *todo, *links % 2, todo);
	}
	if (!S_ISDIR(p->st.mode) && (!last || p->slash))
		return -ENOTDIR;
	p->there = last;
	return last;
}

/* A name in a removed directory: nothing is there, but some errors come first. */
static int end_in_removed(enum as_lib_walk how, struct as_lib_place *p)
{
	bool creates = how == WALK_CREATE || how == WALK_CREATE_NOFOLLOW;

	p->last = LAST_NORM;
	if (how == WALK_PARENT)
		return 0;
	return creates && p->slash ? -EISDIR : -ENOENT;
}

static int walk_from(struct as_lib *l, const char *todo, enum as_lib_walk how,
		     struct as_lib_place *p)
{
	unsigned links = 0;
	int rc = 0;

	while (!rc) {
		size_t len;
		const char *name, *after;
		bool last;

		name = todo + strspn(todo, "/");
		if (!*name)
			return end_in_dir(l, how, LAST_ROOT, p);
		len = strcspn(name, "/");
		todo = name + len;
		after = todo + strspn(todo, "/");
		last = !*after;
		if (len == 1 && name[0] == '.') {
			if (last)
				return end_in_dir(l, how, LAST_DOT, p);
			continue;
		}
		if (len == 2 && name[0] == '.' && name[1] == '.') {
			pop(p);
			if (last)
				return end_in_dir(l, how, LAST_DOTDOT, p);
			continue;
		}
		if (p->gone) {
			p->slash = last && *todo == '/';
			return last ? end_in_removed(how, p) : -ENOENT;
		}
		if (len > l->args.name_max) {
			p->too_long = last && how == WALK_PARENT;
			return p->too_long ? 0 : -ENAMETOOLONG;
		}
		if (p->path.len + 1 + len > AS_VFS_DEEP_MAX_BYTES)
			return -AS_ERR_LIMIT;
		as_buf_addc(&p->path, '/');
		as_buf_add(&p->path, name, len);
		rc = step(l, how, last, &todo, &links, p);
	}
	p->last = LAST_NORM;
	return rc < 0 ? rc : 0;
}

int as_lib_walk(struct as_lib *l, const char *text, enum as_lib_walk how, struct as_lib_place *p)
{
	int rc = as_lib_walk_renamed(l, text, how, p);

	return !rc && p->too_long ? -ENAMETOOLONG : rc;
}

int as_lib_walk_renamed(struct as_lib *l, const char *text, enum as_lib_walk how,
			struct as_lib_place *p)
{
	*p = (struct as_lib_place){ 0 };
	if (!*text)
		return -ENOENT;
	if (strnlen(text, AS_VFS_PATH_MAX) >= AS_VFS_PATH_MAX)
		return -ENAMETOOLONG;
	if (*text != '/') {
		as_buf_add(&p->path, as_buf_str(&l->cwd.path), l->cwd.path.len);
		p->gone = l->cwd.gone;
	}
	return walk_from(l, text, how, p);
}

/* ---- What names become ----------------------------------------------------------------------- */

/* Whether path is `top` or lies below it. */
static bool below(const char *path, const char *top)
{
	size_t len = strlen(top);

	return !strncmp(path, top, len) && (!path[len] || path[len] == '/');
}

static void replace_top(struct as_buf *path, size_t top_len, const char *new_top)
{
	struct as_buf moved = { 0 };

	as_buf_adds(&moved, new_top);
	as_buf_adds(&moved, path->data + top_len);
	as_buf_free(path);
	*path = moved;
}

static void move_one(struct as_buf *path, const char *from, const char *to, bool exchange)
{
	const char *s = as_buf_str(path);

	if (below(s, from))
		replace_top(path, strlen(from), to);
	else if (exchange && below(s, to))
		replace_top(path, strlen(to), from);
}

void as_lib_track_removed(struct as_lib *l, const char *path)
{
	struct as_buf *cwd = &l->cwd.path;

	if (cwd->len && !strcmp(as_buf_str(cwd), path)) {
		cut(cwd, (size_t)(strrchr(cwd->data, '/') - cwd->data));
		l->cwd.gone++;
	}
	for (size_t i = 0; i < l->n_slots; i++) {
		struct as_lib_slot *slot = &l->slots[i];

		if (slot->used && slot->path && !strcmp(slot->path, path)) {
			free(slot->path);
			slot->path = NULL;
		}
	}
}

void as_lib_track_renamed(struct as_lib *l, const char *from, const char *to, bool exchange)
{
	if (!strcmp(from, to))
		return;
	if (!exchange)
		as_lib_track_removed(l, to);
	move_one(&l->cwd.path, from, to, exchange);
	for (size_t i = 0; i < l->n_slots; i++) {
		struct as_lib_slot *slot = &l->slots[i];
		struct as_buf path = { 0 };

		if (!slot->used || !slot->path)
			continue;
		as_buf_adds(&path, slot->path);
		move_one(&path, from, to, exchange);
		free(slot->path);
		slot->path = as_xstrdup(as_buf_str(&path));
		as_buf_free(&path);
	}
}

void as_lib_cwd_reset(struct as_lib *l)
{
	if (l->cwd.handle)
		l->ops->close(l->fs, l->cwd.handle);
	l->cwd.handle = NULL;
	l->cwd.gone = 0;
	as_buf_clear(&l->cwd.path);
}

int as_lib_cwd_set(struct as_lib *l, const struct as_lib_place *p)
{
	struct as_handle *handle = NULL;
	int rc = 0;

	/* chdir(".") in a removed directory: it stays what it is. */
	if (p->gone)
		return p->gone == l->cwd.gone ? 0 : -AS_ERR_UNSUPPORTED;
	/* Linux keeps the directory alive under a process; so does an open handle, where the
	 * library can do that. */
	if (p->path.len && l->ops->caps & AS_CAP_OPEN_UNLINKED)
		rc = l->ops->open(l->fs, as_lib_place_path(p), O_RDONLY | O_DIRECTORY, 0, &handle);
	if (rc)
		return rc;
	as_lib_cwd_reset(l);
	l->cwd.handle = handle;
	as_buf_add(&l->cwd.path, as_buf_str(&p->path), p->path.len);
	return 0;
}
