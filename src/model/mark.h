/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mark: what an inode has besides mode, owner, times and extended attributes: its flags
 * (FS_IOC_SETFLAGS) and its access control lists. A mark is kept, compared and followed through
 * power cuts as an extended attribute without a value would be. Its name says all of it, and no
 * file system has attributes of such a name, since it begins with none of the namespaces of
 * xattr(7).
 *
 *   flag.append, flag.immutable, flag.noatime, flag.nodump    on regular files and directories
 *   project.ID, project.inherit    on regular files and directories; what is made in a directory
 *                                  with the latter gets its project, and directories inherit, too
 *   acl.access=LIST, acl.default=LIST    LIST as work/acl.h spells it; the latter on directories
 */
#ifndef AS_MODEL_MARK_H
#define AS_MODEL_MARK_H

#include "work/op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct as_mark_flag {
	int64_t bit; /* AS_FS_*_FL, which is FS_*_FL of <linux/fs.h> */
	const char *name;
};

extern const struct as_mark_flag as_mark_flags[]; /* sorted by name */
#define AS_MARK_FLAGS 4u
#define AS_MARK_FLAGS_MASK \
	(AS_FS_APPEND_FL | AS_FS_IMMUTABLE_FL | AS_FS_NOATIME_FL | AS_FS_NODUMP_FL)

#define AS_MARK_ACL_ACCESS "acl.access="
#define AS_MARK_ACL_DEFAULT "acl.default="

static inline bool as_mark_is(const char *name)
{
	return !strncmp(name, "flag.", 5) || !strncmp(name, "acl.", 4) ||
	       !strncmp(name, "project.", 8);
}

struct as_inode;
struct as_model;

/* Its flags, of AS_MARK_FLAGS_MASK. */
int64_t as_inode_flags(const struct as_inode *inode);
void as_node_set_flags(struct as_model *m, uint32_t ino, int64_t flags);
#define AS_MARK_PROJECT "project."
#define AS_MARK_INHERIT "project.inherit"
bool as_inode_inherits(const struct as_inode *inode);
/* Another project, also of what has no marks. */
void as_node_set_project(struct as_model *m, uint32_t ino, uint32_t project);
void as_node_set_inherits(struct as_model *m, uint32_t ino, bool inherits);
/* Neither it nor its attributes can be changed, but for what append allows. */
#define AS_FLAGS_BAR (AS_FS_APPEND_FL | AS_FS_IMMUTABLE_FL)
static inline bool as_flags_bar(int64_t flags)
{
	return flags & AS_FLAGS_BAR;
}

#endif
