/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mark: see mark.h. */
#include "model/mark.h"

#include "model/state.h"

#include <stdio.h>

const struct as_mark_flag as_mark_flags[AS_MARK_FLAGS] = {
	{ AS_FS_APPEND_FL, "flag.append" },
	{ AS_FS_IMMUTABLE_FL, "flag.immutable" },
	{ AS_FS_NOATIME_FL, "flag.noatime" },
	{ AS_FS_NODUMP_FL, "flag.nodump" },
};

int64_t as_inode_flags(const struct as_inode *inode)
{
	int64_t flags = 0;

	for (unsigned i = 0; inode->xattrs && i < AS_MARK_FLAGS; i++)
		if (as_xattr_find(inode, as_mark_flags[i].name))
			flags |= as_mark_flags[i].bit;
	return flags;
}

void as_node_set_flags(struct as_model *m, uint32_t ino, int64_t flags)
{
	int64_t old = as_inode_flags(inode_at(m, ino));

	for (unsigned i = 0; i < AS_MARK_FLAGS; i++) {
		if (!((old ^ flags) & as_mark_flags[i].bit))
			continue;
		if (flags & as_mark_flags[i].bit)
			as_node_put_xattr(m, ino, as_mark_flags[i].name, 0, 0);
		else
			as_node_drop_xattr(m, ino, as_mark_flags[i].name);
	}
}

bool as_inode_inherits(const struct as_inode *inode)
{
	return inode->xattrs && as_xattr_find(inode, AS_MARK_INHERIT);
}

static const char *project_name(uint32_t project, char name[24])
{
	snprintf(name, 24, AS_MARK_PROJECT "%u", project);
	return name;
}

void as_node_set_project(struct as_model *m, uint32_t ino, uint32_t project)
{
	struct as_inode *inode = as_vec_edit(&m->inodes, ino, as_inode_dup, as_inode_put);
	uint32_t old = inode->project;
	char name[24];

	inode->project = project;
	if (old == project || !(is_reg(inode) || is_dir(inode)))
		return;
	if (old)
		as_node_drop_xattr(m, ino, project_name(old, name));
	if (project)
		as_node_put_xattr(m, ino, project_name(project, name), 0, 0);
}

void as_node_set_inherits(struct as_model *m, uint32_t ino, bool inherits)
{
	if (inherits == as_inode_inherits(inode_at(m, ino)))
		return;
	if (inherits)
		as_node_put_xattr(m, ino, AS_MARK_INHERIT, 0, 0);
	else
		as_node_drop_xattr(m, ino, AS_MARK_INHERIT);
}
