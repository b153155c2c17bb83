/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * op_quota: quotactl(2), Q_GETQUOTA: how many inodes a user or a group has. A file that was removed
 * counts until nobody has it open. What space they have, the model cannot tell: run/quota.h.
 */
#include "model/rule.h"

struct owned {
	const struct as_op *op;
	int64_t n;
};

static int count_owned(void *ctx, uint32_t ino, void *elem)
{
	const struct as_inode *inode = elem;
	struct owned *owned = ctx;

	(void)ino;
	owned->n += (owned->op->flags == AS_QUOTA_GRP ? inode->gid : inode->uid) ==
		    (uint32_t)owned->op->uid;
	return 0;
}

/* do_quotactl(), dquot_get_dqblk(), xfs_qm_scall_getquota(). */
void as_rule_quota(struct as_rule_step *s)
{
	const struct as_traits *traits = s->m->traits;
	struct owned owned = { .op = s->op };
	bool late;

	if (as_rule_has(s, AS_FEAT_LIBRARY))
		return as_rule_refuse(s, EOPNOTSUPP);
	if (!(traits->features & AS_FEAT_QUOTA)) {
		/* It cannot count, or it does not; or the kernel has no such call. */
		as_rule_allow(s, ENOSYS);
		as_rule_allow(s, EINVAL);
		return as_rule_refuse(s, ESRCH);
	}
	if (s->op->flags > AS_QUOTA_GRP || s->op->uid < 0)
		return as_rule_refuse(s, EINVAL);
	as_vec_each(&s->m->inodes, count_owned, &owned);
	if (!s->op->uid)
		owned.n += traits->quota_own;
	/* xfs_qm_dqget(): nobody ever had anything. */
	if (!owned.n)
		as_rule_allow(s, ENOENT);
	/* Options of the workload may say noquota. */
	if (s->m->own_opts) {
		as_rule_allow(s, ESRCH);
		as_rule_allow(s, ENOSYS);
	}
	/* The dentry of what is open holds that of the directory in which its name was, and so that
	 * one's inode, if both were removed. The working directory is like it. */
	late = s->m->n_open || s->m->cwd != MODEL_ROOT || !(traits->quota & AS_QUOTA_NOW);
	if (late && s->got && s->got->ret > owned.n)
		(void)as_rule_accept(s, -1);
	else
		(void)as_rule_accept(s, owned.n);
}
