/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * op_open: open in all its forms, and close. Order of errors: build_open_flags(), then
 * path_openat() with open_last_lookups(), do_open() and may_open() of Linux's fs/namei.c.
 */
#include "model/limits.h"
#include "model/mark.h"
#include "model/rules/rule.h"
#include "model/view.h"

#include <string.h>

static bool wants_write(int64_t flags)
{
	/* open(2): O_TRUNC needs write permission whatever the access mode. */
	return (flags & AS_O_ACCMODE) != 0 || (flags & AS_O_TRUNC);
}

/* Flags that contradict each other, before any path is looked at. */
static int bad_flags(int64_t flags)
{
	if (flags & AS_O_TMPFILE_ONLY) {
		/* open(2): O_TMPFILE needs O_WRONLY or O_RDWR, contains O_DIRECTORY, and excludes
		 * O_CREAT. */
		if (!(flags & AS_O_DIRECTORY) || (flags & AS_O_CREAT))
			return EINVAL;
		/* build_open_flags() asks before O_TRUNC has added to the access mode. */
		return flags & AS_O_ACCMODE ? 0 : EINVAL;
	}
	/* Linux 6.4 and later refuse O_CREAT|O_DIRECTORY. */
	if ((flags & AS_O_CREAT) && (flags & AS_O_DIRECTORY))
		return EINVAL;
	return 0;
}

static void open_now(struct as_rule_step *s, uint32_t ino, bool fresh)
{
	int64_t flags = s->op->flags;
	const struct as_inode *inode = inode_at(s->m, ino);
	bool views = s->m->traits->quirks & AS_QUIRK_OWN_VIEWS;

	/* The slot's former descriptor was closed before the call: see docs/FORMAT.md. */
	if ((flags & AS_O_TRUNC) && is_reg(inode) && !fresh && !views) {
		struct as_ino_pair before;
		struct as_inode *file = as_node_edit(s->m, ino, &before);

		as_rule_changes(s);
		as_stamp(s->m, ino, AS_EVENT_EMPTIED);
		as_content_truncate(file, 0);
		as_rule_drop_setid(s, file);
		as_node_finish(s->m, file, &before);
		as_node_forget_times(s->m, ino, false, true);
	}
	as_model_use(s->m, ino);
	as_file_open(s->m, s->op->slot, ino, flags);
	as_view_open(s->m, s->op->slot, flags & AS_O_TRUNC);
}

static bool special(const struct as_inode *inode)
{
	return S_ISCHR(inode->mode) || S_ISBLK(inode->mode) || S_ISFIFO(inode->mode) ||
	       S_ISSOCK(inode->mode);
}

/* may_open(): no write to what is immutable; "An append-only file must be opened in append mode for
 * writing." */
static bool flags_forbid(int64_t inode_flags, int64_t flags)
{
	if (inode_flags & AS_FS_IMMUTABLE_FL && wants_write(flags))
		return true;
	return inode_flags & AS_FS_APPEND_FL &&
	       (flags & AS_O_TRUNC || (flags & AS_O_ACCMODE && !(flags & AS_O_APPEND)));
}

/* do_open() and may_open() on what was found. */
static void open_found(struct as_rule_step *s, uint32_t ino)
{
	const struct as_inode *inode = inode_at(s->m, ino);
	int64_t flags = s->op->flags;

	/* The executor never opens device nodes, fifos and sockets: it answers ENXIO itself, before
	 * or after the kernel could object. */
	if (special(inode))
		as_rule_allow(s, ENXIO);
	if (flags & AS_O_CREAT) {
		if (flags & AS_O_EXCL)
			return as_rule_refuse(s, EEXIST);
		if (is_dir(inode))
			return as_rule_refuse(s, EISDIR);
	}
	if ((flags & AS_O_DIRECTORY) && !is_dir(inode))
		return as_rule_refuse(s, ENOTDIR);
	if (S_ISLNK(inode->mode))
		return as_rule_refuse(s, ELOOP);
	if (is_dir(inode) && wants_write(flags))
		return as_rule_refuse(s, EISDIR);
	/* sb_permission(); do_open() asks before for O_TRUNC of a regular file. */
	if (is_reg(inode) && wants_write(flags) && as_rule_read_only(s))
		return;
	if (special(inode))
		return as_rule_refuse(s, ENXIO);
	if (flags_forbid(as_inode_flags(inode), flags))
		return as_rule_refuse(s, EPERM);
	if (flags & AS_O_DIRECT) {
		/* open(2): EINVAL where the file system does not support O_DIRECT. */
		if (!as_rule_has(s, AS_FEAT_DIRECT) || is_dir(inode))
			as_rule_allow(s, EINVAL);
	}
	if (as_rule_accept(s, 0))
		open_now(s, ino, false);
}

static void open_create(struct as_rule_step *s, const struct as_walk *w)
{
	struct as_inode *inode;

	/* lookup_open(): create_error */
	if (as_rule_read_only(s))
		return;
	/* may_o_create() */
	if (!as_rule_may_create(s, w->parent))
		return as_rule_refuse(s, EPERM);
	if (!as_rule_room_for_node(s, w->parent))
		return;
	/* An O_DIRECT that is refused may leave the new file in place; the caller avoids that. */
	if ((s->op->flags & AS_O_DIRECT) && !as_rule_has(s, AS_FEAT_DIRECT))
		return as_rule_refuse(s, EINVAL);
	if (!as_rule_accept(s, 0))
		return;
	as_rule_changes(s);
	inode = as_rule_make_node(s, w, S_IFREG | (s->op->mode & 07777));
	as_node_link(s->m, w->parent, w->last, w->last_len, inode->ino);
	open_now(s, inode->ino, true);
}

