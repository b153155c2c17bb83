/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * op_quota: quotactl(2): how many inodes a user or a group has, which limits it has, and setting
 * these. A file that was removed counts until nobody has it open. What space they have, the model
 * cannot tell: child/quota.h. What limits refuse is in limits.c.
 */
#include "model/limits.h"

/* Whether the type counts, and for whom; false: refused. */
static bool counts(struct as_rule_step *s)
{
	if (as_rule_has(s, AS_FEAT_LIBRARY)) {
		as_rule_refuse(s, EOPNOTSUPP);
		return false;
	}
	/* quotactl_fd(): quotactl_cmd_write() takes Q_GETQUOTA for a command that writes, too, and
	 * is asked before anything but the type. */
	if (as_rule_read_only(s)) {
		as_rule_allow(s, EINVAL);
		as_rule_allow(s, ENOSYS);
		return false;
	}
	if (!(s->m->traits->features & AS_FEAT_QUOTA)) {
		/* It cannot count, or it does not; or the kernel has no such call. */
		as_rule_allow(s, ENOSYS);
		as_rule_allow(s, EINVAL);
		as_rule_refuse(s, ESRCH);
		return false;
	}
	if (s->op->flags == AS_QUOTA_PRJ && !(s->m->traits->features & AS_FEAT_PROJECT)) {
		/* It knows projects but does not count them; xfs has no file for them. */
		as_rule_allow(s, EINVAL);
		as_rule_allow(s, ENOSYS);
		as_rule_refuse(s, ESRCH);
		return false;
	}
	if (s->op->flags > AS_QUOTA_PRJ || s->op->uid < 0) {
		as_rule_refuse(s, EINVAL);
		return false;
	}
	/* Options of the workload may say noquota. */
	if (s->m->own_opts) {
		as_rule_allow(s, ESRCH);
		as_rule_allow(s, ENOSYS);
	}
	return true;
}

static uint64_t rounded(const struct as_rule_step *s, uint64_t kib)
{
	uint64_t unit = s->m->traits->block_bytes / 1024;

	return unit > 1 ? (kib + unit - 1) / unit * unit : kib;
}

/* xfs_qm_scall_setqlim() keeps limits in blocks. */
static void check_limit(struct as_rule_step *s, const char *what, uint64_t got, uint64_t set,
			bool space)
{
	if (got != set && !(space && got == rounded(s, set)))
		as_rule_wrong(s, "%s limit %llu, model says %llu", what, (unsigned long long)got,
			      (unsigned long long)set);
}

static void check_limits(struct as_rule_step *s)
{
	const struct as_limit *limit = as_limits_of(s->m, s->op->flags, (uint32_t)s->op->uid);
	struct as_quota_limits want = limit ? limit->max : (struct as_quota_limits){ 0 };
	const struct as_quota_limits *got = &s->got->limits;

	if (s->m->limits && s->m->limits->vague)
		return;
	check_limit(s, "soft", got->inodes_soft, want.inodes_soft, false);
	check_limit(s, "hard", got->inodes_hard, want.inodes_hard, false);
	check_limit(s, "soft space", got->space_soft, want.space_soft, true);
	check_limit(s, "hard space", got->space_hard, want.space_hard, true);
}

static bool has_any(const struct as_quota_limits *max)
{
	return max->inodes_soft || max->inodes_hard || max->space_soft || max->space_hard;
}

/* do_quotactl(), dquot_get_dqblk(), xfs_qm_scall_getquota(). */
void as_rule_quota(struct as_rule_step *s)
{
	uint32_t id = (uint32_t)s->op->uid;
	const struct as_limit *limit;
	int64_t owned;
	bool late;

	if (!counts(s))
		return;
	owned = as_model_owned(s->m, s->op->flags, id, &late);
	/* xfs_qm_scall_getquota(): it never had anything, and has no limit. */
	limit = as_limits_of(s->m, s->op->flags, id);
	if (!owned && (!limit || !has_any(&limit->max)))
		as_rule_allow(s, ENOENT);
	if (late && s->got && s->got->ret > owned)
		owned = -1;
	if (as_rule_accept(s, owned) && s->got)
		check_limits(s);
}

struct as_quota_limits as_model_quota_asked(const struct as_op *op)
{
	return (struct as_quota_limits){ .inodes_soft = (uint64_t)op->off,
					 .inodes_hard = (uint64_t)op->off2,
					 .space_soft = op->fill,
					 .space_hard = op->len };
}

bool as_model_has_limits(const struct as_model *m, bool *vague)
{
	*vague = m->limits && m->limits->vague;
	return m->limits;
}

/* do_quotactl(), dquot_set_dqblk(), xfs_qm_scall_setqlim(). */
void as_rule_setquota(struct as_rule_step *s)
{
	struct as_quota_limits max = as_model_quota_asked(s->op);

	/* The executor's own: xfs keeps the old limits and says nothing. */
	if ((max.inodes_hard && max.inodes_soft > max.inodes_hard) ||
	    (max.space_hard && max.space_soft > max.space_hard))
		return as_rule_refuse(s, EINVAL);
	if (!counts(s))
		return;
	/* A new id needs room in the file of quotas. */
	if (s->m->traits->may_fill)
		as_rule_allow(s, ENOSPC);
	if (!as_rule_accept(s, 0))
		return;
	as_rule_changes(s);
	as_limits_set(s->m, s->op->flags, (uint32_t)s->op->uid, &max);
}
