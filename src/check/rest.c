/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rest: what is looked at once in each state, after all that may follow was tried. The state is
 * brought back for it, and is spoiled by it. The operations that have changed nothing are carried
 * out again, one after the other: most of them are refused. What they have left on the disk shows
 * after an unmount: the checker finds nothing, the tree is the same after a mount, and no space is
 * lost (trial/space.h). A kernel takes too long for these operations; there, it is space alone.
 */
#include "check/worker_priv.h"

#include "work/print.h"

static bool is_done(struct as_expander *w, enum as_opcode code)
{
	struct as_op op = as_op_make(code);
	struct as_outcome got;

	as_instance_do(w->instance, (uint32_t)w->seq->n, &op, &got);
	return got.ret >= 0;
}

/* What a fresh disk has, once. */
static int learn(struct as_expander *w, struct as_err *err)
{
	int rc = w->space.fresh_known ? 0 : as_instance_back(w->instance, w->fresh, err);

	if (!rc && !w->space.fresh_known && !as_instance_mount(w->instance))
		as_space_begin(&w->space, as_instance_vfs(w->instance));
	return rc;
}

static bool does_still(const struct as_expander *w)
{
	return as_instance_can(w->instance, AS_INSTANCE_STRICT);
}

/* False: something is wrong, and was told. */
static bool do_still(struct as_expander *w)
{
	struct as_outcome got;

	for (size_t i = 0; does_still(w) && i < w->moves->n; i++) {
		if (!w->still[i])
			continue;
		as_buf_clear(&w->line);
		as_print_op(&w->moves->ops[i], &w->line);
		as_try_begin(&w->lane->tried, as_buf_str(&w->line));
		w->lane->alive++;
		if (as_worker_do(w, &w->moves->ops[i], (uint32_t)w->seq->n, &got) !=
		    AS_TRIAL_AGREED)
			return false;
		as_try_keep(&w->lane->tried);
	}
	as_try_begin(&w->lane->tried, "");
	return true;
}

/* Unmounted. False: something is wrong, and was told, or *rc. */
static bool is_clean(struct as_expander *w, int *rc, struct as_err *err)
{
	struct as_instance_checked checked = { .clean = true };

	if (does_still(w) && as_instance_can(w->instance, AS_INSTANCE_CHECK))
		*rc = as_instance_check(w->instance, 0, &checked, err);
	if (!*rc && !checked.clean)
		as_suspect_add(w->c, w->lane, false, checked.kind,
			       as_suspect_key(checked.kind, AS_OP_COUNT, checked.why), checked.why);
	return !*rc && checked.clean;
}

/* Mounted once more. */
static void judge(struct as_expander *w, bool space)
{
	struct as_buf why = { 0 };

	if (does_still(w) && !as_worker_tree_agrees(w, AS_OP_COUNT))
		return;
	if (space &&
	    !as_space_agrees(&w->space, as_instance_vfs(w->instance), w->trial.model, &why))
		as_suspect_add(w->c, w->lane, false, AS_FIND_TREE,
			       as_suspect_key(AS_FIND_TREE, AS_OP_STATFS, as_buf_str(&why)),
			       as_buf_str(&why));
	as_buf_free(&why);
}

int as_worker_rest(struct as_expander *w, struct as_err *err)
{
	bool space = as_space_promised(w->c->fresh.traits) & AS_SPACE_ALL;
	int rc;

	if (!space && !does_still(w))
		return 0;
	as_try_begin(&w->lane->tried, "");
	rc = learn(w, err);
	if (!rc)
		rc = as_worker_bring_back(w, err);
	space &= w->space.fresh_known;
	if (rc || !w->back || !(space || does_still(w)) || !as_model_mounted(w->trial.model) ||
	    as_model_lost(w->trial.model))
		return rc;
	w->back = false;
	w->lane->move = (uint32_t)w->moves->n;
	w->lane->phase = AS_CHECK_MOVE;
	if (!do_still(w))
		return 0;
	as_instance_aside(w->instance, true);
	if (space)
		as_space_end(&w->space, as_instance_vfs(w->instance), w->trial.model);
	as_instance_aside(w->instance, false);
	if (!is_done(w, AS_OP_UMOUNT) || !is_clean(w, &rc, err) || !is_done(w, AS_OP_MOUNT))
		return rc;
	as_instance_aside(w->instance, true);
	judge(w, space);
	as_instance_aside(w->instance, false);
	return rc;
}
