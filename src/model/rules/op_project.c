/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * op_project: projects of inodes (FS_IOC_FSSETXATTR of ioctl_fsgetxattr(2), xfs_quota(8)).
 *
 * 1. The project and the flag by which what is made in a directory gets it are set by a call each,
 *    in this order; a power cut may come between them.
 * 2. A directory with that flag takes nothing in by rename or link that is of another project.
 */
#include "model/limits.h"
#include "model/mark.h"

static bool set_some(struct as_rule_step *s)
{
	return as_rule_accept(s, 0) || (s->got && s->got->ret < 0 && s->got->done &&
					as_allowed_err(&s->allowed, s->got->err));
}

void as_rule_setproject(struct as_rule_step *s)
{
	struct as_file *file = as_rule_fd_file(s, s->op->fd, false);
	uint64_t limit = as_rule_composite_limit(s);
	uint32_t id = (uint32_t)s->op->uid;
	const struct as_inode *inode;
	bool changed, turned;

	if (as_rule_has(s, AS_FEAT_LIBRARY))
		return as_rule_refuse(s, EOPNOTSUPP);
	if (!file)
		return;
	if (s->op->uid < 0)
		return as_rule_refuse(s, EINVAL); /* the executor's own */
	if (as_rule_read_only(s))
		return;
	inode = inode_at(s->m, file->ino);
	changed = inode->project != id;
	turned = is_dir(inode) && as_inode_inherits(inode) != (bool)s->op->flags;
	/* ext4_ioctl_check_immutable(); others ask for less. */
	if (as_flags_bar(as_inode_flags(inode)))
		as_rule_allow(s, EPERM);
	as_rule_allow_full(s);
	if (!as_rule_room_for_project(s, inode, id) || !set_some(s))
		return;
	as_rule_changes(s);
	as_stamp(s->m, file->ino, changed || turned ? AS_EVENT_ATTRS : AS_EVENT_SAME_ATTRS);
	if (changed && limit) {
		as_node_set_project(s->m, file->ino, id);
		limit--;
	}
	if (turned && limit)
		as_node_set_inherits(s->m, file->ino, s->op->flags);
}

/* ext4_rename(), ext4_link(), f2fs' like, xfs_rename(), xfs_link(). */
bool as_rule_crosses(const struct as_rule_step *s, uint32_t dir, uint32_t ino)
{
	const struct as_inode *to = inode_at(s->m, dir);

	return as_inode_inherits(to) && to->project != inode_at(s->m, ino)->project;
}
