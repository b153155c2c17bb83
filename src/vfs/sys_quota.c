/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sys_quota: quotas of mounts of our own. Coverage does not count quotactl. */
#include "vfs/sys_priv.h"

#include <errno.h>
#include <sys/quota.h>
#include <unistd.h>

static int quotactl_root(const struct as_sys *s, int command, const struct as_op *op, void *arg)
{
	/* QCMD() of the C library shifts a signed number over its end. */
	return (int)syscall(SYS_quotactl_fd, s->root_fd,
			    (unsigned)command << SUBCMDSHIFT | ((unsigned)op->flags & SUBCMDMASK),
			    (int)op->uid, arg);
}

void as_sys_quota(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	const struct as_sys *s = (const struct as_sys *)vfs;
	struct dqblk told = { 0 };

	if (!as_sys_is_ours(s)) {
		as_vfs_answer(out, -AS_ERR_UNSUPPORTED);
		return;
	}
	as_sys_answer(out, quotactl_root(s, Q_GETQUOTA, op, &told));
	if (out->ret < 0)
		return;
	out->ret = (int64_t)told.dqb_curinodes;
	out->space_bytes = told.dqb_curspace;
	out->limits = (struct as_quota_limits){ .inodes_soft = told.dqb_isoftlimit,
						.inodes_hard = told.dqb_ihardlimit,
						.space_soft = told.dqb_bsoftlimit,
						.space_hard = told.dqb_bhardlimit };
}

void as_sys_setquota(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	const struct as_sys *s = (const struct as_sys *)vfs;
	struct dqblk set = { .dqb_isoftlimit = (uint64_t)op->off,
			     .dqb_ihardlimit = (uint64_t)op->off2,
			     .dqb_bsoftlimit = op->fill,
			     .dqb_bhardlimit = op->len,
			     .dqb_valid = QIF_LIMITS };

	if (!as_sys_is_ours(s))
		as_vfs_answer(out, -AS_ERR_UNSUPPORTED);
	/* xfs would keep the old limits and say nothing. */
	else if ((set.dqb_ihardlimit && set.dqb_isoftlimit > set.dqb_ihardlimit) ||
		 (set.dqb_bhardlimit && set.dqb_bsoftlimit > set.dqb_bhardlimit))
		as_vfs_answer(out, -EINVAL);
	else
		as_sys_answer(out, quotactl_root(s, Q_SETQUOTA, op, &set));
}

/* Q_GETNEXTQUOTA: the first owner whose number is at least `id`. */
static int next_told(int fd, int64_t type, uint32_t id, struct as_quota_told *out)
{
	struct if_nextdqblk next = { 0 };

	if (syscall(SYS_quotactl_fd, fd,
		    (unsigned)Q_GETNEXTQUOTA << SUBCMDSHIFT | ((unsigned)type & SUBCMDMASK),
		    (int)id, &next))
		return -errno;
	*out = (struct as_quota_told){ .type = type,
				       .id = next.dqb_id,
				       .inodes = next.dqb_curinodes,
				       .space_bytes = next.dqb_curspace,
				       .limits = { .inodes_soft = next.dqb_isoftlimit,
						   .inodes_hard = next.dqb_ihardlimit,
						   .space_soft = next.dqb_bsoftlimit,
						   .space_hard = next.dqb_bhardlimit } };
	return 0;
}

int64_t as_sys_quotas(int fd, struct as_quota_told *quota, size_t max)
{
	size_t n = 0;

	for (int64_t type = AS_QUOTA_USR; type <= AS_QUOTA_PRJ; type++) {
		uint64_t id = 0;
		int rc = 0;

		while (n < max && id <= UINT32_MAX &&
		       !(rc = next_told(fd, type, (uint32_t)id, &quota[n])))
			id = (uint64_t)quota[n++].id + 1;
		/* It counts nobody of that type, or there is no such call; or this was the last. */
		if (rc && rc != -ENOENT && rc != -ESRCH && rc != -ENOSYS && rc != -EINVAL &&
		    rc != -EOPNOTSUPP && rc != -EPERM)
			return rc;
	}
	return (int64_t)n;
}
