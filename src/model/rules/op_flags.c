/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * op_flags: flags of inodes: ioctl_iflags(2). Order of errors as in Linux's fs/file_attr.c. What
 * the flags forbid is in the rules of the other operations; this file only reads and sets them.
 *
 * 1. An operation changes the four flags of mark.h and keeps all others: the executor reads them
 *    first.
 * 2. What is set is set as a whole: there is no answer by which a part of it came true.
 */
#include "model/mark.h"
#include "model/rules/rule.h"

/* False: the answer is that the type has no flags. */
static bool has_flags(struct as_rule_step *s)
{
	if (s->m->traits->features & AS_FEAT_FLAGS)
		return true;
	as_rule_allow(s, EOPNOTSUPP);
	/* ioctl_setflags(): before the type is asked. */
	if (s->op->code == AS_OP_SETFLAGS && s->m->readonly)
		as_rule_allow(s, EROFS);
	/* One that knows other flags, such as gfs2, or no such call, as ntfs-3g. */
	if (!as_rule_has(s, AS_FEAT_LIBRARY)) {
		as_rule_allow(s, EINVAL);
		as_rule_allow(s, EPERM);
	}
	as_rule_refuse(s, ENOTTY);
	if (as_rule_has(s, AS_FEAT_LIBRARY) || !s->got || s->got->ret < 0)
		return s->m->traits->maybe & AS_FEAT_FLAGS && !s->got;
	if (s->m->traits->maybe & AS_FEAT_FLAGS)
		return true;
	/* A type of which we do not know what its flags do: nothing is said of it from now on. */
	(void)as_rule_accept(s, -1);
	s->m->lost = s->op->code == AS_OP_SETFLAGS;
	return false;
}

void as_rule_getflags(struct as_rule_step *s)
{
	struct as_file *file = as_rule_fd_file(s, s->op->fd, false);

	if (file && has_flags(s))
		(void)as_rule_accept(s, as_inode_flags(inode_at(s->m, file->ino)));
}

void as_rule_setflags(struct as_rule_step *s)
{
	struct as_file *file = as_rule_fd_file(s, s->op->fd, false);
	int64_t flags = s->op->flags & AS_MARK_FLAGS_MASK, old, changed;

	if (!file || !has_flags(s) || as_rule_read_only(s))
		return;
	old = as_inode_flags(inode_at(s->m, file->ino));
	changed = flags ^ old;
	/* fileattr_set_prepare(): CAP_LINUX_IMMUTABLE. */
	if (changed & AS_FLAGS_BAR && as_rule_has(s, AS_FEAT_UNPRIVILEGED))
		return as_rule_refuse(s, EPERM);
	/* ext4_ioctl_check_immutable(): what stays immutable keeps all other flags, and that of a
	 * large directory (EXT4_INDEX_FL) is taken away before they are compared. */
	if (flags & old & AS_FS_IMMUTABLE_FL)
		as_rule_allow(s, EPERM);
	as_rule_allow_full(s);
	if (!as_rule_accept(s, 0))
		return;
	as_rule_changes(s);
	as_node_set_flags(s->m, file->ino, flags);
	as_stamp(s->m, file->ino, changed ? AS_EVENT_ATTRS : AS_EVENT_SAME_ATTRS);
}
