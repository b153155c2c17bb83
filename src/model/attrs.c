/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attrs: looking at a state from outside: attribute vectors (Dogfood section 4.1), open slots,
 * attributes by path.
 */
#include "model/walk.h"

#include <stdlib.h>
#include <string.h>

#define COUNTED_MAX 16384u /* ticks of the clock */

struct visit {
	const struct as_model *m;
	int (*fn)(void *ctx, const char *path, const struct as_attrs *attrs);
	void *ctx;
	struct as_buf path;
	uint32_t *symlinked; /* by inode number */
	uint32_t *order;
	bool *seen;
	bool every_name; /* an inode with several links is shown once for each */
};

struct tally {
	const struct as_model *m;
	uint32_t *symlinked;
	const struct as_inode **all;
	size_t n;
};

static int count_symlink(void *ctx, uint32_t ino, void *elem)
{
	const struct as_inode *inode = elem;
	struct tally *t = ctx;
	struct as_walk w;
	unsigned links = 1;

	t->all[t->n++] = inode;
	if (!S_ISLNK(inode->mode) || (inode->flags & INODE_ORPHAN))
		return 0;
	(void)ino;
	w = as_walk_from(
		t->m, inode->flags & INODE_MANY ? inode->many->link[0].parent : inode->link.parent,
		inode->text->s, WALK_FOLLOW, &links);
	if (!w.err)
		t->symlinked[w.ino]++;
	return 0;
}

