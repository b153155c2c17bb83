/* SPDX-License-Identifier: GPL-2.0-or-later */
/* op_sync: what makes things stable, and what takes the file system away and brings it back. */
#include "model/limits.h"
#include "model/rules/rule.h"

#include <string.h>

void as_rule_allow_no_fsync(struct as_rule_step *s)
{
	if (s->m->readonly && s->m->traits->quirks & AS_QUIRK_FSYNC_EROFS)
		as_rule_allow(s, EROFS);
}

static void sync_fd(struct as_rule_step *s, bool all)
{
	if (!as_rule_fd_file(s, s->op->fd, false))
		return;
	if (!all)
		as_rule_allow_no_fsync(s);
	if (as_rule_accept(s, 0) && all)
		s->m->synced = true;
}

void as_rule_fsync(struct as_rule_step *s)
{
	sync_fd(s, false);
}

void as_rule_fdatasync(struct as_rule_step *s)
{
	sync_fd(s, false);
}

void as_rule_syncfs(struct as_rule_step *s)
{
	sync_fd(s, true);
}

void as_rule_sync(struct as_rule_step *s)
{
	if (as_rule_accept(s, 0))
		s->m->synced = true;
}

void as_rule_sync_file_range(struct as_rule_step *s)
{
	struct as_file *file = as_rule_fd_file(s, s->op->fd, false);

	if (!file)
		return;
	/* sync_file_range(2): EINVAL for unknown flags or a range that is negative or wraps. */
	if ((s->op->flags & ~(int64_t)AS_SYNC_FILE_RANGE_ALL) || s->op->off < 0 ||
	    s->op->len > (uint64_t)INT64_MAX || s->op->off > INT64_MAX - (int64_t)s->op->len)
		return as_rule_refuse(s, EINVAL);
	(void)as_rule_accept(s, 0);
}

static int close_one(void *ctx, uint32_t slot, void *elem)
{
	int32_t *found = ctx;

	(void)elem;
	*found = (int32_t)slot;
	return 1;
}

static void close_all(struct as_model *m)
{
	int32_t slot;

	while (as_vec_each(&m->files, close_one, &slot))
		as_file_close(m, slot);
	as_node_set_cwd(m, MODEL_ROOT);
}

void as_rule_umount(struct as_rule_step *s)
{
	/* Decided by the executor: docs/FORMAT.md. */
	if (s->m->n_open)
		return as_rule_refuse(s, EBUSY);
	if (!as_rule_accept(s, 0))
		return;
	close_all(s->m);
	s->m->mounted = s->m->own_opts = s->m->readonly = false;
	s->m->synced = true;
}

void as_rule_mount(struct as_rule_step *s)
{
	/* Only reached while mounted: see as_rule_unmounted(). */
	as_rule_refuse(s, EBUSY);
}

static bool has_opts(const struct as_rule_step *s)
{
	return as_opts_say_more(s->op->opts);
}

static bool says_noacl(const struct as_rule_step *s)
{
	const char *at = s->op->opts ? s->op->opts : "";

	for (; *at; at += *at == ',') {
		size_t len = strcspn(at, ",");

		if (len == 5 && !memcmp(at, "noacl", len))
			return true;
		at += len;
	}
	return false;
}

/* A mount without lists shows none and follows none. */
static void turn_acls(struct as_rule_step *s, bool remount)
{
	bool off = says_noacl(s);

	if (!(s->m->traits->features & AS_FEAT_ACL))
		return;
	/* Types differ in what a remount leaves as it was, and in what they remember of lists. */
	if (remount && (off || s->m->acls_off))
		s->m->lost = true;
	s->m->acls_off = off;
}

/* What keeps a mount from becoming read-only. */
struct op_sync_held {
	const struct as_model *m;
	bool writer, orphan, unsure;
};

static int look_held(void *ctx, uint32_t slot, void *elem)
{
	struct op_sync_held *held = ctx;
	const struct as_file *file = elem;

	held->orphan |= inode_at(held->m, file->ino)->flags & INODE_ORPHAN;
	if (slot < AS_MAP_SLOT)
		held->writer |= !(file->flags & AS_O_PATH) && as_file_writes(file);
	else if (held->m->traits->features & AS_FEAT_LIBRARY)
		held->unsure = true;
	else
		/* A mapping keeps what was opened; with which flags, only its slot tells. */
		held->writer |= file->flags & AS_PROT_WRITE, held->unsure |= !file->attached;
	return 0;
}

