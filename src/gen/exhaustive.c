/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exhaustive: all workloads of core commands up to a length, once for each state up to names.
 *
 * Method. Breadth first over every command that can be built (build.c), with absolute paths. Two
 * sets:
 *   given     canonical digests of the states a workload was handed out for;
 *   expanded  what was gone on from. States that differ only in names go on to states that differ
 *             only in names, so the canonical digest is enough to tell them apart, with one
 *             exception: to the model the text of a symbolic link is data, which does not follow
 *             when a name is another. Where symbolic links can be made the exact digest decides.
 */
#include "gen/gen.h"

#include "gen/tree.h"

#include <stdlib.h>

struct sweep {
	struct as_gen_view view;
	struct as_queue queue;
	struct as_visited given, expanded;
	struct as_gnode *from;
	unsigned length;
	bool exact;
	int (*fn)(void *ctx, struct as_seq *seq);
	void *ctx;
};

static struct as_digest expansion_key(const struct sweep *s, const struct as_model *model)
{
	return s->exact ? as_model_digest(model) : as_model_digest_canonical(model);
}

static int reach(void *ctx, const struct as_op *op)
{
	struct sweep *s = ctx;
	struct as_model *model = as_model_copy(s->from->model);
	int err = as_model_apply(model, op), rc = 0;
	struct as_gnode *node;

	as_assert(err == 0);
	node = as_gnode_new(s->from, op, model);
	if (as_visited_add(&s->given, as_model_digest_canonical(model)))
		rc = s->fn(s->ctx, as_gnode_seq(node, &s->view));
	if (!rc && node->length < s->length &&
	    as_visited_add(&s->expanded, expansion_key(s, model)))
		as_queue_push(&s->queue, node->length, node);
	else
		as_gnode_put(node);
	return rc;
}

int as_gen_exhaustive(const struct as_profile *profile, const struct as_traits *traits,
		      unsigned length, int (*fn)(void *ctx, struct as_seq *seq), void *ctx,
		      uint64_t *states)
{
	struct sweep s = { .length = length, .fn = fn, .ctx = ctx };
	uint32_t weight[AS_OP_COUNT];
	struct as_queue_place place;
	int rc = 0;

	*states = 0;
	s.queue.order = AS_ORDER_BREADTH;
	as_view_init(&s.view, profile, NULL);
	as_gen_weights(profile, traits, weight);
	s.exact = weight[AS_OP_SYMLINK] != 0;
	as_queue_push(&s.queue, 0, as_gnode_new(NULL, NULL, as_model_new(traits)));
	s.from = as_queue_pick(&s.queue, NULL, &place);
	as_visited_add(&s.given, as_model_digest_canonical(s.from->model));
	as_visited_add(&s.expanded, expansion_key(&s, s.from->model));
	while (!rc && (s.from = as_queue_pick(&s.queue, NULL, &place))) {
		as_queue_remove(&s.queue, place);
		as_view_look(&s.view, s.from->model, false);
		for (int op = 0; op < AS_OP_COUNT && !rc; op++)
			if (weight[op] && as_op_table[op].layer == AS_LAYER_CORE)
				rc = as_view_build_all(&s.view, s.from->model, (enum as_opcode)op,
						       reach, &s);
		as_gnode_put(s.from);
		++*states;
	}
	while ((s.from = as_queue_pick(&s.queue, NULL, &place))) {
		as_queue_remove(&s.queue, place);
		as_gnode_put(s.from);
	}
	as_queue_free(&s.queue);
	as_visited_free(&s.given);
	as_visited_free(&s.expanded);
	as_view_free(&s.view);
	return rc;
}
