/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * op_name: operations on names: making, linking, renaming and removing. The order in which errors
 * are found is that of Linux's fs/namei.c; each rule names the function or manual page it is from.
 */
#include "model/acl.h"
#include "model/limits.h"
#include "model/mark.h"
#include "model/rules/rule.h"

#include <string.h>

/* A directory's link count is 2 and one for each subdirectory; some types bound it (mkdir(2),
 * rename(2): EMLINK). */
static bool dir_is_full(const struct as_rule_step *s, uint32_t dir)
{
	uint32_t max = s->m->traits->dir_link_max;

	return max && inode_at(s->m, dir)->nlink >= max;
}

/* xfs_generic_create() gives a new directory its default list first, and then its access list: the
 * step between the two. */
static void give_default_list(struct as_rule_step *s, const struct as_walk *w)
{
	uint32_t mode = S_IFDIR;
	struct as_acl_new fresh;
	struct as_acl old;

	as_acl_inherit(inode_at(s->m, w->parent), &mode, &fresh);
	if (as_model_acls(s->m) && fresh.deflt.n &&
	    !as_inode_acl(inode_at(s->m, w->ino), true, &old))
		as_node_set_acl(s->m, w->ino, true, &fresh.deflt);
}

void as_rule_mkdir(struct as_rule_step *s)
{
	uint32_t umask = s->m->traits->quirks & AS_QUIRK_MKDIR_022 ? 022 : 0;
	struct as_walk w = as_walk_path(s->m, s->op->path, WALK_PARENT);
	struct as_inode *inode;
	int err = as_rule_can_create(s, &w, true);

	if (s->one_call && w.ino && is_dir(inode_at(s->m, w.ino)))
		give_default_list(s, &w);
	if (err)
		return as_rule_refuse(s, err);
	/* vfs_mkdir(): EPERM where the type has no function for it. */
	if (s->m->traits->quirks & AS_QUIRK_FLAT)
		return as_rule_refuse(s, EPERM);
	if (dir_is_full(s, w.parent))
		return as_rule_refuse(s, EMLINK);
	if (!as_rule_room_for_node(s, w.parent) || !as_rule_accept(s, 0))
		return;
	as_rule_changes(s);
	/* vfs_mkdir(): only rwx and the sticky bit of the mode count. */
	inode = as_rule_make_node(s, &w, S_IFDIR | (s->op->mode & 01777 & ~umask));
	as_node_link(s->m, w.parent, w.last, w.last_len, inode->ino);
}

void as_rule_create(struct as_rule_step *s)
{
	struct as_walk w = as_walk_path(s->m, s->op->path, WALK_PARENT);
	struct as_inode *inode;

	if (w.err)
		return as_rule_refuse(s, w.err);
	/* do_open(): O_CREAT|O_EXCL on what exists is EEXIST, also for ".", ".." and "/"
	 * (open(2)); open_last_lookups(): a trailing slash with O_CREAT is EISDIR. */
	if (w.type != LAST_NAME)
		return as_rule_refuse(s, EEXIST);
	if (w.slash)
		return as_rule_refuse(s, EISDIR);
	as_walk_last(s->m, &w);
	if (w.err)
		return as_rule_refuse(s, w.err);
	if (w.ino)
		return as_rule_refuse(s, EEXIST);
	/* lookup_open(): create_error */
	if (as_rule_read_only(s))
		return;
	if (!as_rule_may_create(s, w.parent))
		return as_rule_refuse(s, EPERM);
	if (!as_rule_room_for_node(s, w.parent) || !as_rule_accept(s, 0))
		return;
	as_rule_changes(s);
	inode = as_rule_make_node(s, &w, S_IFREG | (s->op->mode & 07777));
	as_node_link(s->m, w.parent, w.last, w.last_len, inode->ino);
}

