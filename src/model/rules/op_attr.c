/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * op_attr: reading and setting attributes, listing directories, reading links. Order of errors
 * as in Linux's fs/open.c, fs/utimes.c and fs/stat.c.
 */
#include "model/acl.h"
#include "model/limits.h"
#include "model/mark.h"
#include "model/rules/rule.h"

#include <stdlib.h>
#include <string.h>

static void chmod_inode(struct as_rule_step *s, uint32_t ino)
{
	struct as_inode *inode;
	struct as_ino_pair before;
	struct as_acl acl;
	bool again;

	if (as_rule_read_only(s))
		return;
	if (as_flags_bar(as_inode_flags(inode_at(s->m, ino))))
		return as_rule_refuse(s, EPERM);
	/* fat_sanitize_mode(): a mode that the type cannot store is EPERM, or passed over with the
	 * mount option quiet. */
	if (!as_rule_has(s, AS_FEAT_OWNER))
		as_rule_allow(s, EPERM);
	if (as_model_acls(s->m) && as_inode_acl(inode_at(s->m, ino), false, &acl)) {
		/* posix_acl_chmod() comes when the mode is set, and may find no room. */
		as_rule_allow_full(s);
		s->m->lost |= s->got && s->got->ret < 0 &&
			      (s->got->err == ENOSPC || s->got->err == EDQUOT);
	}
	if (!as_rule_accept(s, 0))
		return;
	as_rule_changes(s);
	again = (inode_at(s->m, ino)->mode & 07777u) == (s->op->mode & 07777u);
	inode = as_node_edit(s->m, ino, &before);
	if (as_rule_has(s, AS_FEAT_OWNER))
		inode->mode = (uint16_t)((inode->mode & S_IFMT) | (s->op->mode & 07777));
	inode->flags &= (uint8_t)~INODE_SETID_UNSURE;
	as_node_finish(s->m, inode, &before);
	/* The power may be cut between the two: ext4_setattr() makes them in two transactions. */
	if (again || !s->one_call)
		as_model_acl_follows(s->m, ino);
	as_stamp(s->m, ino, AS_EVENT_ATTRS);
}

void as_rule_chmod(struct as_rule_step *s)
{
	struct as_walk w = as_walk_path(s->m, s->op->path, WALK_FOLLOW);

	if (w.err)
		return as_rule_refuse(s, w.err);
	chmod_inode(s, w.ino);
}

void as_rule_fchmod(struct as_rule_step *s)
{
	struct as_file *file = as_rule_fd_file(s, s->op->fd, false);

	if (file)
		chmod_inode(s, file->ino);
}

/* The inode to change when the change is accepted, else NULL. A file system that lacks the feature
 * may refuse it. */
static struct as_inode *edit_accepted(struct as_rule_step *s, uint32_t ino, uint64_t feature,
				      struct as_ino_pair *before)
{
	if (!as_rule_has(s, feature)) {
		as_rule_allow(s, EPERM);
		as_rule_allow(s, EOPNOTSUPP);
	}
	if (!as_rule_accept(s, 0))
		return NULL;
	as_rule_changes(s);
	return as_node_edit(s->m, ino, before);
}

/* chown_common(): whoever asks, a regular file or node loses its set-user-id bit, and its
 * set-group-id bit if the group may execute it (chown(2)). */
static void drop_setid_on_chown(struct as_inode *inode)
{
	if (is_dir(inode) || S_ISLNK(inode->mode))
		return;
	inode->flags &= (uint8_t)~INODE_SETID_UNSURE;
	inode->mode &= (uint16_t)~S_ISUID;
	if (inode->mode & S_IXGRP)
		inode->mode &= (uint16_t)~S_ISGID;
}