/* O_PATH: only O_DIRECTORY, O_NOFOLLOW and O_CLOEXEC count beside it (open(2)). */
static void open_path(struct as_rule_step *s)
{
	bool nofollow = s->op->flags & AS_O_NOFOLLOW;
	struct as_walk w = as_walk_path(s->m, s->op->path, nofollow ? WALK_NOFOLLOW : WALK_FOLLOW);

	if (w.err)
		return as_rule_refuse(s, w.err);
	if ((s->op->flags & AS_O_DIRECTORY) && !is_dir(inode_at(s->m, w.ino)))
		return as_rule_refuse(s, ENOTDIR);
	if (as_rule_accept(s, 0))
		as_file_open(s->m, s->op->slot, w.ino, s->op->flags);
}

static void open_tmpfile(struct as_rule_step *s)
{
	/* do_tmpfile(): the lookup of a directory; a link that is not followed is none. */
	struct as_walk w = as_walk_path(s->m, s->op->path,
					s->op->flags & AS_O_NOFOLLOW ? WALK_NOFOLLOW : WALK_FOLLOW);
	struct as_inode *inode;

	if (w.err)
		return as_rule_refuse(s, w.err);
	if (!is_dir(inode_at(s->m, w.ino)))
		return as_rule_refuse(s, ENOTDIR);
	/* do_tmpfile() */
	if (as_rule_read_only(s))
		return;
	/* vfs_tmpfile() asks for permission first. */
	if (!as_rule_may_create(s, w.ino))
		return as_rule_refuse(s, EPERM);
	if (!as_rule_has(s, AS_FEAT_TMPFILE))
		return as_rule_refuse(s, EOPNOTSUPP);
	/* A removed directory: vfs_tmpfile() does not ask, some file systems do. */
	if (inode_at(s->m, w.ino)->nlink == 0)
		as_rule_allow(s, ENOENT);
	if (!as_rule_room_for_node(s, w.ino) || !as_rule_accept(s, 0))
		return;
	w.parent = w.ino;
	inode = as_rule_make_node(s, &w, S_IFREG | (s->op->mode & 07777));
	/* open(2), O_TMPFILE: with O_EXCL it can never be linked. */
	if (!(s->op->flags & AS_O_EXCL))
		inode->flags |= INODE_LINKABLE;
	as_node_orphan(s->m, inode->ino);
	open_now(s, inode->ino, true);
}

/* The last component of an O_CREAT open: links are followed one by one, since the file is made
 * where the last of them points. */
static void open_or_create(struct as_rule_step *s)
{
	bool follow = !(s->op->flags & (AS_O_NOFOLLOW | AS_O_EXCL));
	struct as_walk w = as_walk_path(s->m, s->op->path, WALK_PARENT);
	unsigned links = 0;

	for (;;) {
		if (w.err)
			return as_rule_refuse(s, w.err);
		if (w.type != LAST_NAME) {
			uint32_t ino = w.parent;

			if (w.type == LAST_DOTDOT && ino != MODEL_ROOT)
				ino = inode_at(s->m, ino)->link.parent;
			return open_found(s, ino);
		}
		/* open_last_lookups(): "trailing slashes?" */
		if (w.slash)
			return as_rule_refuse(s, EISDIR);
		as_walk_last(s->m, &w);
		if (w.err)
			return as_rule_refuse(s, w.err);
		if (!w.ino)
			return open_create(s, &w);
		if (!follow || !S_ISLNK(inode_at(s->m, w.ino)->mode))
			return open_found(s, w.ino);
		if (links++ >= MODEL_SYMLINKS_MAX)
			return as_rule_refuse(s, ELOOP);
		w = as_walk_from(s->m, w.parent, inode_at(s->m, w.ino)->text->s, WALK_PARENT,
				 &links);
	}
}

void as_rule_open(struct as_rule_step *s)
{
	int64_t flags = s->op->flags;
	struct as_walk w;
	int err;

	/* The executor closes what the slot held before it opens, whatever comes of it. */
	if (s->applying || s->got)
		as_file_close(s->m, s->op->slot);
	if (flags & AS_O_PATH)
		return open_path(s);
	err = bad_flags(flags);
	if (err)
		return as_rule_refuse(s, err);
	if (flags & AS_O_TMPFILE_ONLY)
		return open_tmpfile(s);
	if (flags & AS_O_CREAT)
		return open_or_create(s);
	w = as_walk_path(s->m, s->op->path, flags & AS_O_NOFOLLOW ? WALK_NOFOLLOW : WALK_FOLLOW);
	if (w.err)
		return as_rule_refuse(s, w.err);
	open_found(s, w.ino);
}

void as_rule_close(struct as_rule_step *s)
{
	if (!as_rule_fd_file(s, s->op->fd, true))
		return;
	if (as_rule_accept(s, 0))
		as_file_close(s->m, s->op->fd);
}
