/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * adopt: puts into a model what a file system already holds. No rule is asked, because nothing was
 * done: what is there is there. Parents come before what is below them, and each inode before its
 * second name.
 */
#include "model/walk.h"

#include <stdlib.h>
#include <string.h>

static struct as_walk place_of(const struct as_model *model, const char *path)
{
	struct as_walk w = as_walk_path(model, path, WALK_PARENT);

	as_assert(!w.err);
	return w;
}

static uint32_t ino_of(const struct as_model *model, const char *path)
{
	struct as_walk w = as_walk_path(model, path, WALK_NOFOLLOW);

	as_assert(!w.err && w.ino);
	return w.ino;
}

/* What a digest needs is set before the inode is linked. */
static uint32_t make(struct as_model *model, const struct as_stat *st, const char *text)
{
	struct as_inode *inode = as_node_new(model, st->mode & (S_IFMT | 07777));

	if (S_ISLNK(st->mode))
		inode->text = as_name_new(text, strlen(text));
	else if (S_ISCHR(st->mode) || S_ISBLK(st->mode))
		inode->rdev = AS_DEV(major(st->rdev), minor(st->rdev));
	return inode->ino;
}

void as_model_adopt_node(struct as_model *model, const char *path, const struct as_stat *st,
			 const char *text)
{
	struct as_walk w = place_of(model, path);
	struct as_ino_pair before;
	struct as_inode *inode;
	uint32_t ino = MODEL_ROOT;

	if (w.type != LAST_ROOT) {
		ino = make(model, st, text);
		as_node_link(model, w.parent, w.last, w.last_len, ino);
	}
	inode = as_node_edit(model, ino, &before);
	inode->mode = (uint16_t)st->mode;
	inode->uid = st->uid;
	inode->gid = st->gid;
	if (is_reg(inode))
		inode->reg.size = st->size, inode->reg.kept = UINT64_MAX;
	as_node_finish(model, inode, &before);
}

void as_model_adopt(struct as_model *model, const char *path, const struct as_stat *st)
{
	as_assert(S_ISDIR(st->mode) || !st->size);
	as_model_adopt_node(model, path, st, "");
}

void as_model_adopt_link(struct as_model *model, const char *path, const char *other)
{
	struct as_walk w = place_of(model, path);

	as_node_link(model, w.parent, w.last, w.last_len, ino_of(model, other));
}

void as_model_adopt_run(struct as_model *model, const char *path, uint64_t off, uint64_t len,
			uint64_t pattern)
{
	struct as_ino_pair before;
	struct as_inode *inode = as_node_edit(model, ino_of(model, path), &before);

	as_assert(is_reg(inode) && off <= inode->reg.size && len <= inode->reg.size - off);
	as_content_write(inode, off, len, pattern, off);
	as_node_finish(model, inode, &before);
}

void as_model_adopt_xattr(struct as_model *model, const char *path, const char *name, uint64_t len,
			  uint64_t pattern)
{
	struct as_ino_pair before;
	struct as_inode *inode = as_node_edit(model, ino_of(model, path), &before);
	const struct as_xattrs *old = inode->xattrs;
	uint32_t n = old ? old->n : 0;
	struct as_xattrs *all = as_xmalloc(sizeof(*all) + (n + 1) * sizeof(all->x[0]));

	all->ref = 1;
	all->n = n + 1;
	for (uint32_t i = 0; i < n; i++) {
		all->x[i] = old->x[i];
		as_name_get(all->x[i].name);
	}
	/* They come sorted by name. */
	as_assert(!n || strcmp(old->x[n - 1].name->s, name) < 0);
	model->has_acls |= !strncmp(name, "acl.", 4);
	all->x[n] = (struct as_xattr){ as_name_new(name, strlen(name)), len, pattern };
	as_xattrs_put(inode->xattrs);
	inode->xattrs = all;
	as_node_finish(model, inode, &before);
}
