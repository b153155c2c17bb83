/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lib_tree: operations that are many calls: readdir, remove, prune, deepen, enlarge. Their exact
 * order of calls is part of the workload format. Trees may be deeper than a stack of C functions
 * should be, so remove keeps its own.
 */
#include "vfs/lib_priv.h"

#include "base/array.h"
#include "base/hash.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct lib_tree_listing {
	struct as_host_mem *host;
	struct as_vfs_names *names;
	int rc;
};

/* A library may go on though it is told to stop. */
static int add_name(void *ctx, const char *name, uint64_t ino, uint32_t type_bits)
{
	struct lib_tree_listing *listing = ctx;

	(void)ino;
	if (!listing->rc && !name) {
		as_host_blame(listing->host, "readdir told of an entry without a name (NULL)");
		listing->rc = -EPROTO;
	}
	if (!listing->rc)
		listing->rc = as_vfs_names_add(listing->names, as_vfs_type_letter(type_bits), name);
	return listing->rc;
}

/* Without hard links, which such a library has not, a path is a file of its own. */
int as_lib_getattr(struct as_lib *l, const char *path, struct as_stat *st)
{
	int rc = l->ops->getattr(l->fs, path, st);

	if (!rc && l->args.semantics & AS_MEANS_NLINK_ANY && !S_ISDIR(st->mode))
		st->nlink = 1;
	if (!rc && l->args.semantics & AS_MEANS_INO_ANY)
		st->ino = as_hash64(path, strlen(path)) | 1;
	return rc;
}

int as_lib_fgetattr(struct as_lib *l, struct as_handle *handle, struct as_stat *st)
{
	int rc = l->ops->fgetattr(l->fs, handle, st);

	if (!rc && l->args.semantics & AS_MEANS_NLINK_ANY && !S_ISDIR(st->mode))
		st->nlink = 1;
	return rc;
}

int as_lib_list(struct as_lib *l, const char *path, struct as_vfs_names *names)
{
	struct lib_tree_listing listing = { l->args.host, names, 0 };
	int rc = l->ops->readdir(l->fs, path, add_name, &listing);

	as_vfs_names_sort(names);
	return listing.rc ? listing.rc : rc;
}

void as_lib_readdir(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_vfs_names names = { 0 };
	struct as_lib_place p;
	int rc = as_lib_walk(l, op->path, WALK_FOLLOW, &p);

	if (!rc && !S_ISDIR(p.st.mode))
		rc = -ENOTDIR;
	/* A removed directory can be opened, but not read: fs/readdir.c, iterate_dir(). */
	if (!rc && p.gone)
		rc = -ENOENT;
	if (!rc)
		rc = as_lib_list(l, as_lib_place_path(&p), &names);
	if (rc)
		as_vfs_answer(out, rc);
	else
		as_vfs_answer_names(&l->vfs, out, &names, true);
	as_vfs_names_free(&names);
	as_lib_place_free(&p);
}

/* ---- remove, prune --------------------------------------------------------------------------- */

struct lib_tree_level {
	struct as_vfs_names names;
	size_t next, path_len;
	uint64_t ino; /* 0: not known */
};

struct lib_tree_climb {
	struct lib_tree_level *levels;
	size_t n, cap;
	struct as_buf path;
};

/* A directory that is inside itself has no end. */
static int descend(struct as_lib *l, struct lib_tree_climb *c, uint64_t ino)
{
	struct lib_tree_level *level;

	for (size_t i = 0; ino && i < c->n; i++)
		if (c->levels[i].ino == ino)
			return -ELOOP;
	AS_ARRAY_ROOM(c->levels, c->n, c->cap);
	level = &c->levels[c->n++];
	*level = (struct lib_tree_level){ .path_len = c->path.len, .ino = ino };
	return as_lib_list(l, c->path.len ? c->path.data : "/", &level->names);
}

/* Removes the entry that `path` names; a directory is entered instead. 1: removed. */
static int remove_entry(struct as_lib *l, struct lib_tree_climb *c)
{
	struct as_stat st;
	int rc = as_lib_getattr(l, c->path.data, &st);

	if (rc)
		return rc;
	if (S_ISDIR(st.mode))
		return descend(l, c, st.ino);
	rc = l->ops->unlink(l->fs, c->path.data);
	if (!rc)
		as_lib_track_removed(l, c->path.data);
	return rc ? rc : 1;
}

static int leave_level(struct as_lib *l, struct lib_tree_climb *c)
{
	int rc = 0;

	as_vfs_names_free(&c->levels[--c->n].names);
	if (!c->n)
		return 0;
	rc = l->ops->rmdir(l->fs, c->path.data);
	if (!rc)
		as_lib_track_removed(l, c->path.data);
	return rc ? rc : 1;
}

