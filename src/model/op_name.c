/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * op_name: operations on names: making, linking, renaming and removing. The order in which errors
 * are found is that of Linux's fs/namei.c; each rule names the function or manual page it is from.
 */
#include "model/rule.h"

#include <string.h>

/* A directory's link count is 2 and one for each subdirectory; some types bound it (mkdir(2),
 * rename(2): EMLINK). */
static bool dir_is_full(const struct step *s, uint32_t dir)
{
	uint32_t max = s->m->traits->dir_link_max;

	return max && inode_at(s->m, dir)->nlink >= max;
}

void step_MKDIR(struct step *s)
{
	uint32_t umask = s->m->traits->quirks & AS_QUIRK_MKDIR_022 ? 022 : 0;
	struct walk w = walk_path(s->m, s->op->path, WALK_PARENT);
	struct inode *inode;
	int err = can_create(s, &w, true);

	if (err)
		return refuse(s, err);
	if (dir_is_full(s, w.parent))
		return refuse(s, EMLINK);
	allow_full(s);
	if (!accept(s, 0))
		return;
	changes(s);
	/* vfs_mkdir(): only rwx and the sticky bit of the mode count. */
	inode = make_node(s, &w, S_IFDIR | (s->op->mode & 01777 & ~umask));
	node_link(s->m, w.parent, w.last, w.last_len, inode->ino);
}

void step_CREATE(struct step *s)
{
	struct walk w = walk_path(s->m, s->op->path, WALK_PARENT);
	struct inode *inode;

	if (w.err)
		return refuse(s, w.err);
	/* do_open(): O_CREAT|O_EXCL on what exists is EEXIST, also for ".", ".." and "/"
	 * (open(2)); open_last_lookups(): a trailing slash with O_CREAT is EISDIR. */
	if (w.type != LAST_NAME)
		return refuse(s, EEXIST);
	if (w.slash)
		return refuse(s, EISDIR);
	walk_last(s->m, &w);
	if (w.err)
		return refuse(s, w.err);
	if (w.ino)
		return refuse(s, EEXIST);
	allow_full(s);
	if (!accept(s, 0))
		return;
	changes(s);
	inode = make_node(s, &w, S_IFREG | (s->op->mode & 07777));
	node_link(s->m, w.parent, w.last, w.last_len, inode->ino);
}

void step_MKNOD(struct step *s)
{
	uint32_t type = as_op_node_type(s->op);
	bool device = type == S_IFCHR || type == S_IFBLK;
	bool whiteout = type == S_IFCHR && s->op->dev == 0;
	struct inode *inode;
	struct walk w;
	int err = as_op_mknod_refused(s->op);

	if (err)
		return refuse(s, err);
	w = walk_path(s->m, s->op->path, WALK_PARENT);
	err = can_create(s, &w, false);
	if (err)
		return refuse(s, err);
	/* mknod(2): EPERM without CAP_MKNOD (a 0:0 character device is a whiteout and free since
	 * Linux 5.8), and where the type has no nodes. */
	if (!has(s, AS_FEAT_MKNOD) && type != S_IFREG)
		return refuse(s, EPERM);
	if (has(s, AS_FEAT_UNPRIVILEGED) && device && !whiteout)
		return refuse(s, EPERM);
	allow_full(s);
	if (!accept(s, 0))
		return;
	changes(s);
	inode = make_node(s, &w, type | (s->op->mode & 07777));
	if (device)
		inode->rdev = s->op->dev;
	node_link(s->m, w.parent, w.last, w.last_len, inode->ino);
}

void step_SYMLINK(struct step *s)
{
	const char *text = s->op->path;
	size_t len = strlen(text);
	struct walk w;
	struct inode *inode;
	int err;

	/* symlink(2): the text is fetched with getname(): "" is ENOENT, too long ENAMETOOLONG;
	 * before the new path is looked at. */
	if (len == 0)
		return refuse(s, ENOENT);
	if (len >= MODEL_PATH_MAX)
		return refuse(s, ENAMETOOLONG);
	w = walk_path(s->m, s->op->path2, WALK_PARENT);
	err = can_create(s, &w, false);
	if (err)
		return refuse(s, err);
	if (!has(s, AS_FEAT_SYMLINK))
		return refuse(s, EPERM);
	if (len > s->m->traits->symlink_max)
		return refuse(s, ENAMETOOLONG);
	allow_full(s);
	if (!accept(s, 0))
		return;
	changes(s);
	inode = make_node(s, &w, S_IFLNK | 0777);
	inode->text = name_new(text, len);
	node_link(s->m, w.parent, w.last, w.last_len, inode->ino);
}

