/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rename.c: rename, with NOREPLACE, EXCHANGE and WHITEOUT. The checks are in the order of Linux's
 * do_renameat2 and vfs_rename, so that the same error comes first.
 */
#include "fs.h"

#include <errno.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/stat.h>

struct move {
	struct lab_path from, to;
	struct lab_node *src, *dst; /* dst NULL = the new name is free */
	unsigned flags;
};

/* Whether `path` is below `top`. */
static bool below(const char *path, const char *top)
{
	size_t len = strlen(top);

	return !strncmp(path, top, len) && path[len] == '/';
}

static int find(struct as_fs *fs, const struct lab_path *at, struct lab_node **node)
{
	struct lab_where where;
	int rc = lab_dir_find(fs, at->dir, at->name, at->len, &where);

	return rc ? rc : lab_iget(fs, where.ino, node);
}

/* Looks up both names, and does the checks for which no more directories have to be read. */
static int prepare(struct as_fs *fs, const char *from, const char *to, struct move *mv)
{
	int rc = lab_walk_parent(fs, from, &mv->from);

	if (!rc)
		rc = lab_walk_parent(fs, to, &mv->to);
	if (!rc && (!mv->from.dir || !mv->to.dir))
		rc = -EBUSY;
	if (!rc)
		lab_lock_dirs(fs, mv->from.dir, mv->to.dir);
	if (!rc)
		rc = find(fs, &mv->from, &mv->src);
	if (rc)
		return rc;
	rc = find(fs, &mv->to, &mv->dst);
	if (rc == -ENOENT) {
		mv->dst = NULL;
		rc = mv->flags & RENAME_EXCHANGE ? -ENOENT : 0;
	} else if (!rc && mv->flags & RENAME_NOREPLACE) {
		rc = -EEXIST;
	}
	if (rc)
		return rc;
	if (below(to, from))
		return -EINVAL;
	if (below(from, to))
		return mv->flags & RENAME_EXCHANGE ? -EINVAL : -ENOTEMPTY;
	return 0;
}

static int check_target(struct as_fs *fs, const struct move *mv)
{
	bool src_dir = S_ISDIR(mv->src->raw->mode);

	if (!mv->dst)
		return src_dir && mv->from.dir != mv->to.dir &&
				       mv->to.dir->raw->nlink >= LAB_LINK_MAX
			       ? -EMLINK
			       : 0;
	if (src_dir && !S_ISDIR(mv->dst->raw->mode))
		return -ENOTDIR;
	if (!src_dir && S_ISDIR(mv->dst->raw->mode))
		return -EISDIR;
	if (!src_dir && LAB_BUG_ON(fs, RENAME_EEXIST))
		return -EEXIST;
	return src_dir ? lab_dir_check_empty(fs, mv->dst) : 0;
}

/* Removes the old name, or makes it a whiteout. */
static int leave_old(struct as_fs *fs, struct move *mv)
{
	struct lab_path *from = &mv->from;
	struct lab_node *white;
	int rc;

	if (!(mv->flags & RENAME_WHITEOUT))
		return lab_dir_remove(fs, from->dir, from->name, from->len);
	rc = lab_inew(fs, from->dir, S_IFCHR, 0, &white);
	if (rc)
		return rc;
	white->raw->nlink = 1;
	return lab_dir_set(fs, from->dir, from->name, from->len, white->ino, S_IFCHR);
}

/* Gives a directory another parent. */
static int change_parent(struct as_fs *fs, struct lab_node *dir, struct lab_node *from,
			 struct lab_node *to)
{
	int rc = lab_idirty(fs, from, LAB_WHY_OTHER);

	if (!rc)
		rc = lab_idirty(fs, to, LAB_WHY_OTHER);
	if (!rc)
		rc = lab_dir_set_parent(fs, dir, to->ino);
	if (rc)
		return rc;
	from->raw->nlink--;
	to->raw->nlink++;
	return 0;
}

static int enter_new(struct as_fs *fs, struct move *mv)
{
	struct lab_path *to = &mv->to;
	struct lab_node *src = mv->src, *dst = mv->dst;
	bool is_dir = S_ISDIR(src->raw->mode);
	int rc;

	rc = lab_idirty(fs, src, LAB_WHY_OTHER);
	if (rc)
		return rc;
	src->raw->ctime_ns = (int64_t)lab_now(fs);
	if (dst)
		rc = lab_dir_set(fs, to->dir, to->name, to->len, src->ino, src->raw->mode);
	else
		rc = lab_dir_add(fs, to->dir, to->name, to->len, src->ino, src->raw->mode);
	if (!rc && dst && is_dir)
		to->dir->raw->nlink--;
	if (!rc && dst)
		rc = lab_drop_link(fs, dst, is_dir ? dst->raw->nlink : 1);
	if (!rc && is_dir && mv->from.dir != to->dir)
		rc = change_parent(fs, src, mv->from.dir, to->dir);
	return rc;
}