void as_rule_mknod(struct as_rule_step *s)
{
	uint32_t type = as_op_node_type(s->op);
	bool device = type == S_IFCHR || type == S_IFBLK;
	bool whiteout = type == S_IFCHR && s->op->dev == 0;
	struct as_inode *inode;
	struct as_walk w;
	int err = as_op_mknod_refused(s->op);

	if (err)
		return as_rule_refuse(s, err);
	w = as_walk_path(s->m, s->op->path, WALK_PARENT);
	err = as_rule_can_create(s, &w, false);
	if (err)
		return as_rule_refuse(s, err);
	/* mknod(2): EPERM without CAP_MKNOD (a 0:0 character device is a whiteout and free since
	 * Linux 5.8), and where the type has no nodes. */
	if (!as_rule_has(s, AS_FEAT_MKNOD) && type != S_IFREG)
		return as_rule_refuse(s, EPERM);
	if (as_rule_has(s, AS_FEAT_UNPRIVILEGED) && device && !whiteout)
		return as_rule_refuse(s, EPERM);
	as_rule_allow_wide(s, device && (s->op->dev >> 32 > 255 || (uint32_t)s->op->dev > 255));
	if (!as_rule_room_for_node(s, w.parent) || !as_rule_accept(s, 0))
		return;
	as_rule_changes(s);
	inode = as_rule_make_node(s, &w, type | (s->op->mode & 07777));
	if (device)
		inode->rdev = s->op->dev;
	as_node_link(s->m, w.parent, w.last, w.last_len, inode->ino);
}

/* At most 5 bytes for each name besides its own, and 2 for each character that does not fit into
 * one. */
static void allow_too_many_names(struct as_rule_step *s, const char *text)
{
	uint64_t room = 5;

	for (const char *at = text; *at;) {
		size_t len = strcspn(at, "/");

		if (len > s->m->traits->name_max)
			as_rule_allow(s, ENAMETOOLONG);
		room += len ? 5 + 2 * len : 0;
		at += len + (at[len] == '/');
	}
	if (room > s->m->traits->symlink_max)
		as_rule_allow(s, ENAMETOOLONG);
}

void as_rule_symlink(struct as_rule_step *s)
{
	const char *text = s->op->path;
	size_t len = strlen(text);
	struct as_walk w;
	struct as_inode *inode;
	int err;

	/* symlink(2): the text is fetched with getname(): "" is ENOENT, too long ENAMETOOLONG;
	 * before the new path is looked at. */
	if (len == 0)
		return as_rule_refuse(s, ENOENT);
	if (len >= MODEL_PATH_MAX)
		return as_rule_refuse(s, ENAMETOOLONG);
	w = as_walk_path(s->m, s->op->path2, WALK_PARENT);
	err = as_rule_can_create(s, &w, false);
	if (err)
		return as_rule_refuse(s, err);
	if (!as_rule_has(s, AS_FEAT_SYMLINK))
		return as_rule_refuse(s, EPERM);
	if (s->m->traits->quirks & AS_QUIRK_SYMLINK_OF_NAMES)
		allow_too_many_names(s, text);
	else if (len > s->m->traits->symlink_max)
		return as_rule_refuse(s, ENAMETOOLONG);
	if (!as_rule_room_for_node(s, w.parent) || !as_rule_accept(s, 0))
		return;
	as_rule_changes(s);
	inode = as_rule_make_node(s, &w, S_IFLNK | 0777);
	inode->text = as_name_new(text, len);
	as_node_link(s->m, w.parent, w.last, w.last_len, inode->ino);
}

static void link_inode(struct as_rule_step *s, uint32_t ino, struct as_walk *w)
{
	const struct as_inode *inode = inode_at(s->m, ino);
	int err = as_rule_can_create(s, w, false);
	uint32_t max = s->m->traits->link_max;

	if (err)
		return as_rule_refuse(s, err);
	/* vfs_link(): "A link to an append-only or immutable file cannot be created." */
	if (as_flags_bar(as_inode_flags(inode)))
		return as_rule_refuse(s, EPERM);
	/* link(2): EPERM for a directory, and where the type has no hard links. */
	if (is_dir(inode) || !as_rule_has(s, AS_FEAT_HARDLINK))
		return as_rule_refuse(s, EPERM);
	/* vfs_link(): no link to a removed inode unless O_TMPFILE made it linkable. */
	if (inode->nlink == 0 && !(inode->flags & INODE_LINKABLE))
		return as_rule_refuse(s, ENOENT);
	if (max && inode->nlink >= max)
		return as_rule_refuse(s, EMLINK);
	if (as_rule_crosses(s, w->parent, ino)) {
		/* xfs_link() takes special files of no project. */
		if (is_reg(inode) || inode->project)
			return as_rule_refuse(s, EXDEV);
		as_rule_allow(s, EXDEV);
	}
	as_rule_allow_full(s);
	if (!as_rule_accept(s, 0))
		return;
	as_rule_changes(s);
	as_node_link(s->m, w->parent, w->last, w->last_len, ino);
}

