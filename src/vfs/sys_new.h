/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sys_new: the executor for system calls below a directory, from outside. */
#ifndef AS_VFS_SYS_NEW_H
#define AS_VFS_SYS_NEW_H

#include "base/err.h"
#include "vfs/vfs.h"

/*
 * Confines the calling process to `folder` for good (chroot, through a user namespace where the
 * caller is not root) and makes the executor: call it in a child. umask becomes 0.
 */
AS_MUST_CHECK int as_vfs_sys_new(const char *folder, struct as_vfs **vfs, struct as_err *err);

struct as_mount;

/* The same on a file system that we mount ourselves, with `opts` beside its type's own; it is not
 * mounted yet. Both must outlive the executor. */
AS_MUST_CHECK int as_vfs_sys_mounted_new(struct as_mount *mount, const char *opts,
					 struct as_vfs **vfs, struct as_err *err);
/* Mounts and enters it; closes what is open, leaves and unmounts. 0 or a negative errno. */
AS_MUST_CHECK int as_vfs_sys_mount(struct as_vfs *vfs, const char *opts);
AS_MUST_CHECK int as_vfs_sys_unmount(struct as_vfs *vfs);

/* Removes a folder below a descriptor with all below it, however deep; *done is raised by each
 * entry that is gone. */
AS_MUST_CHECK int as_sys_remove_counted(int at, const char *folder, uint64_t *done,
					struct as_err *err);

#endif
