/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * op_open: open in all its forms, and close. Order of errors: build_open_flags(), then
 * path_openat() with open_last_lookups(), do_open() and may_open() of Linux's fs/namei.c.
 */
#include "model/rule.h"

#include <string.h>

static bool wants_write(int64_t flags)
{
	/* open(2): O_TRUNC needs write permission whatever the access mode. */
	return (flags & O_ACC) != 0 || (flags & O_TRUNC_BIT);
}

/* Flags that contradict each other, before any path is looked at. */
static int bad_flags(int64_t flags)
{
	if (flags & O_TMPFILE_BIT) {
		/* open(2): O_TMPFILE needs O_WRONLY or O_RDWR, contains O_DIRECTORY, and excludes
		 * O_CREAT. */
		if (!(flags & O_DIRECTORY_BIT) || (flags & O_CREAT_BIT))
			return EINVAL;
		/* build_open_flags() asks before O_TRUNC has added to the access mode. */
		return flags & O_ACC ? 0 : EINVAL;
	}
	/* Linux 6.4 and later refuse O_CREAT|O_DIRECTORY. */
	if ((flags & O_CREAT_BIT) && (flags & O_DIRECTORY_BIT))
		return EINVAL;
	return 0;
}

static void open_now(struct step *s, uint32_t ino, bool fresh)
{
	int64_t flags = s->op->flags;
	const struct inode *inode = inode_at(s->m, ino);

	/* The slot's former descriptor was closed before the call: see docs/FORMAT.md. */
	if ((flags & O_TRUNC_BIT) && is_reg(inode) && !fresh) {
		struct pair before;
		struct inode *file = node_edit(s->m, ino, &before);

		changes(s);
		content_truncate(file, 0);
		drop_setid(s, file);
		node_finish(s->m, file, &before);
		node_forget_times(s->m, ino, false, true);
	}
	use(s->m, ino);
	file_open(s->m, s->op->slot, ino, flags);
}

static bool special(const struct inode *inode)
{
	return S_ISCHR(inode->mode) || S_ISBLK(inode->mode) || S_ISFIFO(inode->mode) ||
	       S_ISSOCK(inode->mode);
}

/* do_open() and may_open() on what was found. */
static void open_found(struct step *s, uint32_t ino)
{
	const struct inode *inode = inode_at(s->m, ino);
	int64_t flags = s->op->flags;

	/* The executor never opens device nodes, fifos and sockets: it answers ENXIO itself, before
	 * or after the kernel could object. */
	if (special(inode))
		allow(s, ENXIO);
	if (flags & O_CREAT_BIT) {
		if (flags & O_EXCL_BIT)
			return refuse(s, EEXIST);
		if (is_dir(inode))
			return refuse(s, EISDIR);
	}
	if ((flags & O_DIRECTORY_BIT) && !is_dir(inode))
		return refuse(s, ENOTDIR);
	if (S_ISLNK(inode->mode))
		return refuse(s, ELOOP);
	if (is_dir(inode) && wants_write(flags))
		return refuse(s, EISDIR);
	if (special(inode))
		return refuse(s, ENXIO);
	if (flags & O_DIRECT_BIT) {
		/* open(2): EINVAL where the file system does not support O_DIRECT. */
		if (!has(s, AS_FEAT_DIRECT) || is_dir(inode))
			allow(s, EINVAL);
	}
	if (accept(s, 0))
		open_now(s, ino, false);
}

static void open_create(struct step *s, const struct walk *w)
{
	struct inode *inode;

	allow_full(s);
	/* An O_DIRECT that is refused may leave the new file behind; the caller avoids it. */
	if ((s->op->flags & O_DIRECT_BIT) && !has(s, AS_FEAT_DIRECT))
		return refuse(s, EINVAL);
	if (!accept(s, 0))
		return;
	changes(s);
	inode = make_node(s, w, S_IFREG | (s->op->mode & 07777));
	node_link(s->m, w->parent, w->last, w->last_len, inode->ino);
	open_now(s, inode->ino, true);
}