void as_rule_hardlink(struct as_rule_step *s)
{
	/* linkat(2) without AT_SYMLINK_FOLLOW: a link is linked, not followed. */
	struct as_walk old = as_walk_path(s->m, s->op->path, WALK_NOFOLLOW);
	struct as_walk w;

	if (old.err)
		return as_rule_refuse(s, old.err);
	w = as_walk_path(s->m, s->op->path2, WALK_PARENT);
	link_inode(s, old.ino, &w);
}

void as_rule_link_tmpfile(struct as_rule_step *s)
{
	struct as_file *file = as_file_at(s->m, s->op->fd);
	struct as_walk w;

	if (!file)
		return as_rule_refuse(s, EBADF);
	w = as_walk_path(s->m, s->op->path, WALK_PARENT);
	link_inode(s, file->ino, &w);
}

/* ---- rename ---- */

static bool rename_flags_known(const struct as_rule_step *s, int64_t flags)
{
	static const struct {
		int64_t flag;
		uint64_t feature;
	} takes[] = {
		{ AS_RENAME_NOREPLACE, AS_FEAT_RENAME_NOREPLACE },
		{ AS_RENAME_EXCHANGE, AS_FEAT_RENAME_EXCHANGE },
		{ AS_RENAME_WHITEOUT, AS_FEAT_RENAME_WHITEOUT },
	};

	for (size_t i = 0; i < sizeof(takes) / sizeof(takes[0]); i++)
		if ((flags & takes[i].flag) && !as_rule_has(s, takes[i].feature))
			return false;
	return true;
}

/* A type that does not see in its look-up that a name is too long goes on: the rules after it may
 * answer first. */
static int rename_to_bad_name(struct as_rule_step *s, const struct as_walk *from,
			      const struct as_walk *to, int64_t flags)
{
	const struct as_inode *src = inode_at(s->m, from->ino);

	if (to->err == ENAMETOOLONG && s->m->traits->quirks & AS_QUIRK_LONG_NAME_ENOENT) {
		if (!is_dir(src) && (from->slash || to->slash))
			as_rule_allow(s, ENOTDIR);
		if (is_dir(src) && as_walk_is_above(s->m, from->ino, to->parent))
			as_rule_allow(s, EINVAL);
		if (!rename_flags_known(s, flags))
			as_rule_allow(s, EINVAL);
	}
	return to->err;
}

/* do_renameat2(), up to vfs_rename(): what the names and the directories above them forbid. */
static int rename_names(struct as_rule_step *s, struct as_walk *from, struct as_walk *to,
			int64_t flags)
{
	const struct as_model *m = s->m;
	bool exchange = flags & AS_RENAME_EXCHANGE;

	if (from->type != LAST_NAME)
		return EBUSY;
	if (to->type != LAST_NAME)
		return flags & AS_RENAME_NOREPLACE ? EEXIST : EBUSY;
	/* Before any of the two is looked up. */
	if (as_rule_read_only(s))
		return EROFS;
	as_walk_last(m, from);
	if (from->err || !from->ino)
		return from->err ? from->err : ENOENT;
	as_walk_last(m, to);
	if (to->err)
		return rename_to_bad_name(s, from, to, flags);
	if ((flags & AS_RENAME_NOREPLACE) && to->ino)
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
	if (is_dir(inode_at(m, from->ino)) && as_walk_is_above(m, from->ino, to->parent))
		return EINVAL;
	if (to->ino && is_dir(inode_at(m, to->ino)) && as_walk_is_above(m, to->ino, from->parent))
		return exchange ? EINVAL : ENOTEMPTY;
	return 0;
}

