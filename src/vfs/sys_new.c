/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sys_new: confinement, and the table of the executor for system calls. See sys_priv.h. */
#include "vfs/sys_new.h"

#include "mount/mount.h"
#include "os/userns.h"
#include "vfs/sys_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Confinement ----------------------------------------------------------------------------- */

static int open_proc(struct as_sys *s, struct as_err *err)
{
	s->proc_fd = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return s->proc_fd < 0 ? as_fail_errno(err, errno, "/proc/self/fd") : 0;
}

/* As many descriptors as we may have, and modes as the workload says them. */
static void prepare_process(void)
{
	struct rlimit files;

	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	umask(0);
}

/* Limits of quotas are nothing to who has CAP_SYS_RESOURCE (ignore_hardlimit() of dquot.c). All
 * else that root may do stays. Threads and children of this one are without it, too; programs
 * that they run are not. */
static void obey_limits(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &head, data))
		return;
	data[0].effective &= ~CAP_TO_MASK(CAP_SYS_RESOURCE);
	syscall(SYS_capset, &head, data);
}

static int confine(struct as_sys *s, const char *folder, struct as_err *err)
{
	bool privileged = !geteuid();
	struct statvfs sv;
	int rc = open_proc(s, err), fd;

	if (!rc && !privileged)
		rc = as_userns_enter("a directory can be tested", err);
	if (rc)
		return rc;
	/* By descriptor: a link that somebody puts in its place meanwhile is not followed. */
	fd = open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchdir(fd) || chroot(".") || chdir("/"))
		rc = as_fail_errno(err, errno, "cannot confine the run to %s", folder);
	if (fd >= 0)
		close(fd);
	if (rc)
		return rc;
	s->root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->root_fd < 0 || fstatvfs(s->root_fd, &sv))
		return as_fail_errno(err, errno, "%s", folder);
	/* The directory that it was made in may have handed some on. */
	as_sys_clear_flags(s->root_fd);
	/* Without privileges the kernel refuses them, and that answer can be judged. */
	s->refuse_devices = privileged && !(sv.f_flag & ST_NODEV);
	prepare_process();
	return 0;
}

/* ---- The table ------------------------------------------------------------------------------- */

static struct as_sys *new_sys(const struct as_vfs_ops *ops)
{
	struct as_sys *s = as_xcalloc(1, sizeof(*s));

	s->vfs.ops = ops;
	s->root_fd = s->proc_fd = s->seen.fd = s->deep.fd = -1;
	for (size_t i = 0; i <= AS_SLOT_MAX; i++)
		s->slots[i] = -1;
	return s;
}

static void sys_free(struct as_vfs *vfs)
{
	struct as_sys *s = (struct as_sys *)vfs;

	for (size_t i = 0; i <= AS_SLOT_MAX; i++)
		if (s->slots[i] >= 0)
			close(s->slots[i]);
	as_sys_unmap_all(s);
	free(s->maps);
	as_sys_tree_rest(s);
	as_buf_free(&s->seen.path);
	as_buf_free(&s->deep.path);
	as_sys_handles_free(s->handles);
	if (s->root_fd >= 0)
		close(s->root_fd);
	if (s->proc_fd >= 0)
		close(s->proc_fd);
	free(s);
}

static struct as_vfs *sys_another(const struct as_vfs *vfs)
{
	const struct as_sys *from = (const struct as_sys *)vfs;
	struct as_sys *s = new_sys(vfs->ops);

	s->root_fd = fcntl(from->root_fd, F_DUPFD_CLOEXEC, 0);
	s->proc_fd = fcntl(from->proc_fd, F_DUPFD_CLOEXEC, 0);
	as_assert(s->root_fd >= 0 && s->proc_fd >= 0);
	s->refuse_devices = from->refuse_devices;
	s->mount = from->mount;
	s->mount_opts = from->mount_opts;
	/* For threads of a race: none of them maps anything yet. */
	if (s->mount)
		as_mount_before_map(s->mount);
	s->vfs.watch = vfs->watch;
	if (vfs->watch)
		as_sys_begin(&s->vfs);
	return &s->vfs;
}

static const struct as_vfs_ops sys_ops = {
	.api = AS_VFS_API,
	.caps = AS_VFS_SYNC_IS_SYNCFS,
	.name = "system calls",
	.op = {
#define OP(id, name, ...) [AS_OP_##id] = as_sys_##name,
#include "work/op.def"
#undef OP
	},
	.tree = &as_sys_tree_ops,
	.free = sys_free,
	.another = sys_another,
	.begin = as_sys_begin,
};

/* On a mount of our own: nothing but a mount does anything while it is unmounted. */
#define OP(id, name, ...)                                                                      \
	static void mounted_##name(struct as_vfs *vfs, const struct as_op *op,                 \
				   struct as_outcome *out)                                     \
	{                                                                                      \
		const struct as_sys *s = (const struct as_sys *)vfs;                           \
                                                                                               \
		if (as_mount_mounted(s->mount) || AS_OP_##id == AS_OP_MOUNT)                   \
			as_sys_##name(vfs, op, out);                                           \
		else                                                                           \
			as_vfs_answer(out, AS_OP_##id == AS_OP_UMOUNT ? -EINVAL : -ESHUTDOWN); \
	}
#include "work/op.def"
#undef OP

static const struct as_vfs_ops mounted_ops = {
	.api = AS_VFS_API,
	.caps = AS_VFS_MOUNTS | AS_VFS_SYNC_IS_SYNCFS,
	.name = "system calls on a mount of our own",
	.op = {
#define OP(id, name, ...) [AS_OP_##id] = mounted_##name,
#include "work/op.def"
#undef OP
	},
	.tree = &as_sys_tree_ops,
	.free = sys_free,
	.another = sys_another,
	.begin = as_sys_begin,
	.write_back = as_sys_write_back,
};

int as_vfs_sys_new(const char *folder, struct as_vfs **vfs, struct as_err *err)
{
	struct as_sys *s = new_sys(&sys_ops);
	int rc = confine(s, folder, err);

	*vfs = rc ? NULL : &s->vfs;
	if (rc)
		sys_free(&s->vfs);
	return rc;
}

int as_vfs_sys_mounted_new(struct as_mount *mount, const char *opts, struct as_vfs **vfs,
			   struct as_err *err)
{
	struct as_sys *s = new_sys(&mounted_ops);
	int rc = open_proc(s, err);

	s->mount = mount;
	s->mount_opts = opts;
	prepare_process();
	obey_limits();
	(void)as_mount_is_guest();
	*vfs = rc ? NULL : &s->vfs;
	if (rc)
		sys_free(&s->vfs);
	return rc;
}

int as_sys_remove_counted(int at, const char *folder, uint64_t *done, struct as_err *err)
{
	int fd = as_sys_open_dir(NULL, at, folder, true);
	int rc = fd < 0 ? -errno : as_sys_remove_below(NULL, fd, true, done);

	if (!rc && unlinkat(at, folder, AT_REMOVEDIR))
		rc = -errno;
	return rc ? as_fail_errno(err, -rc, "cannot remove %s", folder) : 0;
}