/* Everything below the directory, depth first, in bytewise order. */
static int remove_below(struct as_lib *l, const char *dir, uint64_t *done)
{
	struct lib_tree_climb c = { 0 };
	int rc;

	if (strcmp(dir, "/"))
		as_buf_adds(&c.path, dir);
	rc = descend(l, &c, 0);
	while (rc >= 0 && c.n) {
		struct lib_tree_level *level = &c.levels[c.n - 1];

		c.path.len = level->path_len;
		if (c.path.data)
			c.path.data[c.path.len] = '\0';
		if (level->next == level->names.n) {
			rc = leave_level(l, &c);
		} else {
			as_buf_addc(&c.path, '/');
			as_buf_adds(&c.path, as_vfs_names_at(&level->names, level->next++) + 1);
			rc = remove_entry(l, &c);
		}
		*done += rc == 1;
	}
	while (c.n)
		as_vfs_names_free(&c.levels[--c.n].names);
	free(c.levels);
	as_buf_free(&c.path);
	return rc < 0 ? rc : 0;
}

void as_lib_remove(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_place p = { 0 };
	int rc = -as_op_remove_refused(op->path);

	if (!rc)
		rc = as_lib_walk(l, op->path, WALK_NOFOLLOW, &p);
	if (!rc && S_ISDIR(p.st.mode)) {
		rc = remove_below(l, as_lib_place_path(&p), &out->done);
		if (!rc)
			rc = as_lib_rmdir_at(l, op->path);
	} else if (!rc) {
		rc = as_lib_unlink_at(l, op->path);
	}
	out->done += !rc;
	as_lib_place_free(&p);
	as_vfs_answer(out, rc);
}

void as_lib_prune(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_place p;
	int rc = as_lib_walk(l, op->path, WALK_FOLLOW, &p);

	if (!rc && S_ISDIR(p.st.mode))
		/* A removed directory opens, but its listing is ENOENT. */
		rc = p.gone ? -ENOENT : remove_below(l, as_lib_place_path(&p), &out->done);
	else if (!rc && S_ISREG(p.st.mode))
		rc = as_lib_truncate_at(l, op->path, 0);
	else if (!rc)
		rc = -EINVAL;
	as_lib_place_free(&p);
	as_vfs_answer(out, rc);
}

/* ---- deepen, enlarge ------------------------------------------------------------------------- */

/* Where there are none, a name that is there is still EEXIST. */
static int make_dir(struct as_lib *l, const char *path)
{
	struct as_stat st;

	if (!(l->args.semantics & AS_MEANS_FLAT))
		return l->ops->mkdir(l->fs, path, 0755);
	return as_lib_getattr(l, path, &st) ? -EPERM : -EEXIST;
}

static int enlarge_dir(struct as_lib *l, const char *dir, uint64_t count, uint64_t *done)
{
	struct as_buf path = { 0 };
	size_t base;
	int rc = 0;

	if (strcmp(dir, "/"))
		as_buf_adds(&path, dir);
	as_buf_addc(&path, '/');
	base = path.len;
	for (uint64_t i = 0; *done < count; i++) {
		path.len = base;
		as_buf_addc(&path, 'e');
		as_buf_addu(&path, i);
		rc = make_dir(l, path.data);
		if (!rc)
			++*done;
		else if (rc != -EEXIST)
			break;
	}
	as_buf_free(&path);
	return rc && rc != -EEXIST ? rc : 0;
}

void as_lib_enlarge(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_place p;
	int rc = as_lib_walk(l, op->path, WALK_FOLLOW, &p);

	if (!rc && S_ISDIR(p.st.mode)) {
		if (p.gone)
			rc = op->len ? -ENOENT : 0;
		else
			rc = enlarge_dir(l, as_lib_place_path(&p), op->len, &out->done);
		as_vfs_answer(out, rc ? rc : (int64_t)op->len);
	} else {
		if (!rc && S_ISREG(p.st.mode))
			rc = as_lib_truncate_at(l, op->path, p.st.size + op->len);
		else if (!rc)
			rc = -EINVAL;
		as_vfs_answer(out, rc);
	}
	as_lib_place_free(&p);
}

static int deepen_dir(struct as_lib *l, struct as_buf *path, uint64_t count, uint64_t *done)
{
	struct as_stat st;
	int rc = 0;

	while (*done < count) {
		/* All that is there already comes first: the limit is met before a change. */
		if (path->len + 2 * (count - *done) > AS_VFS_DEEP_MAX_BYTES)
			return -AS_ERR_LIMIT;
		as_buf_adds(path, "/d");
		rc = make_dir(l, path->data);
		if (!rc) {
			++*done;
			continue;
		}
		if (rc != -EEXIST)
			return rc;
		/* openat(O_DIRECTORY|O_NOFOLLOW) */
		rc = as_lib_getattr(l, path->data, &st);
		if (rc)
			return rc;
		if (!S_ISDIR(st.mode))
			return -ENOTDIR;
	}
	return 0;
}

void as_lib_deepen(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_place p;
	int rc = as_lib_walk(l, op->path, WALK_FOLLOW, &p);

	if (!rc && !S_ISDIR(p.st.mode))
		rc = -ENOTDIR;
	if (!rc && p.gone)
		rc = op->len ? -ENOENT : 0;
	else if (!rc)
		rc = deepen_dir(l, &p.path, op->len, &out->done);
	as_lib_place_free(&p);
	as_vfs_answer(out, rc ? rc : (int64_t)op->len);
}