void as_rule_chown(struct as_rule_step *s)
{
	struct as_walk w =
		as_walk_path(s->m, s->op->path, s->op->nofollow ? WALK_NOFOLLOW : WALK_FOLLOW);
	struct as_inode *inode;
	struct as_ino_pair before;

	if (w.err)
		return as_rule_refuse(s, w.err);
	/* A library that is to set nothing is not called. */
	if (!(as_rule_has(s, AS_FEAT_LIBRARY) && s->op->uid < 0 && s->op->gid < 0) &&
	    as_rule_read_only(s))
		return;
	if (as_flags_bar(as_inode_flags(inode_at(s->m, w.ino)))) {
		if (s->op->uid >= 0 || s->op->gid >= 0)
			return as_rule_refuse(s, EPERM);
		/* may_setattr() does not ask, ext4_setattr() does. */
		as_rule_allow(s, EPERM);
	}
	if (as_rule_has(s, AS_FEAT_UNPRIVILEGED)) {
		/* Another id than one's own: EPERM, or EINVAL where a user namespace has no such
		 * id. */
		as_rule_allow(s, EPERM);
		as_rule_allow(s, EINVAL);
	}
	as_rule_allow_wide(s, s->op->uid >= UINT16_MAX || s->op->gid >= UINT16_MAX);
	if (!as_rule_room_to_give(s, inode_at(s->m, w.ino), s->op->uid, s->op->gid))
		return;
	inode = edit_accepted(s, w.ino, AS_FEAT_OWNER, &before);
	if (!inode)
		return;
	if (s->op->uid >= 0)
		inode->uid = (uint32_t)s->op->uid;
	if (s->op->gid >= 0)
		inode->gid = (uint32_t)s->op->gid;
	drop_setid_on_chown(inode);
	as_node_finish(s->m, inode, &before);
	as_stamp(s->m, w.ino,
		 s->op->uid < 0 && s->op->gid < 0 ? AS_EVENT_SAME_ATTRS : AS_EVENT_ATTRS);
}

/* timestamp_truncate(): a time that the type cannot hold becomes the nearest one that it can. */
static int64_t clamped(const struct as_traits *traits, int64_t ns)
{
	const int64_t second = 1000000000;

	if (traits->time_min_s == traits->time_max_s)
		return ns;
	if (ns < traits->time_min_s * second)
		return traits->time_min_s * second;
	return ns / second >= traits->time_max_s ? traits->time_max_s * second : ns;
}

static int64_t granular(const struct as_rule_step *s, int64_t ns)
{
	int64_t unit = s->m->traits->time_granularity_ns;
	int64_t rest;

	ns = clamped(s->m->traits, ns);
	if (unit <= 1)
		return ns;
	rest = ns % unit;
	return ns - (rest < 0 ? rest + unit : rest);
}

static void set_time(struct as_rule_step *s, int64_t value, bool *known, int64_t *ns)
{
	if (value == AS_TIME_OMIT)
		return;
	*known = value != AS_TIME_NOW;
	*ns = value == AS_TIME_NOW ? 0 : granular(s, value);
}

static int64_t settable(const struct as_rule_step *s, int64_t value)
{
	return value == AS_TIME_NOW || value == AS_TIME_OMIT ? value : granular(s, value);
}

/* More than 31 bits of seconds. */
static bool is_wide_time(int64_t ns)
{
	return ns != AS_TIME_NOW && ns != AS_TIME_OMIT &&
	       (ns < 0 || ns / 1000000000 > INT32_MAX);
}

void as_rule_utimens(struct as_rule_step *s)
{
	struct as_times *times;
	struct as_inode *inode;
	struct as_ino_pair before;
	struct as_walk w;
	/* may_setattr(), ATTR_TOUCH: both to now is what a write does, too. */
	bool touch = s->op->atime == AS_TIME_NOW && s->op->mtime == AS_TIME_NOW;

	/* utimensat(): "Nothing to do, we must not even check the path." */
	if (s->op->atime == AS_TIME_OMIT && s->op->mtime == AS_TIME_OMIT) {
		(void)as_rule_accept(s, 0);
		return;
	}
	w = as_walk_path(s->m, s->op->path, s->op->nofollow ? WALK_NOFOLLOW : WALK_FOLLOW);
	if (w.err)
		return as_rule_refuse(s, w.err);
	if (as_rule_read_only(s))
		return;
	if (as_inode_flags(inode_at(s->m, w.ino)) & (touch ? AS_FS_IMMUTABLE_FL : AS_FLAGS_BAR))
		return as_rule_refuse(s, EPERM);
	as_rule_allow_wide(s, is_wide_time(s->op->atime) || is_wide_time(s->op->mtime));
	inode = edit_accepted(s, w.ino, AS_FEAT_TIMES, &before);
	if (!inode)
		return;
	times = as_xcalloc(1, sizeof(*times));
	if (inode->times)
		*times = *inode->times;
	times->ref = 1;
	set_time(s, s->op->atime, &times->atime_known, &times->atime_ns);
	set_time(s, s->op->mtime, &times->mtime_known, &times->mtime_ns);
	if (w.ino == MODEL_ROOT && s->m->traits->quirks & AS_QUIRK_NO_ROOT_TIMES)
		times->atime_known = times->mtime_known = false;
	as_times_put(inode->times);
	inode->times = times;
	if (!times->atime_known && !times->mtime_known) {
		as_times_put(times);
		inode->times = NULL;
	}
	as_node_finish(s->m, inode, &before);
	as_stamp_set(s->m, w.ino, settable(s, s->op->atime), settable(s, s->op->mtime));
}

