/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sys_flags: locks by flock(2) and fcntl(2), and flags of inodes through ioctl(2), which are the
 * marks (model/mark.h) of a tree that is read. Of all flags, the four of mark.h are touched.
 */
#include "vfs/sys_priv.h"

#include "model/mark.h"
#include "mount/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

_Static_assert(FS_APPEND_FL == AS_FS_APPEND_FL && FS_IMMUTABLE_FL == AS_FS_IMMUTABLE_FL &&
		       FS_NODUMP_FL == AS_FS_NODUMP_FL && FS_NOATIME_FL == AS_FS_NOATIME_FL,
	       "the words of a workload are the kernel's bits");

void as_sys_getflags(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	int flags = 0;
	int64_t ret = as_sys_do(vfs, ioctl, as_sys_fd(vfs, op->fd), FS_IOC_GETFLAGS, SYS_P(&flags));

	as_sys_answer(out, ret < 0 ? ret : flags & AS_MARK_FLAGS_MASK);
}

void as_sys_setflags(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	int fd = as_sys_fd(vfs, op->fd), flags = 0;
	int64_t ret = as_sys_do(vfs, ioctl, fd, FS_IOC_GETFLAGS, SYS_P(&flags));

	if (ret >= 0) {
		flags &= ~AS_MARK_FLAGS_MASK;
		flags |= (int)(op->flags & AS_MARK_FLAGS_MASK);
		ret = as_sys_do(vfs, ioctl, fd, FS_IOC_SETFLAGS, SYS_P(&flags));
	}
	as_sys_answer(out, ret);
}

bool as_sys_immutable(int fd)
{
	int flags = 0;

	return !ioctl(fd, FS_IOC_GETFLAGS, &flags) && flags & FS_IMMUTABLE_FL;
}

bool as_sys_barred(int fd)
{
	int flags = 0;

	return !ioctl(fd, FS_IOC_GETFLAGS, &flags) && as_flags_bar(flags);
}

void as_sys_clear_flags(int fd)
{
	int flags = 0;

	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) || !(flags & AS_MARK_FLAGS_MASK))
		return;
	flags &= ~AS_MARK_FLAGS_MASK;
	/* Where this does not help, what comes next fails. */
	(void)!ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

/* The marks of its project, after those that are there. */
static int64_t add_project(int fd, char *list, size_t len, size_t at)
{
	struct fsxattr x = { 0 };
	int n = 0;

	if (ioctl(fd, FS_IOC_FSGETXATTR, &x))
		return (int64_t)at;
	if (x.fsx_projid) {
		n = snprintf(list + at, len - at, AS_MARK_PROJECT "%u", x.fsx_projid) + 1;
		if ((size_t)n > len - at)
			return -ERANGE;
		at += (size_t)n;
	}
	if (x.fsx_xflags & FS_XFLAG_PROJINHERIT) {
		if (sizeof(AS_MARK_INHERIT) > len - at)
			return -ERANGE;
		memcpy(list + at, AS_MARK_INHERIT, sizeof(AS_MARK_INHERIT));
		at += sizeof(AS_MARK_INHERIT);
	}
	return (int64_t)at;
}

int64_t as_sys_marks(int fd, bool projects, char *list, size_t len)
{
	int flags = 0;
	size_t at = 0;

	if (ioctl(fd, FS_IOC_GETFLAGS, &flags))
		return 0;
	for (unsigned i = 0; i < AS_MARK_FLAGS; i++) {
		size_t n = strlen(as_mark_flags[i].name) + 1;

		if (!(flags & as_mark_flags[i].bit))
			continue;
		if (at + n > len)
			return -ERANGE;
		memcpy(list + at, as_mark_flags[i].name, n);
		at += n;
	}
	return projects ? add_project(fd, list, len, at) : (int64_t)at;
}

