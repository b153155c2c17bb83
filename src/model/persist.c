/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * persist: see persist.h. Two states share all that did not change between them, so their
 * difference is found by walking both side by side and passing by what is the same pointer.
 */
#include "model/persist.h"

#include "base/arena.h"
#include "base/array.h"
#include "model/rules/rule.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct as_node_run) == sizeof(struct as_data_run) &&
		       offsetof(struct as_node_run, pattern) ==
			       offsetof(struct as_data_run, pattern) &&
		       offsetof(struct as_node_run, from) == offsetof(struct as_data_run, from),
	       "a run is shown as it is");

struct differ {
	const struct as_model *before, *after;
	const struct as_changes_ops *ops;
	void *ctx;
	struct as_arena arena;
};

/* ---- Inodes ---- */

static struct as_node show(struct differ *d, const struct as_inode *inode)
{
	struct as_node node = {
		.ino = inode->ino,
		.mode = inode->mode,
		.nlink = inode->nlink,
		.uid = inode->uid,
		.gid = inode->gid,
		.linked = !(inode->flags & INODE_ORPHAN),
		.name = "",
	};
	const struct as_link *link = inode->flags & INODE_MANY ? inode->many->link : &inode->link;

	if (node.linked && link->name) {
		node.parent = link->parent;
		node.name = link->name->s;
	}
	if (is_reg(inode)) {
		node.size = inode->reg.size;
		node.n_runs = inode->reg.runs ? inode->reg.runs->n : 0;
		node.run = (const void *)(node.n_runs ? inode->reg.runs->run : NULL);
	} else if (S_ISLNK(inode->mode)) {
		node.text = inode->text->s;
	} else if (S_ISCHR(inode->mode) || S_ISBLK(inode->mode)) {
		node.rdev = node_rdev(inode);
	}
	if (inode->xattrs) {
		uint32_t n = inode->xattrs->n;
		struct as_node_xattr *x = as_arena_alloc(&d->arena, n * sizeof(*x));

		for (uint32_t i = 0; i < n; i++)
			x[i] = (struct as_node_xattr){ inode->xattrs->x[i].name->s,
						       inode->xattrs->x[i].len,
						       inode->xattrs->x[i].pattern };
		node.xattr = x;
		node.n_xattrs = n;
	}
	return node;
}

static bool same_link(const struct as_link *a, const struct as_link *b)
{
	if (!a->name || !b->name)
		return a->name == b->name;
	return a->parent == b->parent &&
	       (a->name == b->name || as_name_cmp(a->name, b->name->s, b->name->len) == 0);
}

static bool same_links(const struct as_inode *a, const struct as_inode *b)
{
	if (a->nlink != b->nlink && !is_dir(a))
		return false;
	if ((a->flags ^ b->flags) & (INODE_MANY | INODE_ORPHAN))
		return false;
	if (!(a->flags & INODE_MANY))
		return a->flags & INODE_ORPHAN || same_link(&a->link, &b->link);
	if (a->many->n != b->many->n)
		return false;
	for (uint32_t i = 0; i < a->many->n; i++)
		if (!same_link(&a->many->link[i], &b->many->link[i]))
			return false;
	return true;
}

static bool same_runs(const struct as_runs *a, const struct as_runs *b)
{
	uint32_t n = a ? a->n : 0;

	if (a == b)
		return true;
	if (n != (b ? b->n : 0))
		return false;
	return n == 0 || memcmp(a->run, b->run, n * sizeof(struct as_data_run)) == 0;
}