/* ---- Reading ---- */

static uint32_t letter_bits(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return 'd';
	case S_IFLNK:
		return 'l';
	case S_IFIFO:
		return 'p';
	case S_IFSOCK:
		return 's';
	case S_IFCHR:
		return 'c';
	case S_IFBLK:
		return 'b';
	default:
		return '-';
	}
}

static bool nlink_matters(const struct as_traits *traits, const struct as_inode *inode)
{
	if (traits->quirks & AS_QUIRK_NLINK_ANY)
		return false;
	return !is_dir(inode) ||
	       !(traits->quirks & (AS_QUIRK_DIR_NLINK_ANY | AS_QUIRK_DIR_NLINK_ONE));
}

static void stat_diff(struct as_rule_step *s, const char *what, uint64_t got, uint64_t want)
{
	if (got != want)
		as_rule_wrong(s, "%s %llu, model says %llu", what, (unsigned long long)got,
			      (unsigned long long)want);
}

static void check_times(struct as_rule_step *s, const struct as_inode *inode,
			const struct as_stat *st)
{
	const struct as_times *times = inode->times;

	if (!as_traits_holds_atime(s->m->traits, st->atime_ns))
		as_rule_wrong(s, "atime %lld ns, which the disk cannot hold",
			      (long long)st->atime_ns);
	if (!times || !as_rule_has(s, AS_FEAT_TIMES))
		return;
	if (times->mtime_known && !as_traits_same_time(s->m->traits, st->mtime_ns, times->mtime_ns))
		as_rule_wrong(s, "mtime %lld ns, model says %lld", (long long)st->mtime_ns,
			      (long long)times->mtime_ns);
	if (times->atime_known &&
	    !as_traits_same_time(s->m->traits, st->atime_ns, times->atime_ns) &&
	    !(s->m->traits->quirks & AS_QUIRK_NO_ATIME))
		as_rule_wrong(s, "atime %lld ns, model says %lld", (long long)st->atime_ns,
			      (long long)times->atime_ns);
}

static void check_fields(struct as_rule_step *s, const struct as_inode *inode,
			 const struct as_stat *st)
{
	if ((st->mode & S_IFMT) != (inode->mode & S_IFMT))
		as_rule_wrong(s, "type '%c', model says '%c'", (int)letter_bits(st->mode),
			      (int)letter_bits(inode->mode));
	if (as_rule_has(s, AS_FEAT_OWNER)) {
		if (!as_node_mode_is(inode, st->mode))
			as_rule_wrong(s, "mode %04o, model says %04o", st->mode & 07777,
				      inode->mode & 07777);
		stat_diff(s, "uid", st->uid, inode->uid);
		stat_diff(s, "gid", st->gid, inode->gid);
	}
	if (nlink_matters(s->m->traits, inode))
		stat_diff(s, "link count", st->nlink, inode->nlink);
	if (is_reg(inode))
		stat_diff(s, "size", st->size, inode->reg.size);
	if (S_ISLNK(inode->mode))
		stat_diff(s, "size", st->size, inode->text->len);
	if (S_ISCHR(inode->mode) || S_ISBLK(inode->mode))
		stat_diff(s, "device number", st->rdev, node_rdev(inode));
}

static void tell_fields(struct as_rule_step *s, const struct as_inode *inode)
{
	bool owned = as_rule_has(s, AS_FEAT_OWNER);

	if (!s->told)
		return;
	s->told->payload = AS_PAYLOAD_STAT;
	s->told->st = (struct as_handed_stat){
		.type = inode->mode & S_IFMT,
		.mode = owned ? inode->mode & 07777 : -1,
		.uid = owned ? (int64_t)inode->uid : -1,
		.gid = owned ? (int64_t)inode->gid : -1,
		.nlink = nlink_matters(s->m->traits, inode) ? (int64_t)inode->nlink : -1,
		.size = is_reg(inode)	       ? (int64_t)inode->reg.size
			: S_ISLNK(inode->mode) ? (int64_t)inode->text->len
					       : -1,
		.rdev = S_ISCHR(inode->mode) || S_ISBLK(inode->mode) ? (int64_t)node_rdev(inode)
								     : -1,
	};
}

static void check_all_times(struct as_rule_step *s, const struct as_inode *inode,
			    const struct as_stat *st)
{
	check_times(s, inode, st);
	if (!s->said_wrong && as_stamps_wrong(s->m, inode, st, &s->verdict->why))
		s->said_wrong = true;
}

