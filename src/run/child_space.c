/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * child_space: whether all space is free again.
 *
 * Method. Space that is lost shows in no answer and in no tree, and a checker may take it for used.
 * So statfs is asked three times:
 *   - on the fresh mount;
 *   - at the end of the workload, with everything closed and synced, and once more after the mount
 *     that follows: the mount must not find anything to free (an orphan that was kept);
 *   - after that, with everything removed and synced: no less may be free than was on the fresh
 *     disk.
 * What each type promises is a trait (as_traits.space). A root directory that became longer may
 * keep its blocks; then only the number of free inodes is judged.
 *
 * It is the last thing that happens to a disk. The model does not follow it, and whoever counts the
 * workload's calls does not see it.
 */
#include "run/child_priv.h"

#include "run/quota.h"

#include <stdio.h>

/* Of a directory that gives its project away, statfs tells the project's limits. */
static bool is_judged(const struct child *c)
{
	return c->args->traits->space && !(c->args->traits->features & AS_FEAT_PROJECT) &&
	       c->disk && !c->args->plan && !c->args->race_seed && !c->blind;
}

static bool ask(struct child *c, struct as_statfs *sfs, uint64_t *root_bytes)
{
	struct as_op op = as_op_make(AS_OP_STATFS), stat = as_op_make(AS_OP_STAT);
	struct as_outcome got = { 0 };

	op.path = stat.path = "/";
	as_vfs_exec(as_instance_vfs(c->instance), &op, &got);
	if (got.ret < 0)
		return false;
	*sfs = got.sfs;
	as_vfs_exec(as_instance_vfs(c->instance), &stat, &got);
	*root_bytes = got.st.size;
	return got.ret >= 0;
}

static void do_op(struct child *c, struct as_op op)
{
	struct as_outcome got = { 0 };

	as_vfs_exec(as_instance_vfs(c->instance), &op, &got);
}

static int close_slot(void *ctx, int slot, uint32_t ino, int64_t flags)
{
	(void)ino;
	(void)flags;
	do_op(ctx, as_model_closing(slot));
	return 0;
}

void as_child_space_begin(struct child *c)
{
	c->space = (struct as_child_space){ 0 };
	if (is_judged(c))
		c->space.fresh_known = ask(c, &c->space.fresh, &c->space.root_bytes);
}

void as_child_space_end(struct child *c)
{
	struct as_op leave = as_op_make(AS_OP_CHCWD);
	uint64_t root_bytes;

	if (!c->space.fresh_known || !is_judged(c) || !as_model_mounted(c->model) ||
	    as_model_lost(c->model))
		return;
	as_vfs_watch(as_instance_vfs(c->instance), NULL);
	as_model_each_open(c->model, close_slot, c);
	leave.path = "/";
	do_op(c, leave); /* a working directory that was removed holds its inode */
	do_op(c, as_op_make(AS_OP_SYNC));
	c->space.ended_known = ask(c, &c->space.ended, &root_bytes);
}

static void say(struct child *c, const char *what, uint64_t got, uint64_t want, const char *when)
{
	char why[160];

	snprintf(why, sizeof(why), "%llu free %s %s, there were %llu", (unsigned long long)got,
		 what, when, (unsigned long long)want);
	as_child_found(c, AS_FIND_TREE, -1, "space", why);
}

static int remove_entry(void *ctx, const char *name, uint64_t ino, uint32_t type)
{
	struct as_vfs_names *names = ctx;

	(void)ino;
	(void)type;
	return as_vfs_names_add(names, 0, name);
}

static bool remove_all(struct child *c)
{
	struct as_vfs *vfs = as_instance_vfs(c->instance);
	struct as_vfs_names names = { 0 };
	struct as_buf path = { 0 };
	bool ok = !as_vfs_tree(vfs)->list(vfs, "/", remove_entry, &names);

	for (size_t i = 0; ok && i < names.n; i++) {
		struct as_op op = as_op_make(AS_OP_REMOVE);
		struct as_outcome got = { 0 };

		as_buf_clear(&path);
		as_buf_addf(&path, "/%s", as_vfs_names_at(&names, i));
		op.path = as_buf_str(&path);
		as_vfs_exec(vfs, &op, &got);
		ok = got.ret >= 0;
	}
	as_buf_free(&path);
	as_vfs_names_free(&names);
	return ok;
}

bool as_child_space_agrees(struct child *c)
{
	const struct as_child_space *s = &c->space;
	uint32_t promised = c->args->traits->space;
	struct as_statfs now;
	uint64_t root_bytes;

	if (!s->ended_known || !ask(c, &now, &root_bytes))
		return true;
	as_vfs_watch(as_instance_vfs(c->instance), NULL);
	if (promised & AS_SPACE_REMOUNT && now.files_free != s->ended.files_free)
		say(c, "inodes", now.files_free, s->ended.files_free, "after another mount");
	else if (promised & AS_SPACE_REMOUNT && now.blocks_free != s->ended.blocks_free)
		say(c, "blocks", now.blocks_free, s->ended.blocks_free, "after another mount");
	if (c->sh->found || !(promised & AS_SPACE_FREED) || !remove_all(c))
		return !c->sh->found;
	do_op(c, as_op_make(AS_OP_SYNC));
	if (!ask(c, &now, &root_bytes))
		return true;
	if (now.files_free < s->fresh.files_free)
		say(c, "inodes", now.files_free, s->fresh.files_free, "with everything removed");
	else if (root_bytes <= s->root_bytes && now.blocks_free < s->fresh.blocks_free)
		say(c, "blocks", now.blocks_free, s->fresh.blocks_free, "with everything removed");
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
