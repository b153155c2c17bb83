/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * legal_quota: may quotas be what a recovered file system tells of them?
 *
 * Method. What each owner has is counted in the tree that was read from the same mount, so it does
 * not matter which of the allowed states that is. Limits are judged by themselves, and not with the
 * tree: each owner has its own versions, one for each setquota that was answered.
 *
 * Rules
 *   1. Users and groups have as many inodes as the tree says, and as much space where the type
 *      promises that (as_traits.quota). The projects of inodes are not in a tree.
 *   2. The limits of an owner are those that were set last before they were made stable, or others
 *      that were set since. Nobody else ever had any.
 *   3. A sync makes limits stable. So does, where names and attributes are stable in order, an
 *      fsync of something that came after the limits.
 */
#include "legal/legal_priv.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define KIB 1024u

/* What the tree says of one owner. */
struct quota_share {
	int64_t type; /* AS_QUOTA_* */
	uint32_t id;
	uint64_t inodes, bytes;
};

struct quota_shares {
	struct quota_share *o;
	size_t n, cap;
};

static struct quota_share *owner_of(struct quota_shares *all, int64_t type, uint32_t id)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->o[i].type == type && all->o[i].id == id)
			return &all->o[i];
	AS_ARRAY_ROOM(all->o, all->n, all->cap);
	all->o[all->n] = (struct quota_share){ .type = type, .id = id };
	return &all->o[all->n++];
}

static void charge(struct quota_shares *all, int64_t type, uint32_t id, uint64_t bytes)
{
	struct quota_share *owner = owner_of(all, type, id);

	owner->inodes++;
	owner->bytes += bytes;
}

/* Each inode once; then those that are told to have something. */
static void count_all(const struct as_tree *tree, const struct as_quota_told *told, uint32_t n,
		      struct quota_shares *all)
{
	for (uint32_t i = 0; i < as_tree_len(tree); i++) {
		const struct as_tree_node *node = as_tree_at(tree, i);

		if (node->twin != i)
			continue;
		charge(all, AS_QUOTA_USR, node->uid, node->blocks * 512);
		charge(all, AS_QUOTA_GRP, node->gid, node->blocks * 512);
	}
	for (uint32_t i = 0; i < n; i++)
		if (told[i].type != AS_QUOTA_PRJ)
			(void)owner_of(all, told[i].type, told[i].id);
}

static struct as_quota_told told_of(const struct as_quota_told *told, uint32_t n, int64_t type,
				    uint32_t id)
{
	for (uint32_t i = 0; i < n; i++)
		if (told[i].type == type && told[i].id == id)
			return told[i];
	return (struct as_quota_told){ .type = type, .id = id };
}

static bool say_usage(struct as_legal_judge *j, const struct quota_share *owner, const char *what,
		      uint64_t told, uint64_t has)
{
	const char *who = as_quota_word(owner->type);
	struct as_buf sign = { 0 };

	as_buf_addf(&sign, "%s of a %s", what, who);
	as_legal_broken(j, AS_RULE_QUOTA, AS_LEGAL_NO_OP, as_buf_str(&sign));
	as_buf_addf(&j->verdict->why, "the quota of %s %u has %llu %s; recovered tree has %llu",
		    who, owner->id, (unsigned long long)told, what, (unsigned long long)has);
	as_buf_free(&sign);
	return false;
}

static bool usage_ok(struct as_legal_judge *j, const struct as_quota_told *told, uint32_t n,
		     const struct quota_share *owner)
{
	const struct as_traits *traits = j->h->traits;
	struct as_quota_told is = told_of(told, n, owner->type, owner->id);
	uint64_t inodes = owner->inodes + (owner->id ? 0 : traits->quota_own);

	if (is.inodes != inodes)
		return say_usage(j, owner, "inodes", is.inodes, inodes);
	if (traits->quota & AS_QUOTA_SPACE && is.space_bytes != owner->bytes)
		return say_usage(j, owner, "bytes", is.space_bytes, owner->bytes);
	return true;
}

/* ---- Limits ---------------------------------------------------------------------------------- */

/* xfs keeps limits of space in blocks. */
static bool same_space(const struct as_legal_judge *j, uint64_t got, uint64_t set)
{
	uint64_t unit = j->h->traits->block_bytes / KIB;

	return got == set || (unit > 1 && got == (set + unit - 1) / unit * unit);
}