/* O_PATH: only O_DIRECTORY, O_NOFOLLOW and O_CLOEXEC count beside it (open(2)). */
static void open_path(struct step *s)
{
	bool nofollow = s->op->flags & O_NOFOLLOW_BIT;
	struct walk w = walk_path(s->m, s->op->path, nofollow ? WALK_NOFOLLOW : WALK_FOLLOW);

	if (w.err)
		return refuse(s, w.err);
	if ((s->op->flags & O_DIRECTORY_BIT) && !is_dir(inode_at(s->m, w.ino)))
		return refuse(s, ENOTDIR);
	if (accept(s, 0))
		file_open(s->m, s->op->slot, w.ino, s->op->flags);
}

static void open_tmpfile(struct step *s)
{
	/* do_tmpfile(): the lookup of a directory; a link that is not followed is none. */
	struct walk w = walk_path(s->m, s->op->path,
				  s->op->flags & O_NOFOLLOW_BIT ? WALK_NOFOLLOW : WALK_FOLLOW);
	struct inode *inode;

	if (w.err)
		return refuse(s, w.err);
	if (!is_dir(inode_at(s->m, w.ino)))
		return refuse(s, ENOTDIR);
	if (!has(s, AS_FEAT_TMPFILE))
		return refuse(s, EOPNOTSUPP);
	/* A removed directory: vfs_tmpfile() does not ask, some file systems do. */
	if (inode_at(s->m, w.ino)->nlink == 0)
		allow(s, ENOENT);
	allow_full(s);
	if (!accept(s, 0))
		return;
	w.parent = w.ino;
	inode = make_node(s, &w, S_IFREG | (s->op->mode & 07777));
	/* open(2), O_TMPFILE: with O_EXCL it can never be linked. */
	if (!(s->op->flags & O_EXCL_BIT))
		inode->flags |= INODE_LINKABLE;
	node_orphan(s->m, inode->ino);
	open_now(s, inode->ino, true);
}

/* The last component of an O_CREAT open: links are followed one by one, since the file is made
 * where the last of them points. */
static void open_or_create(struct step *s)
{
	bool follow = !(s->op->flags & (O_NOFOLLOW_BIT | O_EXCL_BIT));
	struct walk w = walk_path(s->m, s->op->path, WALK_PARENT);
	unsigned links = 0;

	for (;;) {
		if (w.err)
			return refuse(s, w.err);
		if (w.type != LAST_NAME) {
			uint32_t ino = w.parent;

			if (w.type == LAST_DOTDOT && ino != MODEL_ROOT)
				ino = inode_at(s->m, ino)->link.parent;
			return open_found(s, ino);
		}
		/* open_last_lookups(): "trailing slashes?" */
		if (w.slash)
			return refuse(s, EISDIR);
		walk_last(s->m, &w);
		if (w.err)
			return refuse(s, w.err);
		if (!w.ino)
			return open_create(s, &w);
		if (!follow || !S_ISLNK(inode_at(s->m, w.ino)->mode))
			return open_found(s, w.ino);
		if (links++ >= MODEL_SYMLINKS_MAX)
			return refuse(s, ELOOP);
		w = walk_from(s->m, w.parent, inode_at(s->m, w.ino)->text->s, WALK_PARENT, &links);
	}
}

void step_OPEN(struct step *s)
{
	int64_t flags = s->op->flags;
	struct walk w;
	int err;

	/* The executor closes what the slot held before it opens, whatever comes of it. */
	if (s->applying || s->got)
		file_close(s->m, s->op->slot);
	if (flags & O_PATH_BIT)
		return open_path(s);
	err = bad_flags(flags);
	if (err)
		return refuse(s, err);
	if (flags & O_TMPFILE_BIT)
		return open_tmpfile(s);
	if (flags & O_CREAT_BIT)
		return open_or_create(s);
	w = walk_path(s->m, s->op->path, flags & O_NOFOLLOW_BIT ? WALK_NOFOLLOW : WALK_FOLLOW);
	if (w.err)
		return refuse(s, w.err);
	open_found(s, w.ino);
}

void step_CLOSE(struct step *s)
{
	if (!fd_file(s, s->op->fd, true))
		return;
	if (accept(s, 0))
		file_close(s->m, s->op->fd);
}