static int by_use(const void *a, const void *b)
{
	const struct as_inode *x = *(const struct as_inode *const *)a;
	const struct as_inode *y = *(const struct as_inode *const *)b;

	if (x->used != y->used)
		return x->used < y->used ? -1 : 1;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

/* Orders inodes by when they were used last; those used at the same time are ordered by number.
 * They come by number, so that it is enough to count: states are looked at for every command
 * that is drawn. */
static void rank_by_use(const struct tally *t, uint32_t *order)
{
	uint32_t *before, sum = 0;

	if (t->m->clock > COUNTED_MAX) {
		qsort(t->all, t->n, sizeof(*t->all), by_use);
		for (size_t i = 0; i < t->n; i++)
			order[t->all[i]->ino] = (uint32_t)i;
		return;
	}
	before = as_xcalloc((size_t)t->m->clock + 1, sizeof(*before));
	for (size_t i = 0; i < t->n; i++) {
		as_assert(t->all[i]->used <= t->m->clock);
		before[t->all[i]->used]++;
	}
	for (uint32_t c = 0; c <= t->m->clock; c++) {
		uint32_t n = before[c];

		before[c] = sum;
		sum += n;
	}
	for (size_t i = 0; i < t->n; i++)
		order[t->all[i]->ino] = before[t->all[i]->used]++;
	free(before);
}

static int visit_inode(struct visit *v, uint32_t ino, uint32_t depth);

static int visit_entries(struct visit *v, const struct as_entry *entry, uint32_t depth)
{
	size_t len = v->path.len;
	int rc;

	if (!entry)
		return 0;
	rc = visit_entries(v, entry->left, depth);
	if (rc)
		return rc;
	if (len == 0 || v->path.data[len - 1] != '/')
		as_buf_addc(&v->path, '/');
	as_buf_add(&v->path, entry->name->s, entry->name->len);
	rc = visit_inode(v, entry->ino, depth);
	v->path.len = len;
	v->path.data[len] = '\0';
	return rc ? rc : visit_entries(v, entry->right, depth);
}

static int visit_inode(struct visit *v, uint32_t ino, uint32_t depth)
{
	const struct as_inode *inode = inode_at(v->m, ino);
	struct as_attrs attrs = {
		.ino = ino,
		.type = inode->mode & S_IFMT,
		.symlinked = v->symlinked[ino],
		.atime_order = v->order[ino],
		.depth = depth,
		.hardlinks = is_dir(inode) ? 1 : inode->nlink,
		.children = is_dir(inode) ? inode->dir.children : 0,
		.open = is_reg(inode) ? inode->opens : 0,
	};
	int rc;

	if (v->seen[ino] && !v->every_name)
		return 0;
	v->seen[ino] = true;
	rc = v->fn(v->ctx, as_buf_str(&v->path), &attrs);
	if (rc || !is_dir(inode))
		return rc;
	return visit_entries(v, inode->dir.entries, depth + 1);
}

static void path_to(const struct as_model *m, uint32_t dir, struct as_buf *path, uint32_t *depth)
{
	const struct as_inode *inode = inode_at(m, dir);

	if (dir == MODEL_ROOT || !inode->link.name)
		return;
	path_to(m, inode->link.parent, path, depth);
	as_buf_addc(path, '/');
	as_buf_add(path, inode->link.name->s, inode->link.name->len);
	++*depth;
}

static int visit_all(const struct as_model *model, bool below_cwd, bool every_name,
		     int (*fn)(void *ctx, const char *path, const struct as_attrs *attrs),
		     void *ctx)
{
	struct visit v = { .m = model, .fn = fn, .ctx = ctx, .every_name = every_name };
	size_t n = model->next_ino;
	struct tally t = { .m = model };
	uint32_t depth = 0;
	int rc;

	v.symlinked = t.symlinked = as_xcalloc(n, sizeof(uint32_t));
	v.order = as_xcalloc(n, sizeof(uint32_t));
	v.seen = as_xcalloc(n, sizeof(bool));
	t.all = as_xcalloc(model->n_inodes, sizeof(*t.all));
	as_vec_each(&model->inodes, count_symlink, &t);
	rank_by_use(&t, v.order);
	if (below_cwd)
		path_to(model, model->cwd, &v.path, &depth);
	if (v.path.len == 0)
		as_buf_addc(&v.path, '/');
	rc = visit_inode(&v, below_cwd ? model->cwd : MODEL_ROOT, depth);
	as_buf_free(&v.path);
	free(v.symlinked);
	free(v.order);
	free(v.seen);
	free(t.all);
	return rc;
}

int as_model_each(const struct as_model *model, bool below_cwd,
		  int (*fn)(void *ctx, const char *path, const struct as_attrs *attrs), void *ctx)
{
	return visit_all(model, below_cwd, false, fn, ctx);
}

int as_model_each_name(const struct as_model *model, bool below_cwd,
		       int (*fn)(void *ctx, const char *path, const struct as_attrs *attrs),
		       void *ctx)
{
	return visit_all(model, below_cwd, true, fn, ctx);
}

struct open_visit {
	int (*fn)(void *ctx, int slot, uint32_t ino, int64_t flags);
	void *ctx;
};

static int visit_open(void *ctx, uint32_t slot, void *elem)
{
	struct open_visit *v = ctx;
	const struct as_file *file = elem;

	return v->fn(v->ctx, (int)slot, file->ino, file->flags);
}

struct as_op as_model_closing(int slot)
{
	bool mapped = slot >= AS_MAP_SLOT;
	struct as_op op = as_op_make(mapped ? AS_OP_MUNMAP : AS_OP_CLOSE);

	op.fd = mapped ? slot - AS_MAP_SLOT : slot;
	return op;
}

int as_model_each_open(const struct as_model *model,
		       int (*fn)(void *ctx, int slot, uint32_t ino, int64_t flags), void *ctx)
{
	struct open_visit v = { fn, ctx };

	return as_vec_each(&model->files, visit_open, &v);
}

uint32_t as_model_slot_ino(const struct as_model *model, int slot)
{
	const struct as_file *file = as_file_at(model, slot);

	return file ? file->ino : 0;
}

void as_inode_stat(const struct as_inode *inode, struct as_stat *st)
{
	*st = (struct as_stat){
		.ino = inode->ino,
		.mode = inode->mode,
		.nlink = inode->nlink,
		.uid = inode->uid,
		.gid = inode->gid,
	};
	if (is_reg(inode))
		st->size = inode->reg.size;
	else if (S_ISLNK(inode->mode))
		st->size = inode->text->len;
	else if (!is_dir(inode))
		st->rdev = node_rdev(inode);
}

bool as_model_stat(const struct as_model *model, const char *path, bool nofollow,
		   struct as_stat *st)
{
	struct as_walk w = as_walk_path(model, path, nofollow ? WALK_NOFOLLOW : WALK_FOLLOW);

	if (w.err)
		return false;
	as_inode_stat(inode_at(model, w.ino), st);
	return true;
}