static bool same_limits(const struct as_legal_judge *j, const struct as_quota_limits *got,
			const struct as_quota_limits *set)
{
	return got->inodes_soft == set->inodes_soft && got->inodes_hard == set->inodes_hard &&
	       same_space(j, got->space_soft, set->space_soft) &&
	       same_space(j, got->space_hard, set->space_hard);
}

/* The first of the promises that had been given which made this limit stable; NULL: none did. */
static const struct as_history_promise *stable_by(const struct as_legal_judge *j,
						  const struct as_history_limit *limit)
{
	uint32_t point = j->h->after[limit->op + 1];

	for (uint32_t i = as_stable_promises(j->h, limit->op); i < j->n_promises; i++) {
		const struct as_history_promise *promise = &j->h->promise[i];

		if (promise->what.kind == AS_PERSIST_ALL ||
		    (j->policy.guarantee == AS_GUARANTEE_PREFIX && promise->floor > point))
			return promise;
	}
	return NULL;
}

static void add_limits(struct as_buf *out, const struct as_quota_limits *max)
{
	as_buf_addf(out, "isoft=%llu ihard=%llu bsoft=%llu bhard=%llu",
		    (unsigned long long)max->inodes_soft, (unsigned long long)max->inodes_hard,
		    (unsigned long long)max->space_soft, (unsigned long long)max->space_hard);
}

static bool say_limits(struct as_legal_judge *j, const struct as_quota_told *is,
		       const struct as_quota_limits *was, const struct as_history_promise *by)
{
	struct as_buf *why = &j->verdict->why, sign = { 0 };

	as_buf_addf(&sign, "limits of a %s", as_quota_word(is->type));
	as_legal_broken(j, AS_RULE_QUOTA, by ? by->op : AS_LEGAL_NO_OP, as_buf_str(&sign));
	as_legal_after(j, by);
	as_buf_addf(why, "%s %u must have the limits ", as_quota_word(is->type), is->id);
	add_limits(why, was);
	as_buf_adds(why, " or those that were set since; the recovered ones are ");
	add_limits(why, &is->limits);
	as_buf_free(&sign);
	return false;
}

/* Versions are gone through from the last one that can have been set to the one that is stable. */
static bool limits_ok(struct as_legal_judge *j, const struct as_quota_told *is)
{
	const struct as_history_promise *by = NULL;
	struct as_quota_limits was = { 0 };

	for (uint32_t i = j->h->n_limits; i-- > 0 && !by;) {
		const struct as_history_limit *limit = &j->h->limit[i];

		if (limit->op >= j->moment.begun || limit->type != is->type || limit->id != is->id)
			continue;
		if (same_limits(j, &is->limits, &limit->max))
			return true;
		by = stable_by(j, limit);
		if (by)
			was = limit->max;
	}
	return (!by && same_limits(j, &is->limits, &was)) || say_limits(j, is, &was, by);
}

/* Of all who are told to have some, and of all who ever got some. */
static bool all_limits_ok(struct as_legal_judge *j, const struct as_quota_told *told, uint32_t n)
{
	bool vague, ok = true;

	(void)as_model_has_limits(j->h->model, &vague);
	if (vague || j->h->limits_unsure)
		return true;
	for (uint32_t i = 0; i < n && ok; i++)
		ok = limits_ok(j, &told[i]);
	for (uint32_t i = 0; i < j->h->n_limits && ok; i++) {
		struct as_quota_told is = told_of(told, n, j->h->limit[i].type, j->h->limit[i].id);

		ok = limits_ok(j, &is);
	}
	return ok;
}

bool as_legal_quotas(struct as_legal_judge *j)
{
	struct quota_shares all = { 0 };
	uint32_t n;
	const struct as_quota_told *told = as_tree_quotas(j->tree, &n);
	bool ok = true;

	if (!(j->h->traits->features & AS_FEAT_QUOTA) || !told)
		return true;
	count_all(j->tree, told, n, &all);
	for (size_t i = 0; i < all.n && ok; i++)
		ok = usage_ok(j, told, n, &all.o[i]);
	free(all.o);
	return ok && all_limits_ok(j, told, n);
}
