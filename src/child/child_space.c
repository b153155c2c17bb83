/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * child_space: whether all space is free again (child/space.h), and whether quotas are right, after
 * a workload. Whoever counts the workload's calls does not see it.
 */
#include "child/child_priv.h"

#include "child/quota.h"

static bool is_judged(struct child *c, uint32_t promise)
{
	return as_space_promised(c->args->traits) & promise && !c->args->race_seed &&
	       !as_trial_excuses(&c->trial, AS_EXCUSED_SPACE);
}

static void tell(struct child *c, struct as_buf *why)
{
	if (why->len)
		as_child_found(c, AS_FIND_TREE, -1, "space", as_buf_str(why));
	as_buf_free(why);
}

void as_child_space_begin(struct child *c)
{
	c->space = (struct as_space_seen){ 0 };
	if (c->disk && is_judged(c, AS_SPACE_ALL))
		as_space_begin(&c->space, as_instance_vfs(c->instance));
}

void as_child_space_end(struct child *c)
{
	struct as_buf why = { 0 };
	int rc = 0;

	if (!is_judged(c, ~0u) || !as_model_mounted(c->trial.model) ||
	    as_model_lost(c->trial.model))
		return;
	as_vfs_watch(as_instance_vfs(c->instance), NULL);
	/* Where there is no other mount (tmpfs), files are as they will be. */
	if (!c->disk && is_judged(c, AS_SPACE_FILES))
		(void)as_space_files(as_instance_vfs(c->instance), c->trial.model, false, &why);
	tell(c, &why);
	as_instance_aside(c->instance, true);
	if (c->space.fresh_known)
		rc = as_space_end(&c->space, as_instance_vfs(c->instance), c->trial.model);
	as_instance_aside(c->instance, false);
	as_trial_written(&c->trial, -rc);
}

bool as_child_space_agrees(struct child *c)
{
	struct as_buf why = { 0 };

	if (!is_judged(c, ~0u) || !as_model_mounted(c->trial.model) ||
	    as_model_lost(c->trial.model))
		return true;
	as_vfs_watch(as_instance_vfs(c->instance), NULL);
	as_instance_aside(c->instance, true);
	(void)as_space_agrees(&c->space, as_instance_vfs(c->instance), c->trial.model, &why);
	as_instance_aside(c->instance, false);
	tell(c, &why);
	return !c->sh->notice.is;
}

bool as_child_quota_agrees(struct child *c)
{
	struct as_buf why = { 0 };

	if (!(c->args->traits->features & AS_FEAT_QUOTA) ||
	    as_trial_excuses(&c->trial, AS_EXCUSED_SPACE) || as_model_lost(c->trial.model))
		return true;
	as_vfs_watch(as_instance_vfs(c->instance), NULL);
	if (!as_quota_agrees(as_instance_vfs(c->instance), c->trial.model, &why))
		as_child_found(c, AS_FIND_TREE, -1, "quota", as_buf_str(&why));
	as_buf_free(&why);
	return !c->sh->notice.is;
}