/* sb_prepare_remount_readonly(): EBUSY while something is open to be written, or was removed and is
 * still held (s_remove_count). A library may know what to do with the latter. */
static bool is_held(struct as_rule_step *s)
{
	struct op_sync_held held = { .m = s->m };

	if (s->m->readonly || !as_opts_read_only(s->op->opts))
		return false;
	held.orphan = inode_at(s->m, s->m->cwd)->flags & INODE_ORPHAN;
	(void)as_vec_each(&s->m->files, look_held, &held);
	if (s->m->traits->quirks & AS_QUIRK_REMOVED_LINGER && !s->m->synced)
		held.unsure = true;
	if (held.orphan || held.unsure)
		as_rule_allow(s, EBUSY);
	if (!held.writer && (!held.orphan || as_rule_has(s, AS_FEAT_LIBRARY)))
		return false;
	as_rule_refuse(s, EBUSY);
	return true;
}

void as_rule_remount(struct as_rule_step *s)
{
	bool readonly = as_opts_read_only(s->op->opts);

	/* Options are the file system's own: it may know them or not. Without any they are the
	 * target's, and there may be no way back to these: from data=ordered to data=journal. */
	if (has_opts(s) || s->m->own_opts) {
		as_rule_allow(s, EINVAL);
		as_rule_allow(s, EOPNOTSUPP);
	}
	if (is_held(s) || !as_rule_accept(s, 0))
		return;
	s->m->readonly = readonly;
	s->m->synced |= readonly;
	as_stamps_mounted(s->m, s->op->opts, true);
	turn_acls(s, true);
	s->m->own_opts = has_opts(s);
	if (s->m->own_opts)
		as_limits_doubt(s->m);
}

void as_rule_crash(struct as_rule_step *s)
{
	if (!as_rule_accept(s, 0))
		return;
	/* Everything was stable: the tree must be as it is. Otherwise the model cannot tell. */
	close_all(s->m);
	as_stamps_forget(s->m);
	if (!s->m->synced)
		s->m->lost = true;
	s->m->mounted = true;
	s->m->own_opts = s->m->acls_off = s->m->readonly = false;
}

/* While unmounted the executor answers for the file system. */
void as_rule_unmounted(struct as_rule_step *s)
{
	if (s->op->code == AS_OP_UMOUNT)
		return as_rule_refuse(s, EINVAL);
	if (s->op->code != AS_OP_MOUNT)
		return as_rule_refuse(s, ESHUTDOWN);
	if (has_opts(s))
		as_rule_allow(s, EINVAL);
	if (!as_rule_accept(s, 0))
		return;
	s->m->mounted = true;
	s->m->readonly = as_opts_read_only(s->op->opts);
	s->m->own_opts = has_opts(s);
	if (s->m->own_opts)
		as_limits_doubt(s->m);
	turn_acls(s, false);
	as_stamps_mounted(s->m, s->op->opts, false);
}

/* ioctl_fsfreeze(), ioctl_fsthaw(): a type without freeze_fs() says EOPNOTSUPP. */
void as_rule_freeze(struct as_rule_step *s)
{
	if (!(s->m->traits->features & AS_FEAT_FREEZE)) {
		as_rule_refuse(s, EOPNOTSUPP);
		as_rule_allow(s, ENOTTY);
		if (as_rule_has(s, AS_FEAT_LIBRARY))
			return;
	}
	if (as_rule_accept(s, 0))
		s->m->synced = true;
}

/* What is free is no concern of the model: nothing changes. A disk that cannot discard is
 * EOPNOTSUPP. A range may be too short or outside of the disk, which the type says with EINVAL
 * (ext4_trim_fs(), xfs_ioc_trim()); the whole disk is neither. */
void as_rule_trim(struct as_rule_step *s)
{
	bool whole = s->op->off == 0 && s->op->len == UINT64_MAX;

	as_rule_refuse(s, EOPNOTSUPP);
	/* Of a mount that has not replayed its journal (noload): it does not know what is free. */
	as_rule_allow(s, EROFS);
	if (!(s->m->traits->features & AS_FEAT_TRIM)) {
		as_rule_allow(s, ENOTTY);
		if (as_rule_has(s, AS_FEAT_LIBRARY))
			return;
	}
	if (!whole)
		as_rule_allow(s, EINVAL);
	(void)as_rule_accept(s, 0);
}
