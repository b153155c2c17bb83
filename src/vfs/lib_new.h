/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lib_new: the executor for a linked file system, from outside. */
#ifndef AS_VFS_LIB_NEW_H
#define AS_VFS_LIB_NEW_H

#include "base/event.h"
#include "host/host.h"
#include "vfs/vfs.h"

/* Everything must outlive the executor. */
struct as_lib_args {
	const struct as_target_ops *ops;
	struct as_host_mem *host;
	struct as_bd *bd;
	struct as_flash *flash; /* in place of bd, where it works on one */
	uint32_t semantics; /* enum as_semantics */
	const char *opts; /* of the target */
	uint32_t name_max;
	uint64_t size_max_bytes; /* largest file offset, 0: none but the type's */
	bool check_first; /* after a power cut, its checker comes before the mount */
	bool measured; /* what its calls use is (as_host_measure()) */
	bool faulty; /* calls may fail: success must not hide that (as_host_watch_disk()) */
};

struct as_vfs *as_vfs_lib_new(const struct as_lib_args *args);
/* Mounts the disk; 0 or a negative errno. */
AS_MUST_CHECK int as_vfs_lib_mount(struct as_vfs *vfs, const char *opts);
/* Closes what is open and unmounts; 0 or a negative errno. Nothing when it is not mounted. */
AS_MUST_CHECK int as_vfs_lib_unmount(struct as_vfs *vfs);
/* The instance is thrown away as it is. */
void as_vfs_lib_abandon(struct as_vfs *vfs);
/* What the library did wrong besides its answers (memory left after an unmount, a bad free), or
 * NULL; *kind says of which kind it is. */
const char *as_vfs_lib_trouble(struct as_vfs *vfs, enum as_finding_kind *kind);
/* If that is memory that was left: the operation that allocated it, or AS_HOST_NO_OP. */
uint32_t as_vfs_lib_leak_op(const struct as_vfs *vfs);

#endif
