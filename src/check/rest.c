/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rest: what is looked at once in each state, after all that may follow was tried: whether space is
 * lost (child/space.h). The state is brought back for it, and is spoiled by it.
 */
#include "check/worker_priv.h"

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

int as_worker_rest(struct as_expander *w, struct as_err *err)
{
	struct as_buf why = { 0 };
	int rc;

	if (!(as_space_promised(w->c->fresh.traits) & AS_SPACE_ALL))
		return 0;
	as_try_begin(&w->lane->tried, "");
	rc = learn(w, err);
	if (!rc)
		rc = as_worker_bring_back(w, err);
	if (rc || !w->back || !w->space.fresh_known || !as_model_mounted(w->model) ||
	    as_model_lost(w->model))
		return rc;
	w->back = false;
	w->lane->move = (uint32_t)w->moves->n;
	w->lane->phase = AS_CHECK_MOVE;
	as_space_end(&w->space, as_instance_vfs(w->instance), w->model);
	if (is_done(w, AS_OP_UMOUNT) && is_done(w, AS_OP_MOUNT) &&
	    !as_space_agrees(&w->space, as_instance_vfs(w->instance), w->model, &why))
		as_suspect_add(w->c, w->lane, false,
			       as_suspect_key(AS_FIND_TREE, AS_OP_STATFS, as_buf_str(&why)),
			       as_buf_str(&why));
	as_buf_free(&why);
	return 0;
}
