/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lib_attr: attributes, extended attributes, statfs. */
#include "vfs/lib_priv.h"
#include "work/acl.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define XATTR_NAME_MAX 255u
#define XATTR_SIZE_MAX 65536u
#define XATTR_LIST_MAX 65536u
/* For an answer of so many bytes, which is asked for twice, and for what follows it. */
#define ROOM(max) (2 * (max) + AS_LIB_GUARD)

static enum as_lib_walk by_nofollow(const struct as_op *op)
{
	return op->nofollow ? WALK_NOFOLLOW : WALK_FOLLOW;
}

static void answer_stat(struct as_outcome *out, int rc, const struct as_stat *st)
{
	as_vfs_answer(out, rc);
	if (rc)
		return;
	out->payload = AS_PAYLOAD_STAT;
	out->st = *st;
}

void as_lib_stat(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_place p;
	int rc = as_lib_walk(l, op->path, by_nofollow(op), &p);

	answer_stat(out, rc, &p.st);
	as_lib_place_free(&p);
}

/* A library does not say when a file was made. */
void as_lib_statx(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	if (op->flags & STATX__RESERVED)
		as_vfs_answer(out, -EINVAL);
	else
		as_lib_stat(l, op, out);
	if (out->payload == AS_PAYLOAD_STAT)
		out->stx = (struct as_statx){ .known = true, .mask = AS_STATX_BASIC_STATS };
}

void as_lib_fstat(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_slot *slot = as_lib_slot_get(l, op->fd);
	struct as_stat st = { 0 };

	answer_stat(out, slot ? as_lib_slot_stat(l, slot, &st) : -EBADF, &st);
}

/* readlink(2): a buffer that is too short gets the beginning of the text, and one that is as long
 * as the text is long enough. Asks again, with one that has room for so many bytes, and gives what
 * the answer is then. */
static int64_t readlink_again(struct as_lib *l, const char *path, int64_t n, int64_t room)
{
	char *text = l->vfs.data.data, *again = text + AS_VFS_PATH_MAX;
	int64_t got;

	as_lib_guard(again + room);
	got = as_vfs_fitting(l->ops->readlink(l->fs, path, again, (size_t)room), (size_t)room);
	as_lib_look_at_guard(l, again + room);
	if (got != room)
		return got;
	memcpy(text, again, (size_t)got); /* the model compares it */
	return n;
}

void as_lib_readlink(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_place p;
	int64_t rc = as_lib_walk(l, op->path, WALK_NOFOLLOW, &p);

	/* A slash after a link made the walk follow it, so what was found is a directory. */
	if (!rc && !S_ISLNK(p.st.mode))
		rc = -EINVAL;
	if (!rc) {
		as_buf_clear(&l->vfs.data);
		rc = l->ops->readlink(l->fs, as_lib_place_path(&p),
				      as_buf_reserve(&l->vfs.data, ROOM(AS_VFS_PATH_MAX)),
				      AS_VFS_PATH_MAX);
		rc = as_vfs_fitting(rc, AS_VFS_PATH_MAX);
	}
	if (rc > 1)
		rc = readlink_again(l, as_lib_place_path(&p), rc, rc - 1);
	if (rc > 0)
		rc = readlink_again(l, as_lib_place_path(&p), rc, rc);
	as_vfs_answer_bytes(&l->vfs, out, rc);
	as_lib_place_free(&p);
}

/* ---- Setting --------------------------------------------------------------------------------- */

static int set_at(struct as_lib *l, const struct as_lib_place *p, const struct as_stat *st,
		  unsigned set)
{
	if (!p->gone)
		return l->ops->setattr(l->fs, as_lib_place_path(p), st, set);
	if (p->gone == l->cwd.gone && l->cwd.handle)
		return l->ops->fsetattr(l->fs, l->cwd.handle, st, set);
	return -AS_ERR_UNSUPPORTED;
}

/* A library that keeps no modes is not asked to change them, and the answer is that of Linux's file
 * systems without them (vfat): done. Owners and times are refused. */
static bool has_modes(const struct as_lib *l)
{
	return l->ops->caps & AS_CAP_OWNER;
}

void as_lib_chmod(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_stat st = { .mode = op->mode & 07777 };
	struct as_lib_place p;
	int rc = as_lib_walk(l, op->path, WALK_FOLLOW, &p);

	if (!rc && has_modes(l))
		rc = set_at(l, &p, &st, AS_SET_MODE);
	as_lib_place_free(&p);
	as_vfs_answer(out, rc);
}

void as_lib_fchmod(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_slot *slot = as_lib_slot_get_file(l, op->fd);
	struct as_stat st = { .mode = op->mode & 07777 };
	int rc = slot ? 0 : -EBADF;

	if (slot && has_modes(l))
		rc = l->ops->fsetattr(l->fs, slot->handle, &st, AS_SET_MODE);
	as_vfs_answer(out, rc);
}