/* Changes one thing of what FS_IOC_FSGETXATTR tells; *changed: it was not so. */
static int64_t set_fsxattr(struct as_vfs *vfs, int fd, const uint32_t *project, bool inherit,
			   bool *changed)
{
	struct fsxattr x = { 0 }, old;
	int64_t ret = as_sys_do(vfs, ioctl, fd, FS_IOC_FSGETXATTR, SYS_P(&x));

	if (ret < 0)
		return ret;
	old = x;
	if (project)
		x.fsx_projid = *project;
	else
		x.fsx_xflags = (x.fsx_xflags & ~(uint32_t)FS_XFLAG_PROJINHERIT) |
			       (inherit ? FS_XFLAG_PROJINHERIT : 0);
	*changed = memcmp(&x, &old, sizeof(x));
	return as_sys_do(vfs, ioctl, fd, FS_IOC_FSSETXATTR, SYS_P(&x));
}

void as_sys_setproject(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	const struct as_sys *s = (const struct as_sys *)vfs;
	int fd = as_sys_fd(vfs, op->fd);
	uint32_t project = (uint32_t)op->uid;
	bool changed = false;
	struct stat st;
	int64_t ret;

	if (!as_sys_is_ours(s) || !as_mount_type(s->mount)->projects) {
		as_vfs_answer(out, -AS_ERR_UNSUPPORTED);
		return;
	}
	if (op->uid < 0 && fd >= 0 && !(fcntl(fd, F_GETFL) & O_PATH)) {
		as_vfs_answer(out, -EINVAL);
		return;
	}
	ret = set_fsxattr(vfs, fd, &project, false, &changed);
	if (ret >= 0 && !as_sys_look(fd, &st) && S_ISDIR(st.st_mode)) {
		out->done = changed;
		ret = set_fsxattr(vfs, fd, NULL, op->flags, &changed);
	}
	as_sys_answer(out, ret < 0 ? ret : 0);
	if (ret >= 0)
		out->done = 0;
}

/* Nothing may wait for a lock. */
void as_sys_flock(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	int how = (int)(op->flags & (LOCK_SH | LOCK_EX | LOCK_UN));

	as_sys_answer(out, as_sys_do(vfs, flock, as_sys_fd(vfs, op->fd), how | LOCK_NB));
}

static int64_t record_lock(struct as_vfs *vfs, const struct as_op *op, int cmd, struct flock *lock)
{
	*lock = (struct flock){ .l_type = (short)op->flags,
				.l_whence = SEEK_SET,
				.l_start = (off_t)op->off,
				.l_len = (off_t)op->len };
	return as_sys_do(vfs, fcntl, as_sys_fd(vfs, op->fd), (uint64_t)cmd, SYS_P(lock));
}

void as_sys_ofd_setlk(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	struct flock lock;

	as_sys_answer(out, record_lock(vfs, op, F_OFD_SETLK, &lock));
}

void as_sys_setlk(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	struct flock lock;

	as_sys_answer(out, record_lock(vfs, op, F_SETLK, &lock));
}

/* The lock as text: model/rules/op_lock.c compares it. l_pid is -1 for what belongs to a
 * descriptor. */
static void tell_lock(struct as_vfs *vfs, const struct as_op *op, int cmd, struct as_outcome *out)
{
	struct flock lock;
	int64_t ret = record_lock(vfs, op, cmd, &lock);

	as_sys_answer(out, ret < 0 ? ret : lock.l_type != F_UNLCK);
	if (ret < 0)
		return;
	as_buf_clear(&vfs->data);
	if (lock.l_type == F_UNLCK)
		as_buf_adds(&vfs->data, "F_UNLCK");
	else
		as_buf_addf(&vfs->data, "%s at=%lld len=%lld of %s",
			    lock.l_type == F_RDLCK ? "F_RDLCK" : "F_WRLCK", (long long)lock.l_start,
			    (long long)lock.l_len,
			    lock.l_pid == -1 ? "a descriptor" : "the process");
	out->payload = AS_PAYLOAD_BYTES;
	out->data = as_buf_str(&vfs->data);
	out->len = vfs->data.len;
}

void as_sys_ofd_getlk(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	tell_lock(vfs, op, F_OFD_GETLK, out);
}

void as_sys_getlk(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	tell_lock(vfs, op, F_GETLK, out);
}
