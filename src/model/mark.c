/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mark: see mark.h. */
#include "model/mark.h"

#include "model/state.h"

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
