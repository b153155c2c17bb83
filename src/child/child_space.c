/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * child_space: whether all space is free again (child/space.h), and whether quotas are right, after
 * a workload. Whoever counts the workload's calls does not see it.
 */
#include "child/child_priv.h"

#include "child/quota.h"

static bool is_judged(const struct child *c)
{
	return as_space_promised(c->args->traits) && c->disk && !c->args->plan &&
	       !c->args->race_seed && !c->blind;
}

void as_child_space_begin(struct child *c)
{
	c->space = (struct as_space_seen){ 0 };
	if (is_judged(c))
		as_space_begin(&c->space, as_instance_vfs(c->instance));
}

void as_child_space_end(struct child *c)
{
	if (!c->space.fresh_known || !is_judged(c) || !as_model_mounted(c->model) ||
	    as_model_lost(c->model))
		return;
	as_vfs_watch(as_instance_vfs(c->instance), NULL);
	as_space_end(&c->space, as_instance_vfs(c->instance), c->model);
}

bool as_child_space_agrees(struct child *c)
{
	struct as_buf why = { 0 };

	if (!c->space.ended_known)
		return true;
	as_vfs_watch(as_instance_vfs(c->instance), NULL);
	if (!as_space_agrees(&c->space, as_instance_vfs(c->instance),
			     as_space_promised(c->args->traits), &why))
		as_child_found(c, AS_FIND_TREE, -1, "space", as_buf_str(&why));
	as_buf_free(&why);
	return !c->sh->found;
}

bool as_child_quota_agrees(struct child *c)
{
	struct as_buf why = { 0 };

	if (!(c->args->traits->features & AS_FEAT_QUOTA) || c->args->plan || c->blind ||
	    as_model_lost(c->model))
		return true;
	as_vfs_watch(as_instance_vfs(c->instance), NULL);
	if (!as_quota_agrees(as_instance_vfs(c->instance), c->model, &why))
		as_child_found(c, AS_FIND_TREE, -1, "quota", as_buf_str(&why));
	as_buf_free(&why);
	return !c->sh->found;
}