/* fs/open.c, chown_common(): whoever asks and whatever for, set-id bits go, but for directories and
 * for a set-group-id bit of a file that its group may not execute. */
static unsigned drop_set_id(const struct as_stat *old, struct as_stat *st)
{
	uint32_t drop = S_ISUID | (old->mode & S_IXGRP ? S_ISGID : 0);

	if (S_ISDIR(old->mode) || S_ISLNK(old->mode) || !(old->mode & drop))
		return 0;
	st->mode = old->mode & ~drop;
	return AS_SET_MODE;
}

void as_lib_chown(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_stat st = { 0 };
	unsigned set = 0;
	struct as_lib_place p;
	int rc = as_lib_walk(l, op->path, by_nofollow(op), &p);

	if (op->uid >= 0) {
		st.uid = (uint32_t)op->uid;
		set |= AS_SET_UID;
	}
	if (op->gid >= 0) {
		st.gid = (uint32_t)op->gid;
		set |= AS_SET_GID;
	}
	if (!rc && !has_modes(l))
		rc = -EPERM;
	if (!rc)
		set |= drop_set_id(&p.st, &st);
	if (!rc && set)
		rc = set_at(l, &p, &st, set);
	as_lib_place_free(&p);
	as_vfs_answer(out, rc);
}

void as_lib_utimens(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	uint64_t now = l->host->now_ns(l->host->ctx);
	struct as_stat st = { 0 };
	unsigned set = 0;
	struct as_lib_place p = { 0 };
	int rc = 0;

	if (op->atime != AS_TIME_OMIT) {
		st.atime_ns = op->atime == AS_TIME_NOW ? (int64_t)now : op->atime;
		set |= AS_SET_ATIME;
	}
	if (op->mtime != AS_TIME_OMIT) {
		st.mtime_ns = op->mtime == AS_TIME_NOW ? (int64_t)now : op->mtime;
		set |= AS_SET_MTIME;
	}
	/* With nothing to set not even the path is looked at: fs/utimes.c. */
	if (set)
		rc = as_lib_walk(l, op->path, by_nofollow(op), &p);
	if (!rc && set && !(l->ops->caps & AS_CAP_TIMES))
		rc = -EPERM;
	if (!rc && set)
		rc = set_at(l, &p, &st, set);
	as_lib_place_free(&p);
	as_vfs_answer(out, rc);
}

/* ---- Extended attributes --------------------------------------------------------------------- */

/* fs/xattr.c: what strncpy_from_user() of the name leads to. */
static int xattr_name_check(const char *name)
{
	size_t len = strnlen(name, XATTR_NAME_MAX + 1);

	return !len || len > XATTR_NAME_MAX ? -ERANGE : 0;
}

/* fs/xattr.c, xattr_permission() and xattr_resolve_name(), for a privileged caller: user.* lives on
 * files and directories only; a library has the three namespaces that need no help of a kernel. */
static int xattr_allowed(const struct as_lib *l, const struct as_lib_place *p, const char *name,
			 bool writes)
{
	static const char *const spaces[] = { "user.", "trusted.", "security." };
	size_t i, len = 0;

	if (!strncmp(name, "user.", 5) && !S_ISREG(p->st.mode) && !S_ISDIR(p->st.mode))
		return writes ? -EPERM : -ENODATA;
	if (!(l->ops->caps & AS_CAP_XATTR))
		return -EOPNOTSUPP;
	for (i = 0; i < 3; i++) {
		len = strlen(spaces[i]);
		if (!strncmp(name, spaces[i], len))
			break;
	}
	if (i == 3)
		return -EOPNOTSUPP;
	if (!name[len])
		return -EINVAL;
	return p->gone ? -AS_ERR_UNSUPPORTED : 0;
}

/* Asks for a value once more, in a place that has room for so many bytes. */
static int64_t getxattr_into(struct as_lib *l, const struct as_lib_place *p, const char *name,
			     int64_t at, int64_t room)
{
	char *value = l->vfs.data.data + at;
	int64_t rc;

	as_lib_guard(value + room);
	rc = l->ops->getxattr(l->fs, as_lib_place_path(p), name, value, (size_t)room);
	as_lib_look_at_guard(l, value + room);
	return rc;
}

void as_lib_write_xattr(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_place p = { 0 };
	int rc = op->flags & ~(int64_t)AS_XATTR_ALL ? -EINVAL : xattr_name_check(op->name);

	if (!rc && op->len > XATTR_SIZE_MAX)
		rc = -E2BIG;
	if (!rc)
		rc = as_lib_walk(l, op->path, by_nofollow(op), &p);
	if (!rc)
		rc = xattr_allowed(l, &p, op->name, true);
	if (!rc) {
		as_buf_clear(&l->vfs.data);
		as_pattern_fill(op->fill, 0, as_buf_reserve(&l->vfs.data, op->len), op->len);
		rc = l->ops->setxattr(l->fs, as_lib_place_path(&p), op->name, l->vfs.data.data,
				      op->len, (unsigned)op->flags);
	}
	as_lib_place_free(&p);
	as_vfs_answer(out, rc);
}

