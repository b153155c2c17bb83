/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * history_order: the history of one order in which calls of several threads may have happened. The
 * order, and the state after each step, come from race/graph.h; here no answer is judged.
 *
 * What a call makes stable it makes stable when it has ended; before that it promises nothing. An
 * fsync may look at its file at any moment while it runs. The order has the earliest of these, with
 * which it promises least. But some rules excuse a loss by an fsync of another file (light_fsync,
 * and the weaker rule for objects); for these the fsync counts as under way at the end, too.
 */
#include "legal/history_priv.h"

#include "base/array.h"

void as_history_follow(struct as_history *h, const struct as_history_step *step)
{
	struct as_persist what = as_history_persist(h, step->op, step->got);
	struct as_model *before = h->model;
	const struct as_op *op = as_history_push(h, step->op, step->got->ret, step->number);

	as_history_add_point(h, op, before, step->after, 0);
	if (step->promises)
		as_stable_record(h, &what);
	if (step->late && what.kind != AS_PERSIST_NOTHING && what.kind != AS_PERSIST_ALL) {
		AS_ARRAY_ROOM(h->late, h->n_late, h->cap_late);
		h->late[h->n_late++] = (struct as_history_late){ h->ops->n - 1, what };
	}
	as_history_add_close(h, op, before);
	h->model = as_model_copy(step->after);
	as_model_free(before);
	(void)as_history_end_op(h);
}

void as_history_end(struct as_history *h)
{
	for (size_t i = 0; i < h->n_late; i++) {
		const struct as_op op = h->ops->ops[h->late[i].op];

		(void)as_history_push(h, &op, 0, h->number[h->late[i].op]);
		as_stable_record(h, &h->late[i].what);
		(void)as_history_end_op(h);
	}
	h->n_late = 0;
}

size_t as_history_number(const struct as_history *h, size_t i)
{
	return i < h->ops->n ? h->number[i] : i;
}

bool as_history_is_last(const struct as_history *h, const struct as_tree *tree)
{
	return as_digest_eq(h->point[h->n_points - 1].shape, as_history_shape_of_tree(h, tree));
}