/* vfs_rename(): what the two inodes forbid. */
static int rename_kinds(struct as_rule_step *s, const struct as_walk *from,
			const struct as_walk *to, bool exchange)
{
	const struct as_inode *src = inode_at(s->m, from->ino);
	const struct as_inode *dst = to->ino ? inode_at(s->m, to->ino) : NULL;
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

/* vfs_rename(): may_delete() of both ends, or may_create() of a new one. */
static bool rename_barred(const struct as_rule_step *s, const struct as_walk *from,
			  const struct as_walk *to)
{
	if (!as_model_may_delete(s->m, from->parent, from->ino))
		return true;
	return to->ino ? !as_model_may_delete(s->m, to->parent, to->ino)
		       : !as_rule_may_create(s, to->parent);
}

static void rename_now(struct as_rule_step *s, const struct as_walk *from, const struct as_walk *to,
		       int64_t flags)
{
	struct as_model *m = s->m;
	struct as_inode *whiteout;

	if (flags & AS_RENAME_EXCHANGE) {
		as_node_exchange(m, from->parent, from->last, from->last_len, to->parent, to->last,
				 to->last_len);
		return;
	}
	if (to->ino)
		as_node_unlink(m, to->parent, to->last, to->last_len);
	as_node_move(m, from->parent, from->last, from->last_len, to->parent, to->last,
		     to->last_len);
	if (flags & AS_RENAME_WHITEOUT) {
		/* rename(2), RENAME_WHITEOUT: a character device 0:0 takes the old name. */
		whiteout = as_rule_make_node(s, from, S_IFCHR);
		as_node_link(m, from->parent, from->last, from->last_len, whiteout->ino);
	}
}

static void moved_times(struct as_rule_step *s, const struct as_walk *from,
			const struct as_walk *to, int64_t flags)
{
	bool exchange = flags & AS_RENAME_EXCHANGE, away = from->parent != to->parent;
	const struct as_inode *other = to->ino && exchange ? inode_at(s->m, to->ino) : NULL;
	uint64_t quirks = s->m->traits->quirks;

	if (!(quirks & AS_QUIRK_RENAME_TOUCHES || (away && quirks & AS_QUIRK_MOVE_TOUCHES) ||
	      (away && exchange && quirks & AS_QUIRK_EXCHANGE_TOUCHES) ||
	      (exchange && quirks & AS_QUIRK_SWAP_TOUCHES)))
		return;
	if (is_dir(inode_at(s->m, from->ino))) {
		as_node_forget_times(s->m, from->ino, false, true);
		as_stamp(s->m, from->ino, AS_EVENT_TOUCHED);
	}
	if (other && is_dir(other)) {
		as_node_forget_times(s->m, to->ino, false, true);
		as_stamp(s->m, to->ino, AS_EVENT_TOUCHED);
	}
}

static void refused_whiteout(struct as_rule_step *s, const struct as_walk *from, int64_t flags)
{
	if ((flags & AS_RENAME_WHITEOUT) && (s->m->traits->quirks & AS_QUIRK_WHITEOUT_TOUCHES) &&
	    (s->applying || s->got)) {
		as_node_forget_times(s->m, from->parent, false, true);
		as_stamp(s->m, from->parent, AS_EVENT_TOUCHED);
	}
}

static void rename_step(struct as_rule_step *s, int64_t flags)
{
	struct as_walk from, to;
	int err;

	/* rename(2), EINVAL: flags that exclude each other. */
	if ((flags & AS_RENAME_EXCHANGE) && (flags & (AS_RENAME_NOREPLACE | AS_RENAME_WHITEOUT)))
		return as_rule_refuse(s, EINVAL);
	from = as_walk_path(s->m, s->op->path, WALK_PARENT);
	if (from.err)
		return as_rule_refuse(s, from.err);
	to = as_walk_path(s->m, s->op->path2, WALK_PARENT);
	if (to.err)
		return as_rule_refuse(s, to.err);
	err = rename_names(s, &from, &to, flags);
	if (err)
		return as_rule_refuse(s, err);
	/* rename(2): "If oldpath and newpath are existing hard links referring to the same file,
	 * then rename() does nothing, and returns a success status." */
	if (from.ino == to.ino) {
		if (!rename_flags_known(s, flags))
			as_rule_allow(s, EINVAL);
		/* Nothing would change: a library that is read-only may say either. */
		s->barred = false;
		(void)as_rule_accept(s, 0);
		return;
	}
	if (rename_barred(s, &from, &to))
		return as_rule_refuse(s, EPERM);
	err = rename_kinds(s, &from, &to, flags & AS_RENAME_EXCHANGE);
	if (!rename_flags_known(s, flags)) {
		if (err)
			as_rule_allow(s, err);
		return as_rule_refuse(s, EINVAL);
	}
	if (as_rule_crosses(s, to.parent, from.ino) && !err)
		err = EXDEV;
	else if (as_rule_crosses(s, to.parent, from.ino))
		as_rule_allow(s, EXDEV);
	/* Of an exchange, xfs_rename() asks one direction only. */
	if (flags & AS_RENAME_EXCHANGE && as_rule_crosses(s, from.parent, to.ino))
		as_rule_allow(s, EXDEV);
	if (to.ino && !(flags & AS_RENAME_EXCHANGE))
		as_rule_allow_busy(s, to.ino);
	if (err) {
		/* ext4_rename() makes the whiteout first, and asks for ENOTEMPTY after it. */
		if (flags & AS_RENAME_WHITEOUT)
			(void)as_rule_room_for_node(s, from.parent);
		refused_whiteout(s, &from, flags);
		return as_rule_refuse(s, err);
	}
	as_rule_allow_full(s);
	/* The whiteout is an inode more. */
	if (flags & AS_RENAME_WHITEOUT && !as_rule_room_for_node(s, from.parent))
		return;
	if (!as_rule_accept(s, 0))
		return;
	as_rule_changes(s);
	moved_times(s, &from, &to, flags);
	rename_now(s, &from, &to, flags);
}

void as_rule_rename(struct as_rule_step *s)
{
	rename_step(s, 0);
}

void as_rule_rename2(struct as_rule_step *s)
{
	rename_step(s, s->op->flags);
}

/* ---- Removing ---- */

void as_rule_unlink(struct as_rule_step *s)
{
	struct as_walk w = as_walk_path(s->m, s->op->path, WALK_PARENT);

	if (w.err)
		return as_rule_refuse(s, w.err);
	/* do_unlinkat(): ".", ".." and "/" are directories; so is what a slash asks for. */
	if (w.type != LAST_NAME)
		return as_rule_refuse(s, EISDIR);
	/* Before it is looked up. */
	if (as_rule_read_only(s))
		return;
	as_walk_last(s->m, &w);
	if (w.err || !w.ino)
		return as_rule_refuse(s, w.err ? w.err : ENOENT);
	if (w.slash)
		return as_rule_refuse(s, is_dir(inode_at(s->m, w.ino)) ? EISDIR : ENOTDIR);
	if (!as_model_may_delete(s->m, w.parent, w.ino))
		return as_rule_refuse(s, EPERM);
	if (is_dir(inode_at(s->m, w.ino)))
		return as_rule_refuse(s, EISDIR);
	as_rule_allow_busy(s, w.ino);
	if (!as_rule_accept(s, 0))
		return;
	as_rule_changes(s);
	as_node_unlink(s->m, w.parent, w.last, w.last_len);
}

void as_rule_rmdir(struct as_rule_step *s)
{
	struct as_walk w = as_walk_path(s->m, s->op->path, WALK_PARENT);

	if (w.err)
		return as_rule_refuse(s, w.err);
	/* do_rmdir(); rmdir(2): EINVAL for ".", and ".." is never empty. */
	if (w.type == LAST_DOT)
		return as_rule_refuse(s, EINVAL);
	if (w.type == LAST_DOTDOT)
		return as_rule_refuse(s, ENOTEMPTY);
	if (w.type == LAST_ROOT)
		return as_rule_refuse(s, EBUSY);
	if (as_rule_read_only(s))
		return;
	as_walk_last(s->m, &w);
	if (w.err || !w.ino)
		return as_rule_refuse(s, w.err ? w.err : ENOENT);
	if (!as_model_may_delete(s->m, w.parent, w.ino))
		return as_rule_refuse(s, EPERM);
	if (!is_dir(inode_at(s->m, w.ino)))
		return as_rule_refuse(s, ENOTDIR);
	/* Of two reasons, either may be told. */
	as_rule_allow_busy(s, w.ino);
	if (inode_at(s->m, w.ino)->dir.children)
		return as_rule_refuse(s, ENOTEMPTY);
	if (!as_rule_accept(s, 0))
		return;
	as_rule_changes(s);
	as_node_unlink(s->m, w.parent, w.last, w.last_len);
}

void as_rule_chcwd(struct as_rule_step *s)
{
	struct as_walk w = as_walk_path(s->m, s->op->path, WALK_FOLLOW);

	if (w.err)
		return as_rule_refuse(s, w.err);
	if (!is_dir(inode_at(s->m, w.ino)))
		return as_rule_refuse(s, ENOTDIR);
	if (!as_rule_accept(s, 0))
		return;
	as_model_use(s->m, w.ino);
	as_node_set_cwd(s->m, w.ino);
}