void as_rule_check_stat(struct as_rule_step *s, const struct as_inode *inode)
{
	tell_fields(s, inode);
	if (!s->got || s->got->payload != AS_PAYLOAD_STAT)
		return;
	check_fields(s, inode, &s->got->st);
	check_all_times(s, inode, &s->got->st);
}

void as_rule_stat(struct as_rule_step *s)
{
	struct as_walk w =
		as_walk_path(s->m, s->op->path, s->op->nofollow ? WALK_NOFOLLOW : WALK_FOLLOW);

	if (w.err)
		return as_rule_refuse(s, w.err);
	if (as_rule_accept(s, 0))
		as_rule_check_stat(s, inode_at(s->m, w.ino));
}

void as_rule_fstat(struct as_rule_step *s)
{
	struct as_file *file = as_rule_fd_file(s, s->op->fd, true);

	if (file && as_rule_accept(s, 0))
		as_rule_check_stat(s, inode_at(s->m, file->ino));
}

/* statx(2), stx_attributes: what nobody has set. */
#define STATX_ATTRS_NEVER 0x100800 /* ENCRYPTED, VERITY */
/* Of files and directories, what FS_IOC_SETFLAGS has set: the bits are the same. */
#define STATX_ATTRS_FLAGS (AS_FS_IMMUTABLE_FL | AS_FS_APPEND_FL | AS_FS_NODUMP_FL)
#define STATX_MASK_RESERVED INT64_C(0x80000000)

/* What is asked for of STATX_BASIC_STATS is told (vfs_getattr_nosec()). What is not told counts for
 * nothing: fill_mg_cmtime() leaves out times that nobody asks for. */
static void check_statx(struct as_rule_step *s, const struct as_inode *inode)
{
	const struct as_statx *stx = &s->got->stx;
	const uint32_t times = AS_STATX_ATIME | AS_STATX_MTIME | AS_STATX_CTIME,
		       fields = AS_STATX_BASIC_STATS & ~times;
	/* vfs_getattr_nosec() leaves out atime where it is not kept: of some types, such as nilfs2,
	 * and of files with that flag. */
	uint32_t missing = (uint32_t)s->op->flags & AS_STATX_BASIC_STATS & ~stx->mask &
			   ~(uint32_t)AS_STATX_ATIME;

	if ((stx->mask & fields) == fields)
		check_fields(s, inode, &s->got->st);
	if ((stx->mask & times) == times)
		check_all_times(s, inode, &s->got->st);
	if (missing)
		as_rule_wrong(s, "does not tell 0x%x of what was asked for", missing);
	if (stx->attributes & ~stx->attributes_mask)
		as_rule_wrong(s, "attributes 0x%llx, of which it knows 0x%llx",
			      (unsigned long long)stx->attributes,
			      (unsigned long long)stx->attributes_mask);
	if (stx->attributes & STATX_ATTRS_NEVER)
		as_rule_wrong(s, "attributes 0x%llx, which nobody set",
			      (unsigned long long)(stx->attributes & STATX_ATTRS_NEVER));
	if ((is_reg(inode) || is_dir(inode)) &&
	    (stx->attributes ^ (uint64_t)as_inode_flags(inode)) & stx->attributes_mask &
		    STATX_ATTRS_FLAGS)
		as_rule_wrong(s, "flags 0x%llx, model says 0x%llx",
			      (unsigned long long)(stx->attributes & STATX_ATTRS_FLAGS),
			      (unsigned long long)as_inode_flags(inode) & STATX_ATTRS_FLAGS);
	if (!s->said_wrong && stx->mask & AS_STATX_BTIME &&
	    as_stamp_born(s->m, inode, stx->btime_ns, &s->verdict->why))
		s->said_wrong = true;
}

void as_rule_statx(struct as_rule_step *s)
{
	struct as_walk w;

	/* do_statx(): before the path is looked at. */
	if (s->op->flags & STATX_MASK_RESERVED)
		return as_rule_refuse(s, EINVAL);
	w = as_walk_path(s->m, s->op->path, s->op->nofollow ? WALK_NOFOLLOW : WALK_FOLLOW);
	if (w.err)
		return as_rule_refuse(s, w.err);
	if (!as_rule_accept(s, 0))
		return;
	if (s->got && s->got->payload == AS_PAYLOAD_STAT && s->got->stx.known)
		check_statx(s, inode_at(s->m, w.ino));
	else
		as_rule_check_stat(s, inode_at(s->m, w.ino));
}