static int exchange(struct as_fs *fs, struct move *mv)
{
	struct lab_path *a = &mv->from, *b = &mv->to;
	bool src_dir = S_ISDIR(mv->src->raw->mode), dst_dir = S_ISDIR(mv->dst->raw->mode);
	int rc;

	if (a->dir != b->dir && src_dir != dst_dir &&
	    (src_dir ? b : a)->dir->raw->nlink >= LAB_LINK_MAX)
		return -EMLINK;
	rc = lab_idirty(fs, mv->src, LAB_WHY_OTHER);
	if (!rc)
		rc = lab_idirty(fs, mv->dst, LAB_WHY_OTHER);
	if (!rc)
		rc = lab_dir_set(fs, a->dir, a->name, a->len, mv->dst->ino, mv->dst->raw->mode);
	if (!rc)
		rc = lab_dir_set(fs, b->dir, b->name, b->len, mv->src->ino, mv->src->raw->mode);
	if (rc)
		return rc;
	mv->src->raw->ctime_ns = mv->dst->raw->ctime_ns = (int64_t)lab_now(fs);
	if (a->dir == b->dir || LAB_BUG_ON(fs, EXCHANGE_DOTDOT))
		return 0;
	if (src_dir)
		rc = change_parent(fs, mv->src, a->dir, b->dir);
	if (!rc && dst_dir)
		rc = change_parent(fs, mv->dst, b->dir, a->dir);
	return rc;
}

static int do_rename(struct as_fs *fs, const char *from, const char *to, struct move *mv,
		     bool *nothing)
{
	int rc = prepare(fs, from, to, mv);

	*nothing = true;
	if (!rc && mv->src == mv->dst && LAB_BUG_ON(fs, UNLOCK_TWICE))
		as_unlock(fs->host, LAB_LOCK_DIR, mv->from.dir->ino);
	if (rc || mv->src == mv->dst)
		return rc;
	*nothing = false;
	if (mv->flags & RENAME_EXCHANGE)
		return exchange(fs, mv);
	rc = check_target(fs, mv);
	if (rc)
		return rc;
	/* One of the bugs leaves the other half to a transaction of its own. */
	if (!LAB_BUG_ON(fs, RENAME_NEITHER))
		rc = enter_new(fs, mv);
	if (!rc && !LAB_BUG_ON(fs, RENAME_BOTH))
		rc = leave_old(fs, mv);
	return rc;
}

static int second_half(struct as_fs *fs, struct move *mv)
{
	int rc = lab_commit(fs);

	if (rc)
		return rc;
	if (LAB_BUG_ON(fs, RENAME_BOTH))
		return LAB_RUN(fs, lab_ns_credits(fs), leave_old(fs, mv));
	return LAB_RUN(fs, lab_ns_credits(fs), enter_new(fs, mv));
}

/* With bug NAMES_KEPT: a note of every old name, which nobody reads. */
static void keep_name(struct as_fs *fs, const char *name)
{
	struct lab_kept *kept = as_malloc(fs->host, sizeof(*kept) + strlen(name) + 1);

	if (!kept) {
		as_forgive(fs->host);
		return;
	}
	memcpy(kept->name, name, strlen(name) + 1);
	kept->next = fs->kept;
	fs->kept = kept;
}

/* With bug RENAME_HEAP: room for marks. Without memory it does without. */
static void *take_marks(struct as_fs *fs)
{
	void *marks = as_malloc(fs->host, (size_t)1 << 20);

	if (!marks)
		as_forgive(fs->host);
	return marks;
}

int lab_rename(struct as_fs *fs, const char *from, const char *to, unsigned flags)
{
	struct move mv = { .flags = flags };
	bool nothing = true;
	void *marks = NULL;
	int rc;

	if (flags & ~(unsigned)(RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT))
		return -EINVAL;
	if (flags & RENAME_EXCHANGE && flags & (RENAME_NOREPLACE | RENAME_WHITEOUT))
		return -EINVAL;
	if (LAB_BUG_ON(fs, RENAME_HEAP))
		marks = take_marks(fs);
	rc = LAB_RUN(fs, lab_ns_credits(fs), do_rename(fs, from, to, &mv, &nothing));
	if (marks)
		as_free(fs->host, marks);
	if (!rc && LAB_BUG_ON(fs, NAMES_KEPT))
		keep_name(fs, from);
	if (rc || nothing || flags & RENAME_EXCHANGE)
		return rc;
	if (LAB_BUG_ON(fs, RENAME_BOTH) || LAB_BUG_ON(fs, RENAME_NEITHER))
		rc = second_half(fs, &mv);
	return rc;
}
