/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lib_names: operations that make, move and remove names. Which error comes first follows
 * fs/namei.c: filename_create(), do_rmdir(), do_unlinkat(), do_renameat2().
 */
#include "vfs/lib_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static int type_at(struct as_lib *l, const struct as_lib_place *p, struct as_stat *st)
{
	if (p->gone)
		return -ENOENT;
	return as_lib_getattr(l, as_lib_place_path(p), st);
}

/* -EEXIST when something is there, 0 when nothing is. */
static int must_be_absent(struct as_lib *l, const struct as_lib_place *p)
{
	struct as_stat st;
	int rc = type_at(l, p, &st);

	return rc == -ENOENT ? 0 : rc ? rc : -EEXIST;
}

/* The place of a new name that is not a directory's: filename_create(). `can` is whether the
 * library has the function at all. */
static int new_place(struct as_lib *l, const char *text, bool can, struct as_lib_place *p)
{
	int rc = as_lib_walk(l, text, WALK_PARENT, p);

	if (rc)
		return rc;
	if (p->last != LAST_NORM)
		return -EEXIST;
	if (p->gone)
		return -ENOENT;
	if (p->slash) {
		rc = must_be_absent(l, p);
		return rc ? rc : -ENOENT;
	}
	if (!can) {
		rc = must_be_absent(l, p);
		return rc ? rc : -EPERM;
	}
	return 0;
}

void as_lib_mkdir(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_place p;
	int rc = as_lib_walk(l, op->path, WALK_PARENT, &p);

	if (!rc && p.last != LAST_NORM)
		rc = -EEXIST;
	if (!rc && p.gone)
		rc = -ENOENT;
	if (!rc && l->args.semantics & AS_MEANS_FLAT) {
		rc = must_be_absent(l, &p);
		rc = rc ? rc : -EPERM;
	} else if (!rc) {
		rc = l->ops->mkdir(l->fs, as_lib_place_path(&p),
				   op->mode & (07777 & ~(S_ISUID | S_ISGID)));
	}
	as_lib_place_free(&p);
	as_vfs_answer(out, rc);
}

void as_lib_create(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_slot slot = { 0 };
	int rc = as_lib_open_at(l, op->path, O_CREAT | O_EXCL | O_WRONLY, op->mode, &slot);

	if (!rc)
		rc = as_lib_slot_close(l, &slot);
	as_vfs_answer(out, rc);
}

/* mknod(2) of a regular file is a create without a descriptor, for a library without mknod. */
static int make_regular(struct as_lib *l, const struct as_lib_place *p, uint32_t mode)
{
	struct as_handle *handle;
	int rc = l->ops->open(l->fs, as_lib_place_path(p), O_CREAT | O_EXCL | O_WRONLY, mode,
			      &handle);

	return rc ? rc : l->ops->close(l->fs, handle);
}

void as_lib_mknod(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	uint32_t type = as_op_node_type(op);
	uint64_t rdev = 0;
	struct as_lib_place p = { 0 };
	bool can = l->ops->caps & AS_CAP_MKNOD;
	int rc = -as_op_mknod_refused(op);

	if (!rc)
		rc = new_place(l, op->path, can || type == S_IFREG, &p);

	if (type == S_IFCHR || type == S_IFBLK)
		rdev = makedev(AS_DEV_MAJOR(op->dev), AS_DEV_MINOR(op->dev));
	if (!rc && !can)
		rc = make_regular(l, &p, op->mode & 07777);
	else if (!rc)
		rc = l->ops->mknod(l->fs, as_lib_place_path(&p), type | (op->mode & 07777), rdev);
	as_lib_place_free(&p);
	as_vfs_answer(out, rc);
}

void as_lib_symlink(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_place p = { 0 };
	int rc = 0;

	/* getname() looks at the text first. */
	if (!*op->path)
		rc = -ENOENT;
	else if (strnlen(op->path, AS_VFS_PATH_MAX) >= AS_VFS_PATH_MAX)
		rc = -ENAMETOOLONG;
	if (!rc)
		rc = new_place(l, op->path2, l->ops->caps & AS_CAP_SYMLINK, &p);
	if (!rc)
		rc = l->ops->symlink(l->fs, op->path, as_lib_place_path(&p));
	as_lib_place_free(&p);
	as_vfs_answer(out, rc);
}

void as_lib_hardlink(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_place from, to = { 0 };
	int rc = as_lib_walk(l, op->path, WALK_NOFOLLOW, &from);

	if (!rc)
		rc = new_place(l, op->path2, l->ops->caps & AS_CAP_HARDLINK, &to);
	if (!rc && from.gone)
		rc = must_be_absent(l, &to) ? -EEXIST : -EPERM;
	if (!rc)
		rc = l->ops->link(l->fs, as_lib_place_path(&from), as_lib_place_path(&to));
	as_lib_place_free(&from);
	as_lib_place_free(&to);
	as_vfs_answer(out, rc);
}

void as_lib_link_tmpfile(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_slot *slot = as_lib_slot_get(l, op->fd);
	struct as_lib_place p = { 0 };
	int rc = 0;

	if (!slot)
		rc = -EBADF;
	if (!rc)
		rc = new_place(l, op->path, l->ops->caps & AS_CAP_HARDLINK, &p);
	if (!rc && S_ISDIR(slot->type))
		rc = must_be_absent(l, &p) ? -EEXIST : -EPERM;
	if (!rc && !slot->handle)
		rc = slot->path ? l->ops->link(l->fs, slot->path, as_lib_place_path(&p))
				: -AS_ERR_UNSUPPORTED;
	else if (!rc && !l->ops->link_handle)
		rc = -AS_ERR_UNSUPPORTED;
	else if (!rc)
		rc = l->ops->link_handle(l->fs, slot->handle, as_lib_place_path(&p));
	as_lib_place_free(&p);
	as_vfs_answer(out, rc);
}

