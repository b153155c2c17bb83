/* SPDX-License-Identifier: GPL-2.0-or-later */
/* limits: see limits.h. */
#include "model/limits.h"

#include "model/footprint.h"

#include "model/mark.h"

#include <stdlib.h>
#include <string.h>

#define KIB 1024u

/* ---- What was set ---- */

void as_limits_put(struct as_quota_set *limits)
{
	if (limits && --limits->ref == 0)
		free(limits);
}

const struct as_limit *as_limits_of(const struct as_model *m, int64_t type, uint32_t id)
{
	for (uint32_t i = 0; m->limits && i < m->limits->n; i++)
		if (m->limits->l[i].type == type && m->limits->l[i].id == id)
			return &m->limits->l[i];
	return NULL;
}

/* A set of the model's own, with room for so many more. */
static struct as_quota_set *unshare(struct as_model *m, uint32_t more)
{
	uint32_t n = m->limits ? m->limits->n : 0;
	struct as_quota_set *now = as_xcalloc(1, sizeof(*now) + (n + more) * sizeof(now->l[0]));

	if (m->limits)
		memcpy(now, m->limits, sizeof(*now) + n * sizeof(now->l[0]));
	now->ref = 1;
	as_limits_put(m->limits);
	m->limits = now;
	return now;
}

struct owned {
	int64_t type;
	uint32_t id;
	int64_t inodes, files;
};

static uint32_t owner(const struct as_inode *inode, int64_t type)
{
	return type == AS_QUOTA_PRJ   ? inode->project
	       : type == AS_QUOTA_GRP ? inode->gid
				      : inode->uid;
}

static int count_owned(void *ctx, uint32_t ino, void *elem)
{
	const struct as_inode *inode = elem;
	struct owned *owned = ctx;

	(void)ino;
	if (owner(inode, owned->type) == owned->id) {
		owned->inodes++;
		owned->files += is_reg(inode);
	}
	return 0;
}

int64_t as_model_owned(const struct as_model *m, int64_t type, uint32_t id, bool *late)
{
	struct owned owned = { .type = type, .id = id };

	as_vec_each(&m->inodes, count_owned, &owned);
	/* The dentry of what is open holds that of the directory in which its name was, and so that
	 * one's inode, if both were removed. The working directory is like it. */
	*late = m->n_open || m->cwd != MODEL_ROOT || !(m->traits->quota & AS_QUOTA_NOW);
	return owned.inodes + (id ? 0 : m->traits->quota_own);
}

void as_limits_set(struct as_model *m, int64_t type, uint32_t id, const struct as_quota_limits *max)
{
	struct owned owned = { .type = type, .id = id };
	struct as_quota_set *all = unshare(m, 1);
	struct as_limit *limit = NULL;

	as_vec_each(&m->inodes, count_owned, &owned);
	for (uint32_t i = 0; i < all->n && !limit; i++)
		if (all->l[i].type == type && all->l[i].id == id)
			limit = &all->l[i];
	if (!limit)
		limit = &all->l[all->n++];
	*limit = (struct as_limit){ type, id, !owned.files, *max };
	if (!id && m->traits->quirks & AS_QUIRK_QUOTA_ROOT)
		all->vague = true;
}

void as_limits_doubt(struct as_model *m)
{
	struct as_quota_set *all = m->limits ? unshare(m, 0) : NULL;

	for (uint32_t i = 0; all && i < all->n; i++)
		all->l[i].whole = false;
}

/* ---- Who is refused ---- */

/* Whether limits are followed at all, as far as is known. */
static bool holds(const struct as_model *m)
{
	return m->traits->quota & AS_QUOTA_LIMITS && !m->own_opts && !m->limits->vague;
}

/* Whom no limit refuses. */
static bool is_free(const struct as_model *m, uint32_t id)
{
	return !id && m->traits->quirks & AS_QUIRK_QUOTA_ROOT;
}

static bool has_space_limit(const struct as_model *m, int64_t type, uint32_t id)
{
	const struct as_limit *limit = is_free(m, id) ? NULL : as_limits_of(m, type, id);

	return limit && limit->max.space_hard;
}

static bool is_limited(const struct as_model *m, uint32_t ino)
{
	const struct as_inode *inode = ino ? inode_at(m, ino) : NULL;

	for (int64_t type = AS_QUOTA_USR; inode && type <= AS_QUOTA_PRJ; type++)
		if (has_space_limit(m, type, owner(inode, type)))
			return true;
	return false;
}

static bool path_is_limited(const struct as_model *m, const char *path)
{
	struct as_walk w = as_walk_path(m, path, WALK_FOLLOW), at;

	if (!w.err && (is_limited(m, w.ino) || is_limited(m, w.parent)))
		return true;
	at = as_walk_path(m, path, WALK_PARENT);
	return !at.err && is_limited(m, at.parent);
}

static bool slot_is_limited(const struct as_model *m, int32_t slot)
{
	const struct as_file *file = slot >= 0 ? as_file_at(m, slot) : NULL;

	return file && is_limited(m, file->ino);
}

/* Whether the operation makes inodes, which belong to root. */
static bool makes_nodes(const struct as_op *op)
{
	const struct as_op_info *info = &as_op_table[op->code];

	return info->changes & AS_CHANGES_NAMES && op->code != AS_OP_HARDLINK;
}

