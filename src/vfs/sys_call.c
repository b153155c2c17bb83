/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sys_call: where the executor's calls for a workload go through, so that they can be watched. */
#include "vfs/sys_priv.h"

#include <errno.h>
#include <unistd.h>

int64_t as_sys_call(struct as_vfs *vfs, long nr, const uint64_t args[6])
{
	int64_t ret = syscall(nr, args[0], args[1], args[2], args[3], args[4], args[5]);
	int saved = errno;

	if (vfs && vfs->watch)
		vfs->watch->call(vfs->watch->ctx, nr, args, ret < 0 ? -(int64_t)saved : ret);
	errno = saved;
	return ret;
}

void as_sys_begin(struct as_vfs *vfs)
{
	const struct as_sys *s = (const struct as_sys *)vfs;

	vfs->watch->holds(vfs->watch->ctx, s->root_fd, "/", true);
	vfs->watch->holds(vfs->watch->ctx, s->proc_fd, "/proc/self/fd", true);
}
