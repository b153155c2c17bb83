/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sys_flags: locks by flock(2), and flags of inodes through ioctl(2), which are the marks
 * (model/mark.h) of a tree that is read. Of all flags, the four of mark.h are touched.
 */
#include "vfs/sys_priv.h"

#include "model/mark.h"

#include <errno.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>

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

int64_t as_sys_marks(int fd, char *list, size_t len)
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
	return (int64_t)at;
}

/* Nothing may wait for a lock. */
void as_sys_flock(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	int how = (int)(op->flags & (LOCK_SH | LOCK_EX | LOCK_UN));

	as_sys_answer(out, as_sys_do(vfs, flock, as_sys_fd(vfs, op->fd), how | LOCK_NB));
}