/* Of what makes several inodes, the model does not say at which of them it must end. */
static bool may_reach_limit(const struct as_rule_step *s)
{
	for (uint32_t i = 0; i < s->m->limits->n; i++) {
		const struct as_limit *limit = &s->m->limits->l[i];
		bool root = !limit->id && limit->type == AS_QUOTA_USR;

		if (limit->max.inodes_hard && !is_free(s->m, limit->id) &&
		    (root || limit->type != AS_QUOTA_USR) &&
		    as_op_table[s->op->code].calls == AS_CALLS_MANY)
			return true;
	}
	return false;
}

bool as_rule_may_be_over(const struct as_rule_step *s)
{
	const struct as_model *m = s->m;
	const struct as_op *op = s->op;

	if (!m->limits)
		return false;
	if (!holds(m))
		return true;
	if (makes_nodes(op) &&
	    (has_space_limit(m, AS_QUOTA_USR, 0) || has_space_limit(m, AS_QUOTA_GRP, 0) ||
	     has_space_limit(m, AS_QUOTA_PRJ, 0) || may_reach_limit(s)))
		return true;
	return (op->path && path_is_limited(m, op->path)) ||
	       (op->path2 && path_is_limited(m, op->path2)) || slot_is_limited(m, op->fd) ||
	       slot_is_limited(m, op->fd2) ||
	       (op->fd >= 0 && slot_is_limited(m, AS_MAP_SLOT + op->fd));
}

/* One inode more for an owner: 0, EDQUOT, or -EDQUOT: it may be. */
static int one_more(const struct as_rule_step *s, int64_t type, uint32_t id)
{
	const struct as_limit *limit = is_free(s->m, id) ? NULL : as_limits_of(s->m, type, id);
	int64_t n;
	bool late;

	if (!limit || !limit->max.inodes_hard)
		return 0;
	n = as_model_owned(s->m, type, id, &late);
	if ((uint64_t)n + 1 > limit->max.inodes_hard)
		return EDQUOT;
	return late ? -EDQUOT : 0;
}

/* xfs_trans_dqresv(): a project is a disk of its own, and that is full. */
static int over_errno(const struct as_rule_step *s, int64_t type)
{
	return type == AS_QUOTA_PRJ && s->m->traits->quirks & AS_QUIRK_QUOTA_ROOT ? ENOSPC : EDQUOT;
}

static bool room_for(struct as_rule_step *s, int64_t type, uint32_t id)
{
	int over = one_more(s, type, id);

	if (over)
		as_rule_allow(s, over_errno(s, type));
	if (over > 0)
		as_rule_refuse(s, over_errno(s, type));
	return over <= 0;
}

bool as_rule_room_for_node(struct as_rule_step *s, uint32_t dir)
{
	const struct as_inode *inode = inode_at(s->m, dir);

	as_rule_allow_full(s);
	if (!s->m->limits || !holds(s->m))
		return true;
	return room_for(s, AS_QUOTA_USR, 0) &&
	       room_for(s, AS_QUOTA_GRP, inode->mode & S_ISGID ? inode->gid : 0) &&
	       room_for(s, AS_QUOTA_PRJ, as_inode_inherits(inode) ? inode->project : 0);
}

/* __dquot_transfer(): who stays the same is not charged. False: refused. */
static bool give(struct as_rule_step *s, const struct as_inode *inode, int64_t type, uint32_t id)
{
	if (!s->m->limits || owner(inode, type) == id)
		return true;
	if (!holds(s->m) || has_space_limit(s->m, type, id))
		as_rule_allow(s, over_errno(s, type));
	if (!holds(s->m))
		return true;
	if (!(s->m->traits->quirks & AS_QUIRK_QUOTA_CHOWN))
		return room_for(s, type, id);
	if (as_limits_of(s->m, type, id))
		as_rule_allow(s, over_errno(s, type));
	return true;
}

bool as_rule_room_to_give(struct as_rule_step *s, const struct as_inode *inode, int64_t uid,
			  int64_t gid)
{
	return (uid < 0 || give(s, inode, AS_QUOTA_USR, (uint32_t)uid)) &&
	       (gid < 0 || give(s, inode, AS_QUOTA_GRP, (uint32_t)gid));
}

bool as_rule_room_for_project(struct as_rule_step *s, const struct as_inode *inode, uint32_t id)
{
	return give(s, inode, AS_QUOTA_PRJ, id);
}

const char *as_quota_word(int64_t type)
{
	return type == AS_QUOTA_PRJ ? "project" : type == AS_QUOTA_GRP ? "group" : "user";
}

/* ---- Space ---- */

void as_rule_check_limits(struct as_rule_step *s, const struct as_inode *inode, uint64_t off,
			  uint64_t len)
{
	if (!s->m->limits || !holds(s->m) || !len)
		return;
	for (int64_t type = AS_QUOTA_USR; type <= AS_QUOTA_PRJ; type++) {
		uint32_t id = owner(inode, type);
		const struct as_limit *limit =
			is_free(s->m, id) ? NULL : as_limits_of(s->m, type, id);
		uint64_t max = limit ? limit->max.space_hard * KIB : 0, has;

		if (!max || !limit->whole)
			continue;
		has = as_footprint_data(inode, off, len, s->m->traits->block_bytes);
		if (has > max + s->m->traits->block_bytes)
			as_rule_wrong(
				s, "%s %u has %llu bytes of data in this file, its limit is %llu",
				as_quota_word(type), id, (unsigned long long)has,
				(unsigned long long)max);
	}
}

uint32_t as_model_project(const struct as_model *model, uint32_t ino)
{
	return inode_at(model, ino)->project;
}