void as_rule_statfs(struct as_rule_step *s)
{
	struct as_walk w = as_walk_path(s->m, s->op->path, WALK_FOLLOW);
	const struct as_statfs *sfs;

	if (w.err)
		return as_rule_refuse(s, w.err);
	if (as_rule_has(s, AS_FEAT_LIBRARY))
		as_rule_allow(s, EOPNOTSUPP);
	if (!as_rule_accept(s, 0) || !s->got || s->got->payload != AS_PAYLOAD_STATFS)
		return;
	sfs = &s->got->sfs;
	if (sfs->blocks_free > sfs->blocks ||
	    (sfs->files_free > sfs->files && !(s->m->traits->quirks & AS_QUIRK_FREE_FILES_ANY)))
		as_rule_wrong(s, "more is free than there is");
}

void as_rule_readlink(struct as_rule_step *s)
{
	struct as_walk w = as_walk_path(s->m, s->op->path, WALK_NOFOLLOW);
	const struct as_name *text;

	if (w.err)
		return as_rule_refuse(s, w.err);
	/* readlink(2): EINVAL, not a symbolic link. */
	if (!S_ISLNK(inode_at(s->m, w.ino)->mode))
		return as_rule_refuse(s, EINVAL);
	text = inode_at(s->m, w.ino)->text;
	as_rule_tell_text(s, text->s, text->len);
	if (!as_rule_accept(s, text->len) || !s->got || s->got->payload != AS_PAYLOAD_BYTES)
		return;
	if (s->got->len != text->len || memcmp(s->got->data, text->s, text->len) != 0)
		as_rule_wrong(s, "says \"%.*s\", model says \"%s\"", (int)s->got->len,
			      (const char *)s->got->data, text->s);
}

/* Walks the expected names and the sorted list that came, side by side. */
struct op_attr_listing {
	struct as_rule_step *s;
	const char *at, *end;
};

static int compare_name(struct op_attr_listing *l, const struct as_model *m,
			const struct as_entry *entry)
{
	char letter = (char)letter_bits(inode_at(m, entry->ino)->mode);
	int cmp = l->at < l->end ? as_name_cmp(entry->name, l->at + 1, strlen(l->at + 1)) : -1;

	if (cmp < 0)
		as_rule_wrong(l->s, "\"%s\" is missing", entry->name->s);
	else if (cmp > 0)
		as_rule_wrong(l->s, "\"%s\" should not be there", l->at + 1);
	else if (*l->at != letter)
		as_rule_wrong(l->s, "\"%s\" has type '%c', model says '%c'", entry->name->s, *l->at,
			      letter);
	else
		l->at += strlen(l->at) + 1;
	return l->s->said_wrong;
}

static int compare_names(struct op_attr_listing *l, const struct as_model *m,
			 const struct as_entry *entry)
{
	if (!entry)
		return 0;
	return compare_names(l, m, entry->left) || compare_name(l, m, entry) ||
	       compare_names(l, m, entry->right);
}

static void tell_entries(struct as_rule_step *s, const struct as_entry *entry)
{
	if (!entry || !s->told)
		return;
	tell_entries(s, entry->left);
	as_rule_tell_name(s, (char)letter_bits(inode_at(s->m, entry->ino)->mode), entry->name->s);
	tell_entries(s, entry->right);
}

void as_rule_readdir(struct as_rule_step *s)
{
	struct as_walk w = as_walk_path(s->m, s->op->path, WALK_FOLLOW);
	const struct as_inode *dir;
	struct op_attr_listing l;

	if (w.err)
		return as_rule_refuse(s, w.err);
	dir = inode_at(s->m, w.ino);
	if (!is_dir(dir))
		return as_rule_refuse(s, ENOTDIR);
	if (dir->nlink == 0)
		as_rule_allow_removed_list(s);
	if (s->got && s->got->payload == AS_PAYLOAD_NAMES && s->got->ret >= 0) {
		/* Names first: they say more than their number. */
		l = (struct op_attr_listing){ s, s->got->data,
					      (const char *)s->got->data + s->got->len };
		if (!compare_names(&l, s->m, dir->dir.entries) && l.at < l.end)
			as_rule_wrong(s, "\"%s\" should not be there", l.at + 1);
	}
	tell_entries(s, dir->dir.entries);
	as_rule_tell_names(s, false);
	if (as_rule_accept(s, dir->dir.children) && !s->said_wrong) {
		as_node_forget_times(s->m, w.ino, true, false);
		as_stamp(s->m, w.ino, AS_EVENT_READ_OTHERWISE);
		as_model_use(s->m, w.ino);
	}
}