int as_lib_rmdir_at(struct as_lib *l, const char *text)
{
	static const int refused[] = {
		[LAST_NORM] = 0,
		[LAST_DOT] = -EINVAL,
		[LAST_DOTDOT] = -ENOTEMPTY,
		[LAST_ROOT] = -EBUSY,
	};
	struct as_lib_place p;
	int rc = as_lib_walk(l, text, WALK_PARENT, &p);

	if (!rc)
		rc = refused[p.last];
	if (!rc && p.gone)
		rc = -ENOENT;
	if (!rc)
		rc = l->ops->rmdir(l->fs, as_lib_place_path(&p));
	if (!rc)
		as_lib_track_removed(l, as_lib_place_path(&p));
	as_lib_place_free(&p);
	return rc;
}

int as_lib_unlink_at(struct as_lib *l, const char *text)
{
	struct as_stat st;
	struct as_lib_place p;
	int rc = as_lib_walk(l, text, WALK_PARENT, &p);

	if (!rc && p.last != LAST_NORM)
		rc = -EISDIR;
	if (!rc && (p.slash || p.gone)) {
		rc = type_at(l, &p, &st);
		if (!rc)
			rc = S_ISDIR(st.mode) ? -EISDIR : -ENOTDIR;
	}
	if (!rc)
		rc = l->ops->unlink(l->fs, as_lib_place_path(&p));
	if (!rc)
		as_lib_track_removed(l, as_lib_place_path(&p));
	as_lib_place_free(&p);
	return rc;
}

void as_lib_rmdir(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	as_vfs_answer(out, as_lib_rmdir_at(l, op->path));
}

void as_lib_unlink(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	as_vfs_answer(out, as_lib_unlink_at(l, op->path));
}

/* ---- rename ---------------------------------------------------------------------------------- */

static bool lies_below(const struct as_lib_place *p, const struct as_lib_place *top)
{
	size_t len = top->path.len;

	return p->path.len > len && !memcmp(p->path.data, top->path.data, len) &&
	       p->path.data[len] == '/';
}

/* What do_renameat2() looks at before vfs_rename(): needed only where the library is not asked
 * (slashes, removed directories, flags that it does not have). */
static int rename_check(struct as_lib *l, const struct as_lib_place *from,
			const struct as_lib_place *to, unsigned flags)
{
	struct as_stat old, new;
	int rc = type_at(l, from, &old), new_rc;

	if (rc)
		return rc;
	if (to->too_long)
		return -ENAMETOOLONG;
	new_rc = type_at(l, to, &new);
	if (new_rc && new_rc != -ENOENT)
		return new_rc;
	if (flags & RENAME_NOREPLACE && !new_rc)
		return -EEXIST;
	if (flags & RENAME_EXCHANGE) {
		if (new_rc)
			return -ENOENT;
		if (!S_ISDIR(new.mode) && to->slash)
			return -ENOTDIR;
	}
	if (!S_ISDIR(old.mode) && (from->slash || (!(flags & RENAME_EXCHANGE) && to->slash)))
		return -ENOTDIR;
	if (to->gone)
		return -ENOENT;
	if (lies_below(to, from))
		return -EINVAL;
	if (lies_below(from, to))
		return flags & RENAME_EXCHANGE ? -EINVAL : -ENOTEMPTY;
	return flags && !(l->ops->caps & AS_CAP_RENAME2) ? -EINVAL : 0;
}

static int rename_at(struct as_lib *l, const char *from_text, const char *to_text, unsigned flags)
{
	struct as_lib_place from = { 0 }, to = { 0 };
	int rc;

	if (flags & ~(RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT) ||
	    (flags & RENAME_EXCHANGE && flags & (RENAME_NOREPLACE | RENAME_WHITEOUT)))
		return -EINVAL;
	rc = as_lib_walk_renamed(l, from_text, WALK_PARENT, &from);
	if (!rc)
		rc = as_lib_walk_renamed(l, to_text, WALK_PARENT, &to);
	if (!rc && from.last != LAST_NORM)
		rc = -EBUSY;
	if (!rc && to.last != LAST_NORM)
		rc = flags & RENAME_NOREPLACE ? -EEXIST : -EBUSY;
	if (!rc && from.too_long)
		rc = -ENAMETOOLONG;
	if (!rc && (from.slash || to.slash || from.gone || to.gone || to.too_long ||
		    (flags && !(l->ops->caps & AS_CAP_RENAME2))))
		rc = rename_check(l, &from, &to, flags);
	if (!rc)
		rc = l->ops->rename(l->fs, as_lib_place_path(&from), as_lib_place_path(&to), flags);
	if (!rc)
		as_lib_track_renamed(l, as_lib_place_path(&from), as_lib_place_path(&to),
				     flags & RENAME_EXCHANGE);
	as_lib_place_free(&from);
	as_lib_place_free(&to);
	return rc;
}

void as_lib_rename(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	as_vfs_answer(out, rename_at(l, op->path, op->path2, 0));
}

void as_lib_rename2(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	as_vfs_answer(out, rename_at(l, op->path, op->path2, (unsigned)op->flags));
}

void as_lib_chcwd(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_place p;
	int rc = as_lib_walk(l, op->path, WALK_FOLLOW, &p);

	if (!rc && !S_ISDIR(p.st.mode))
		rc = -ENOTDIR;
	if (!rc)
		rc = as_lib_cwd_set(l, &p);
	as_lib_place_free(&p);
	as_vfs_answer(out, rc);
}