static bool same_xattrs(const struct as_xattrs *a, const struct as_xattrs *b)
{
	if (a == b)
		return true;
	if (!a || !b || a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (a->x[i].len != b->x[i].len || a->x[i].pattern != b->x[i].pattern ||
		    strcmp(a->x[i].name->s, b->x[i].name->s) != 0)
			return false;
	return true;
}

static unsigned what_changed(const struct as_inode *a, const struct as_inode *b)
{
	unsigned what = 0;

	if (a->mode != b->mode || a->uid != b->uid || a->gid != b->gid)
		what |= AS_CHANGE_ATTR;
	if (!same_links(a, b))
		what |= AS_CHANGE_LINKS;
	if (!same_xattrs(a->xattrs, b->xattrs))
		what |= AS_CHANGE_XATTR;
	if (is_dir(a) && (a->dir.entries != b->dir.entries || a->nlink != b->nlink))
		what |= AS_CHANGE_ENTRIES;
	if (is_reg(a) && a->reg.size != b->reg.size)
		what |= AS_CHANGE_SIZE;
	if (is_reg(a) && !same_runs(a->reg.runs, b->reg.runs))
		what |= AS_CHANGE_DATA;
	return what;
}

/* ---- Names ---- */

struct flat {
	const struct as_entry **entry;
	size_t n, cap;
};

static void flatten(struct flat *flat, const struct as_entry *entry)
{
	if (!entry)
		return;
	flatten(flat, entry->left);
	AS_ARRAY_ROOM(flat->entry, flat->n, flat->cap);
	flat->entry[flat->n++] = entry;
	flatten(flat, entry->right);
}

static void edge(struct differ *d, uint32_t dir, const struct as_entry *a, const struct as_entry *b)
{
	uint32_t before = a ? a->ino : 0, after = b ? b->ino : 0;

	if (before != after)
		d->ops->edge(d->ctx, dir, (a ? a : b)->name->s, before, after);
}

static void diff_flat(struct differ *d, uint32_t dir, const struct as_entry *a,
		      const struct as_entry *b)
{
	struct flat fa = { 0 }, fb = { 0 };
	size_t i = 0, k = 0;

	flatten(&fa, a);
	flatten(&fb, b);
	while (i < fa.n || k < fb.n) {
		int cmp = i == fa.n   ? 1
			  : k == fb.n ? -1
				      : strcmp(fa.entry[i]->name->s, fb.entry[k]->name->s);

		edge(d, dir, cmp <= 0 ? fa.entry[i] : NULL, cmp >= 0 ? fb.entry[k] : NULL);
		i += cmp <= 0;
		k += cmp >= 0;
	}
	free(fa.entry);
	free(fb.entry);
}

/* Equal sets of names have equal shapes, so most of what did not change is skipped. */
static void diff_entries(struct differ *d, uint32_t dir, const struct as_entry *a,
			 const struct as_entry *b)
{
	if (a == b)
		return;
	if (!a || !b || strcmp(a->name->s, b->name->s) != 0) {
		diff_flat(d, dir, a, b);
		return;
	}
	edge(d, dir, a, b);
	diff_entries(d, dir, a->left, b->left);
	diff_entries(d, dir, a->right, b->right);
}

/* ---- The table ---- */

static void diff_inode(struct differ *d, const struct as_inode *a, const struct as_inode *b)
{
	struct as_node before, after;
	unsigned what = 0;

	if (a == b)
		return;
	if (a)
		before = show(d, a);
	if (b)
		after = show(d, b);
	what = !a ? AS_CHANGE_MADE : !b ? AS_CHANGE_GONE : what_changed(a, b);
	if (what)
		d->ops->inode(d->ctx, a ? &before : NULL, b ? &after : NULL, what);
	if ((a && is_dir(a)) || (b && is_dir(b)))
		diff_entries(d, a ? a->ino : b->ino, a ? a->dir.entries : NULL,
			     b ? b->dir.entries : NULL);
}

static void diff_radix(struct differ *d, const void *a, uint32_t a_height, const void *b,
		       uint32_t b_height)
{
	const struct as_radix *ra = a, *rb = b;

	if (a == b)
		return;
	if (a && b && a_height != b_height) {
		/* The lower one is the first slot of the higher. */
		bool a_low = a_height < b_height;
		const struct as_radix *high = a_low ? rb : ra;
		uint32_t height = (a_low ? b_height : a_height) - 1;

		for (unsigned i = 0; i < RADIX_FAN; i++) {
			if (a_low)
				diff_radix(d, i ? NULL : a, a_height, high->slot[i], height);
			else
				diff_radix(d, high->slot[i], height, i ? NULL : b, b_height);
		}
		return;
	}
	if ((a ? a_height : b_height) == 0) {
		diff_inode(d, a, b);
		return;
	}
	for (unsigned i = 0; i < RADIX_FAN; i++)
		diff_radix(d, a ? ra->slot[i] : NULL, a_height - !!a, b ? rb->slot[i] : NULL,
			   b_height - !!b);
}

void as_model_changes(const struct as_model *before, const struct as_model *after,
		      const struct as_changes_ops *ops, void *ctx)
{
	struct differ d = { .before = before, .after = after, .ops = ops, .ctx = ctx };

	diff_radix(&d, before ? before->inodes.root : NULL, before ? before->inodes.height : 0,
		   after->inodes.root, after->inodes.height);
	as_arena_free(&d.arena);
}

/* ---- What an operation makes stable ---- */

/* Operations that answer success and leave every name as it was: nothing is written for them, and
 * so nothing waits (IS_DIRSYNC()). rename(2): if both are names of one file, "rename() does
 * nothing". */
static bool leaves_names(const struct as_model *m, const struct as_op *op)
{
	struct as_walk from, to;
	const struct as_inode *dir;

	switch (op->code) {
	case AS_OP_RENAME:
	case AS_OP_RENAME2:
		from = as_walk_path(m, op->path, WALK_NOFOLLOW);
		to = as_walk_path(m, op->path2, WALK_NOFOLLOW);
		return !from.err && !to.err && from.ino == to.ino;
	case AS_OP_DEEPEN:
	case AS_OP_ENLARGE:
		return !op->len;
	case AS_OP_PRUNE:
		to = as_walk_path(m, op->path, WALK_FOLLOW);
		dir = to.err ? NULL : inode_at(m, to.ino);
		return dir && is_dir(dir) && !dir->dir.entries;
	default:
		return false;
	}
}

static bool makes_names(const struct as_model *m, const struct as_op *op)
{
	struct as_walk w;

	if (leaves_names(m, op))
		return false;
	switch (as_op_table[op->code].changes) {
	case AS_CHANGES_NAMES:
		return true;
	case AS_CHANGES_EITHER:
		w = as_walk_path(m, op->path, WALK_FOLLOW);
		if (op->code == AS_OP_OPEN)
			return (op->flags & AS_O_CREAT) && !(op->flags & AS_O_PATH) &&
			       w.err == ENOENT;
		return !w.err && is_dir(inode_at(m, w.ino));
	default:
		return false;
	}
}

static struct as_persist of_write(const struct as_model *m, const struct as_op *op,
				  const struct as_outcome *got, unsigned mounted)
{
	struct as_persist p = { .kind = AS_PERSIST_NOTHING };
	bool sent = op->code == AS_OP_SENDFILE || op->code == AS_OP_SPLICE;
	const struct as_file *file = as_file_at(m, sent ? op->fd2 : op->fd);
	int64_t rwf = op->code == AS_OP_PWRITEV2 ? op->flags : 0;
	int64_t given = op->code == AS_OP_SPLICE ? op->off2 : op->off;
	bool here = op->code == AS_OP_WRITE || op->code == AS_OP_SENDFILE ||
		    (op->code != AS_OP_PWRITE && given == -1);

	if (!file || got->ret <= 0)
		return p;
	if (file->flags & AS_O_SYNC_ONLY || rwf & AS_RWF_SYNC)
		p.kind = AS_PERSIST_INODE;
	else if ((file->flags & AS_O_DSYNC) || (mounted & AS_MOUNTED_SYNC) || rwf & AS_RWF_DSYNC)
		p.kind = AS_PERSIST_DATA;
	p.ino = file->ino;
	p.off = (uint64_t)(here ? file->off : given);
	if ((file->flags & AS_O_APPEND && !(rwf & AS_RWF_NOAPPEND)) || rwf & AS_RWF_APPEND)
		p.off = inode_at(m, file->ino)->reg.size;
	p.len = (uint64_t)got->ret;
	return p;
}

static struct as_persist of_fd(const struct as_model *m, int32_t slot, enum as_persist_kind kind)
{
	const struct as_file *file = as_file_at(m, slot);

	if (!file)
		return (struct as_persist){ .kind = AS_PERSIST_NOTHING };
	return (struct as_persist){ .kind = kind, .ino = file->ino, .len = UINT64_MAX };
}

/* msync(2): as fdatasync, of the range (vfs_fsync_range()). */
static struct as_persist of_msync(const struct as_model *m, const struct as_op *op)
{
	const struct as_file *map = as_file_at(m, AS_MAP_SLOT + op->fd);
	struct as_persist p = { .kind = AS_PERSIST_NOTHING };

	if (!map || !(op->flags & AS_MS_SYNC))
		return p;
	p = of_fd(m, AS_MAP_SLOT + op->fd, AS_PERSIST_DATA);
	p.off = (uint64_t)map->off;
	p.len = map->len;
	return p;
}

struct as_persist as_model_persists(const struct as_model *m, const struct as_op *op,
				    const struct as_outcome *got, unsigned mounted)
{
	struct as_persist p = { .kind = AS_PERSIST_NOTHING };

	if (got->ret < 0 || !m->mounted)
		return p;
	if (as_op_makes_all_stable(op)) {
		p.kind = AS_PERSIST_ALL;
		return p;
	}
	switch (as_op_table[op->code].persists) {
	case AS_PERSISTS_FILE:
		return of_fd(m, op->fd, AS_PERSIST_INODE);
	case AS_PERSISTS_DATA:
		if (op->code == AS_OP_MSYNC)
			return of_msync(m, op);
		if (op->code != AS_OP_MMAP_WRITE)
			return of_fd(m, op->fd, AS_PERSIST_DATA);
		if (!(op->flags & AS_MS_SYNC))
			return p;
		p = of_fd(m, op->fd, AS_PERSIST_DATA);
		p.off = (uint64_t)op->off;
		p.len = op->len;
		return p;
	default:
		/* What is mapped stays open. */
		if (op->code == AS_OP_CLOSE && mounted & AS_MOUNTED_CLOSE &&
		    !as_file_at(m, AS_MAP_SLOT + op->fd))
			return of_fd(m, op->fd, AS_PERSIST_DATA);
		if (as_op_table[op->code].changes & AS_CHANGES_AS_OPENED)
			return of_write(m, op, got, mounted);
		if ((mounted & AS_MOUNTED_DIRSYNC) && makes_names(m, op))
			p.kind = AS_PERSIST_OP;
		return p;
	}
}