static void link_inode(struct step *s, uint32_t ino, struct walk *w)
{
	const struct inode *inode = inode_at(s->m, ino);
	int err = can_create(s, w, false);
	uint32_t max = s->m->traits->link_max;

	if (err)
		return refuse(s, err);
	/* link(2): EPERM for a directory, and where the type has no hard links. */
	if (is_dir(inode) || !has(s, AS_FEAT_HARDLINK))
		return refuse(s, EPERM);
	/* vfs_link(): no link to a removed inode unless O_TMPFILE made it linkable. */
	if (inode->nlink == 0 && !(inode->flags & INODE_LINKABLE))
		return refuse(s, ENOENT);
	if (max && inode->nlink >= max)
		return refuse(s, EMLINK);
	allow_full(s);
	if (!accept(s, 0))
		return;
	changes(s);
	node_link(s->m, w->parent, w->last, w->last_len, ino);
}

void step_HARDLINK(struct step *s)
{
	/* linkat(2) without AT_SYMLINK_FOLLOW: a link is linked, not followed. */
	struct walk old = walk_path(s->m, s->op->path, WALK_NOFOLLOW);
	struct walk w;

	if (old.err)
		return refuse(s, old.err);
	w = walk_path(s->m, s->op->path2, WALK_PARENT);
	link_inode(s, old.ino, &w);
}

void step_LINK_TMPFILE(struct step *s)
{
	struct file *file = file_at(s->m, s->op->fd);
	struct walk w;

	if (!file)
		return refuse(s, EBADF);
	w = walk_path(s->m, s->op->path, WALK_PARENT);
	link_inode(s, file->ino, &w);
}

/* ---- rename ---- */

/* do_renameat2(), up to vfs_rename(): what the names and the directories above them forbid. */
static int rename_names(struct step *s, struct walk *from, struct walk *to, int64_t flags)
{
	const struct as_model *m = s->m;
	bool exchange = flags & 2;

	if (from->type != LAST_NAME)
		return EBUSY;
	if (to->type != LAST_NAME)
		return flags & 1 ? EEXIST : EBUSY;
	walk_last(m, from);
	if (from->err || !from->ino)
		return from->err ? from->err : ENOENT;
	walk_last(m, to);
	if (to->err)
		return to->err;
	if ((flags & 1) && to->ino)
		return EEXIST;
	if (exchange) {
		if (!to->ino)
			return ENOENT;
		if (!is_dir(inode_at(m, to->ino)) && to->slash)
			return ENOTDIR;
	}
	/* "unless the source is a directory trailing slashes give -ENOTDIR" */
	if (!is_dir(inode_at(m, from->ino)) && (from->slash || (!exchange && to->slash)))
		return ENOTDIR;
	if (from->parent == to->parent)
		return 0;
	/* rename(2), EINVAL: "make a directory a subdirectory of itself". */
	if (is_dir(inode_at(m, from->ino)) && walk_is_above(m, from->ino, to->parent))
		return EINVAL;
	if (to->ino && is_dir(inode_at(m, to->ino)) && walk_is_above(m, to->ino, from->parent))
		return exchange ? EINVAL : ENOTEMPTY;
	return 0;
}

/* vfs_rename(): what the two inodes forbid. */
static int rename_kinds(struct step *s, const struct walk *from, const struct walk *to,
			bool exchange)
{
	const struct inode *src = inode_at(s->m, from->ino);
	const struct inode *dst = to->ino ? inode_at(s->m, to->ino) : NULL;
	bool move = from->parent != to->parent;

	if (dst && !exchange) {
		/* may_delete(): rename(2), ENOTDIR and EISDIR. */
		if (is_dir(src) && !is_dir(dst))
			return ENOTDIR;
		if (!is_dir(src) && is_dir(dst))
			return EISDIR;
	}
	if (move && is_dir(src) && !(dst && is_dir(dst)) && dir_is_full(s, to->parent))
		return EMLINK;
	if (move && exchange && is_dir(dst) && !is_dir(src) && dir_is_full(s, from->parent))
		return EMLINK;
	/* rename(2): ENOTEMPTY "or EEXIST"; most file systems say ENOTEMPTY. */
	if (dst && !exchange && is_dir(dst) && dst->dir.children)
		return s->m->traits->quirks & AS_QUIRK_RENAME_EEXIST ? EEXIST : ENOTEMPTY;
	return 0;
}

static bool rename_flags_known(const struct step *s, int64_t flags)
{
	return (!(flags & 1) || has(s, AS_FEAT_RENAME_NOREPLACE)) &&
	       (!(flags & 2) || has(s, AS_FEAT_RENAME_EXCHANGE)) &&
	       (!(flags & 4) || has(s, AS_FEAT_RENAME_WHITEOUT));
}

static void rename_now(struct step *s, const struct walk *from, const struct walk *to,
		       int64_t flags)
{
	struct as_model *m = s->m;
	struct inode *whiteout;

	if (flags & 2) {
		node_exchange(m, from->parent, from->last, from->last_len, to->parent, to->last,
			      to->last_len);
		return;
	}
	if (to->ino)
		node_unlink(m, to->parent, to->last, to->last_len);
	node_move(m, from->parent, from->last, from->last_len, to->parent, to->last, to->last_len);
	if (flags & 4) {
		/* rename(2), RENAME_WHITEOUT: a character device 0:0 takes the old name. */
		whiteout = make_node(s, from, S_IFCHR);
		node_link(m, from->parent, from->last, from->last_len, whiteout->ino);
	}
}

