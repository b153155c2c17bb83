/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sys_priv: what the files of the executor for system calls share.
 *
 * The process is confined by chroot, so that paths of a workload are given to the kernel as they
 * are. Some rules of its own protect the machine:
 *   - fifos, sockets and devices are looked at with O_PATH and never opened (ENXIO);
 *   - a privileged mknod of a device other than 0:0 is refused (AS_ERR_UNSUPPORTED) unless the file
 *     system is mounted nodev: a node that is left there could be opened by other users;
 *   - sync is syncfs on the tree under test: sync(2) would flush every disk of the machine.
 */
#ifndef AS_VFS_SYS_PRIV_H
#define AS_VFS_SYS_PRIV_H

#include "vfs/sys_new.h"
#include "vfs/vfs.h"
#include "vfs/watch.h"

#include <sys/syscall.h>

struct as_mount;

struct as_sys {
	struct as_vfs vfs;
	int root_fd, proc_fd; /* "/" and /proc/self/fd as it was outside */
	bool refuse_devices;
	struct as_mount *mount; /* NULL: somebody else mounted it */
	const char *mount_opts; /* of the target */
	int slots[AS_SLOT_MAX + 1]; /* -1: empty */
	struct as_sys_handles *handles; /* NULL: none yet */
	struct as_sys_map *maps; /* of every slot; NULL: none yet */
	/* What was looked at last while a tree is read: a guest pays much for each call. */
	struct as_sys_seen {
		struct as_buf path;
		uint32_t mode; /* 0: nothing was */
		int fd; /* -1: it is not open */
	} seen;
	/* A directory far below the root, through which what is below it is reached. */
	struct as_sys_deep {
		struct as_buf path; /* without a slash before it or after it */
		int fd; /* -1: none */
	} deep;
};

#define OP(id, name, ...) \
	void as_sys_##name(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out);
#include "work/op.def"
#undef OP

extern const struct as_tree_ops as_sys_tree_ops;
void as_sys_tree_rest(void *sys); /* forgets what was seen of a tree, and closes it */

/* A call of the workload; who watches is told of it (vfs NULL: nobody is). -1 and errno. */
int64_t as_sys_call(struct as_vfs *vfs, long nr, const uint64_t args[6]);
#define SYS_P(pointer) ((uint64_t)(uintptr_t)(pointer))
#define as_sys_do(vfs, name, ...) as_sys_call(vfs, SYS_##name, (const uint64_t[6]){ __VA_ARGS__ })
void as_sys_write_back(struct as_vfs *vfs, struct as_choice *choice);
void as_sys_begin(struct as_vfs *vfs); /* tells what the executor holds open */

struct stat;

/* -1 where the slot is empty: the kernel then says EBADF. */
int as_sys_fd(struct as_vfs *vfs, int32_t slot);
/* fstat(2) for our own needs: in older kernels, libc's needs memory for an empty path, which
 * can be what is to fail. -1 and errno. */
int as_sys_look(int fd, struct stat *st);
/* vfs->data with room for so many bytes, whose pages are there. A call that gets no memory for a
 * page of its buffer answers EFAULT, or fewer bytes, which tells nothing of a file system; and
 * User-Mode Linux dies if it gets none for a page table (maybe_map() of Linux 6.12). */
char *as_sys_room(struct as_vfs *vfs, size_t len);
/* Whether any slot has a mapping (sys_map.c). */
bool as_sys_mapped(const struct as_sys *s);
/* Gives all mappings up. */
void as_sys_unmap_all(struct as_sys *s);
/* What a call returned, with errno where it failed. */
void as_sys_answer(struct as_outcome *out, int64_t ret);
/* The entries of an open directory, sorted; 0 or a negative errno. For this and the next two:
 * vfs is who is watched, NULL: nobody. */
/* All below an open directory, depth first; the descriptor is closed. With `force`, directories
 * without permissions are given some. 0 or a negative errno. */
int as_sys_remove_below(struct as_vfs *vfs, int fd, bool force, uint64_t *done);
/* Opens a directory that is no link; with `force`, also one without permissions (outside a chroot).
 * -1 and errno. */
int as_sys_open_dir(struct as_vfs *vfs, int at, const char *name, bool force);
void as_sys_handles_free(struct as_sys_handles *all); /* takes NULL */
/* ---- sys_mount.c ---- */
/* Whether the mount is our own, and no FUSE server's, which knows no requests to the type. */
bool as_sys_is_ours(const struct as_sys *s);
/* ---- sys_acl.c ---- */
/* In a list of attributes, those that are access control lists become marks (model/mark.h); get()
 * reads one of them. The number of bytes then, or a negative errno. */
int64_t as_sys_acl_marks(char *list, int64_t n, size_t len,
			 int64_t (*get)(void *ctx, const char *path, const char *name, void *buf,
					size_t len),
			 void *ctx, const char *path);
/* ---- sys_flags.c ---- */
/* The flags of an open file or directory as marks (model/mark.h), each with its NUL: the number of
 * bytes, or -ERANGE. projects: its project, too. */
int64_t as_sys_marks(int fd, bool projects, char *list, size_t len);
bool as_sys_immutable(int fd);
/* As as_tree_ops.quotas, of the file system that the descriptor is on. */
int64_t as_sys_quotas(int fd, struct as_quota_told *quota, size_t max);
bool as_sys_barred(int fd); /* append-only or immutable */
void as_sys_clear_flags(int fd); /* so that it can be removed */

void as_sys_convert_stat(const struct stat *from, struct as_stat *to);

#endif
