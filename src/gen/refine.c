/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * refine: the two lower layers. The extension layer walks the backbone on the model and, after
 * each of its commands, draws extensions as the search draws core commands: a type by weight, a
 * typical inode. One that can take away what the backbone needs (op.def: BREAKS) is tried on a
 * copy together with all that is left of the backbone, and dropped when anything that went through
 * before would be refused. The syntax layer draws arguments and looks at nothing else.
 */
#include "gen/refine.h"

#include "gen/finish.h"

#include <stdlib.h>
#include <string.h>

/* Whether operations i.. of the backbone all answer what they answer without the extension. */
static bool goes_through(const struct as_model *model, const struct as_seq *core, size_t i,
			 const int *answers)
{
	struct as_model *copy = as_model_copy(model);
	bool same = true;

	for (; i < core->n && same; i++)
		same = as_model_apply(copy, &core->ops[i]) == answers[i];
	as_model_free(copy);
	return same;
}

struct refinement {
	const struct as_seq *core;
	struct as_model *model;
	struct as_gen_view *view;
	const uint32_t *weight;
	int *answers; /* of the backbone alone */
	struct as_seq *out;
	struct as_gen_stats *counts;
};

static void answer_all(struct refinement *r, const struct as_traits *traits)
{
	struct as_model *model = as_model_new(traits);

	r->answers = as_xcalloc(r->core->n + 1, sizeof(*r->answers));
	for (size_t i = 0; i < r->core->n; i++)
		r->answers[i] = as_model_apply(model, &r->core->ops[i]);
	as_model_free(model);
}

/* One more operation, on the model and in the workload. */
static void put(struct refinement *r, const struct as_op *op)
{
	as_model_apply(r->model, op);
	as_seq_add(r->out, op);
	r->counts->inserted++;
}

/* One extension after i commands of the backbone. */
static void insert(struct refinement *r, size_t i)
{
	struct as_op built[AS_KMEANS_MAX];
	enum as_opcode code;
	unsigned n;

	as_view_look(r->view, r->model, false);
	code = as_view_draw_type(r->view, r->weight);
	if (code == AS_OP_COUNT)
		return;
	n = as_view_build(r->view, r->model, code, built);
	if (!n)
		return;
	n = as_choose(r->view->choice, n);
	if (as_gen_rows[code].breaks) {
		struct as_model *next = as_model_copy(r->model);
		bool through;

		as_model_apply(next, &built[n]);
		through = goes_through(next, r->core, i, r->answers);
		as_model_free(next);
		if (!through) {
			r->counts->refused++;
			return;
		}
	}
	if (code == AS_OP_CRASH)
		put(r, &r->view->plain[AS_OP_SYNC]);
	put(r, &built[n]);
	if (code == AS_OP_UMOUNT)
		put(r, &r->view->plain[AS_OP_MOUNT]);
}

void as_refine_weights(const struct as_profile *profile, const struct as_traits *traits,
		       uint32_t weight[AS_OP_COUNT])
{
	as_gen_weights(profile, traits, weight);
	for (int op = 0; op < AS_OP_COUNT; op++)
		if (as_op_table[op].layer == AS_LAYER_CORE)
			weight[op] = 0;
}

struct as_seq *as_refine_extend(const struct as_seq *core, struct as_gen_view *view,
				const uint32_t weight[AS_OP_COUNT], const struct as_traits *traits,
				struct as_gen_stats *counts, struct as_model **end)
{
	struct refinement r = { .core = core,
				.model = as_model_new(traits),
				.view = view,
				.weight = weight,
				.out = as_seq_new(),
				.counts = counts };

	for (size_t i = 0; i < core->n_meta; i++)
		as_seq_set_meta(r.out, core->meta[i].key, core->meta[i].value);
	answer_all(&r, traits);
	for (size_t i = 0; i < core->n; i++) {
		as_model_apply(r.model, &core->ops[i]);
		as_seq_add(r.out, &core->ops[i]);
		while (as_draw_chance(view->choice, view->profile->extend))
			insert(&r, i + 1);
	}
	free(r.answers);
	*end = r.model;
	return r.out;
}

struct as_seq *as_gen_extend(const struct as_seq *core, const struct as_profile *profile,
			     const struct as_traits *traits, struct as_choice *choice,
			     struct as_gen_stats *counts)
{
	struct as_gen_stats own = { 0 };
	uint32_t weight[AS_OP_COUNT];
	struct as_model *end;
	struct as_gen_view view;
	struct as_seq *out;

	as_view_init(&view, profile, choice);
	as_refine_weights(profile, traits, weight);
	out = as_refine_extend(core, &view, weight, traits, counts ? counts : &own, &end);
	as_model_free(end);
	as_view_free(&view);
	return out;
}

void as_refine_fill(struct as_seq *seq, const struct as_draw_index *index,
		    const struct as_profile *profile, struct as_choice *choice)
{
	struct as_buf text = { 0 };

	for (size_t i = 0; i < seq->n; i++) {
		struct as_op *op = &seq->ops[i];
		const char *name = op->name, *opts = op->opts;

		/* Options that are refused would leave nothing mounted for all that follows. */
		if (op->code == AS_OP_MOUNT)
			continue;
		as_buf_clear(&text);
		as_draw_args(index, profile->dist, choice, op, &text);
		as_draw_drop_idle(op);
		/* Words of the profile and of `text` do not live as long as the workload. */
		if (op->name != name)
			op->name = as_arena_strndup(&seq->strings, op->name, strlen(op->name));
		if (op->opts != opts)
			op->opts = as_arena_strndup(&seq->strings, op->opts, strlen(op->opts));
	}
	as_buf_free(&text);
}

struct as_seq *as_gen_fill(const struct as_seq *seq, const struct as_profile *profile,
			   struct as_choice *choice)
{
	struct as_seq *out = as_seq_copy(seq);
	struct as_draw_index index;

	as_draw_index_init(&index);
	as_refine_fill(out, &index, profile, choice);
	as_direct_align(out, profile, choice);
	return out;
}