void as_lib_read_xattr(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_place p = { 0 };
	int64_t rc = xattr_name_check(op->name);

	if (!rc)
		rc = as_lib_walk(l, op->path, by_nofollow(op), &p);
	if (!rc)
		rc = xattr_allowed(l, &p, op->name, false);
	if (!rc) {
		as_buf_clear(&l->vfs.data);
		rc = l->ops->getxattr(l->fs, as_lib_place_path(&p), op->name,
				      as_buf_reserve(&l->vfs.data, ROOM(XATTR_SIZE_MAX)),
				      XATTR_SIZE_MAX);
		rc = as_vfs_fitting(rc, XATTR_SIZE_MAX);
	}
	if (rc > 1)
		rc = as_vfs_cramped(rc, getxattr_into(l, &p, op->name, rc, rc - 1));
	if (rc > 0)
		rc = as_vfs_exact(rc, getxattr_into(l, &p, op->name, 0, rc));
	as_vfs_answer_bytes(&l->vfs, out, rc);
	as_lib_place_free(&p);
}

static int64_t listxattr_into(struct as_lib *l, const struct as_lib_place *p, int64_t at,
			      int64_t room)
{
	char *list = l->vfs.data.data + at;
	int64_t rc;

	as_lib_guard(list + room);
	rc = l->ops->listxattr(l->fs, as_lib_place_path(p), list, (size_t)room);
	as_lib_look_at_guard(l, list + room);
	return rc;
}

void as_lib_listxattr(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_vfs_names names = { 0 };
	struct as_lib_place p;
	int64_t rc = as_lib_walk(l, op->path, by_nofollow(op), &p);

	if (!rc && !(l->ops->caps & AS_CAP_XATTR))
		rc = -EOPNOTSUPP;
	if (!rc && p.gone)
		rc = -AS_ERR_UNSUPPORTED;
	if (!rc) {
		as_buf_clear(&l->vfs.data);
		/* More: it may lack the NUL at its end, and is asked for twice. */
		rc = l->ops->listxattr(l->fs, as_lib_place_path(&p),
				       as_buf_reserve(&l->vfs.data, ROOM(XATTR_LIST_MAX)),
				       XATTR_LIST_MAX);
		rc = as_vfs_fitting(rc, XATTR_LIST_MAX);
	}
	if (rc > 1)
		rc = as_vfs_cramped(rc, listxattr_into(l, &p, rc, rc - 1));
	if (rc > 0)
		rc = as_vfs_exact(rc, listxattr_into(l, &p, 0, rc));
	if (rc < 0) {
		as_vfs_answer(out, rc);
	} else {
		l->vfs.data.data[rc] = '\0';
		for (int64_t i = 0; i < rc; i += (int64_t)strlen(l->vfs.data.data + i) + 1)
			(void)!as_vfs_names_add(&names, 0, l->vfs.data.data + i);
		as_vfs_answer_names(&l->vfs, out, &names, false);
	}
	as_vfs_names_free(&names);
	as_lib_place_free(&p);
}

void as_lib_removexattr(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_place p = { 0 };
	int rc = xattr_name_check(op->name);

	if (!rc)
		rc = as_lib_walk(l, op->path, by_nofollow(op), &p);
	if (!rc)
		rc = xattr_allowed(l, &p, op->name, true);
	if (!rc)
		rc = l->ops->removexattr(l->fs, as_lib_place_path(&p), op->name);
	as_lib_place_free(&p);
	as_vfs_answer(out, rc);
}

/* Lists and handles are the VFS's: a library has none, whatever attributes it has. */
static int not_there(struct as_lib *l, const struct as_op *op)
{
	struct as_lib_place p = { 0 };
	int rc = as_lib_walk(l, op->path, by_nofollow(op), &p);

	as_lib_place_free(&p);
	return rc ? rc : -EOPNOTSUPP;
}

void as_lib_setacl(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_acl acl;

	as_vfs_answer(out, as_acl_parse(op->name, &acl) ? not_there(l, op) : -EINVAL);
}

void as_lib_getacl(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	as_vfs_answer(out, not_there(l, op));
}

void as_lib_handle(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	as_vfs_answer(out, not_there(l, op));
}

/* None can have been remembered. */
void as_lib_openhandle(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	(void)l;
	(void)op;
	as_vfs_answer(out, -EBADF);
}

void as_lib_statfs(struct as_lib *l, const struct as_op *op, struct as_outcome *out)
{
	struct as_lib_place p;
	int rc = as_lib_walk(l, op->path, WALK_FOLLOW, &p);

	if (!rc)
		rc = l->ops->caps & AS_CAP_STATFS ? l->ops->statfs(l->fs, &out->sfs) : -EOPNOTSUPP;
	if (!rc)
		out->payload = AS_PAYLOAD_STATFS;
	as_vfs_answer(out, rc);
	as_lib_place_free(&p);
}