static void moved_times(struct step *s, const struct walk *from, const struct walk *to,
			int64_t flags)
{
	const struct inode *other = to->ino && (flags & 2) ? inode_at(s->m, to->ino) : NULL;

	if (!(s->m->traits->quirks & AS_QUIRK_MOVE_TOUCHES) || from->parent == to->parent)
		return;
	if (is_dir(inode_at(s->m, from->ino)))
		node_forget_times(s->m, from->ino, false, true);
	if (other && is_dir(other))
		node_forget_times(s->m, to->ino, false, true);
}

static void refused_whiteout(struct step *s, const struct walk *from, int64_t flags)
{
	if ((flags & 4) && (s->m->traits->quirks & AS_QUIRK_WHITEOUT_TOUCHES) &&
	    (s->applying || s->got))
		node_forget_times(s->m, from->parent, false, true);
}

static void rename_step(struct step *s, int64_t flags)
{
	struct walk from, to;
	int err;

	/* rename(2), EINVAL: flags that exclude each other. */
	if ((flags & 2) && (flags & 5))
		return refuse(s, EINVAL);
	from = walk_path(s->m, s->op->path, WALK_PARENT);
	if (from.err)
		return refuse(s, from.err);
	to = walk_path(s->m, s->op->path2, WALK_PARENT);
	if (to.err)
		return refuse(s, to.err);
	err = rename_names(s, &from, &to, flags);
	if (err)
		return refuse(s, err);
	/* rename(2): "If oldpath and newpath are existing hard links referring to the same file,
	 * then rename() does nothing, and returns a success status." */
	if (from.ino == to.ino) {
		if (!rename_flags_known(s, flags))
			allow(s, EINVAL);
		(void)accept(s, 0);
		return;
	}
	err = rename_kinds(s, &from, &to, flags & 2);
	if (!rename_flags_known(s, flags)) {
		if (err)
			allow(s, err);
		return refuse(s, EINVAL);
	}
	if (err) {
		refused_whiteout(s, &from, flags);
		return refuse(s, err);
	}
	allow_full(s);
	if (!accept(s, 0))
		return;
	changes(s);
	moved_times(s, &from, &to, flags);
	rename_now(s, &from, &to, flags);
}

void step_RENAME(struct step *s)
{
	rename_step(s, 0);
}

void step_RENAME2(struct step *s)
{
	rename_step(s, s->op->flags);
}

/* ---- Removing ---- */

void step_UNLINK(struct step *s)
{
	struct walk w = walk_path(s->m, s->op->path, WALK_PARENT);

	if (w.err)
		return refuse(s, w.err);
	/* do_unlinkat(): ".", ".." and "/" are directories; so is what a slash asks for. */
	if (w.type != LAST_NAME)
		return refuse(s, EISDIR);
	walk_last(s->m, &w);
	if (w.err || !w.ino)
		return refuse(s, w.err ? w.err : ENOENT);
	if (is_dir(inode_at(s->m, w.ino)))
		return refuse(s, EISDIR);
	if (w.slash)
		return refuse(s, ENOTDIR);
	if ((s->m->traits->quirks & AS_QUIRK_NO_OPEN_UNLINKED) && inode_at(s->m, w.ino)->opens)
		allow(s, EBUSY);
	if (!accept(s, 0))
		return;
	changes(s);
	node_unlink(s->m, w.parent, w.last, w.last_len);
}

void step_RMDIR(struct step *s)
{
	struct walk w = walk_path(s->m, s->op->path, WALK_PARENT);

	if (w.err)
		return refuse(s, w.err);
	/* do_rmdir(); rmdir(2): EINVAL for ".", and ".." is never empty. */
	if (w.type == LAST_DOT)
		return refuse(s, EINVAL);
	if (w.type == LAST_DOTDOT)
		return refuse(s, ENOTEMPTY);
	if (w.type == LAST_ROOT)
		return refuse(s, EBUSY);
	walk_last(s->m, &w);
	if (w.err || !w.ino)
		return refuse(s, w.err ? w.err : ENOENT);
	if (!is_dir(inode_at(s->m, w.ino)))
		return refuse(s, ENOTDIR);
	if (inode_at(s->m, w.ino)->dir.children)
		return refuse(s, ENOTEMPTY);
	if (!accept(s, 0))
		return;
	changes(s);
	node_unlink(s->m, w.parent, w.last, w.last_len);
}

void step_CHCWD(struct step *s)
{
	struct walk w = walk_path(s->m, s->op->path, WALK_FOLLOW);

	if (w.err)
		return refuse(s, w.err);
	if (!is_dir(inode_at(s->m, w.ino)))
		return refuse(s, ENOTDIR);
	if (!accept(s, 0))
		return;
	use(s->m, w.ino);
	node_set_cwd(s->m, w.ino);
}
