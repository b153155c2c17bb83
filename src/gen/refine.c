/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * refine: the two lower layers. The extension layer walks the backbone on the model and, behind
 * each of its commands, draws extensions as the search draws core commands: a type by weight, a
 * typical inode. One that can take away what the backbone needs (command.def: BREAKS) is tried on a
 * copy together with all that is left of the backbone, and dropped when anything that went through
 * before would be refused. The syntax layer draws arguments and looks at nothing else.
 */
#include "gen/gen.h"

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
	struct as_view view;
	uint32_t weight[AS_OP_COUNT];
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

/* One extension behind i commands of the backbone. */
static void insert(struct refinement *r, size_t i)
{
	struct as_op built[AS_KMEANS_MAX];
	struct as_model *next;
	enum as_opcode code;
	unsigned n;

	as_view_look(&r->view, r->model, false);
	code = as_view_draw_type(&r->view, r->weight);
	if (code == AS_OP_COUNT)
		return;
	n = as_view_build(&r->view, r->model, code, built);
	if (!n)
		return;
	n = as_choose(r->view.choice, n);
	next = as_model_copy(r->model);
	as_model_apply(next, &built[n]);
	if (as_gen_rows[code].breaks && !goes_through(next, r->core, i, r->answers)) {
		r->counts->refused++;
		as_model_free(next);
		return;
	}
	as_seq_add(r->out, &built[n]);
	r->counts->inserted++;
	as_model_free(r->model);
	r->model = next;
}

struct as_seq *as_gen_extend(const struct as_seq *core, const struct as_profile *profile,
			     const struct as_traits *traits, struct as_choice *choice,
			     struct as_gen_stats *counts)
{
	struct as_gen_stats own = { 0 };
	struct refinement r = { .core = core,
				.model = as_model_new(traits),
				.out = as_seq_new(),
				.counts = counts ? counts : &own };

	as_view_init(&r.view, profile, choice);
	as_gen_weights(profile, traits, r.weight);
	for (int op = 0; op < AS_OP_COUNT; op++)
		if (as_op_table[op].layer == AS_LAYER_CORE)
			r.weight[op] = 0;
	for (size_t i = 0; i < core->n_meta; i++)
		as_seq_set_meta(r.out, core->meta[i].key, core->meta[i].value);
	answer_all(&r, traits);
	for (size_t i = 0; i < core->n; i++) {
		as_model_apply(r.model, &core->ops[i]);
		as_seq_add(r.out, &core->ops[i]);
		while (as_draw_chance(choice, profile->extend))
			insert(&r, i + 1);
	}
	free(r.answers);
	as_model_free(r.model);
	as_view_free(&r.view);
	return r.out;
}

struct as_seq *as_gen_fill(const struct as_seq *seq, const struct as_profile *profile,
			   struct as_choice *choice)
{
	struct as_seq *out = as_seq_new();
	struct as_buf text = { 0 };

	for (size_t i = 0; i < seq->n_meta; i++)
		as_seq_set_meta(out, seq->meta[i].key, seq->meta[i].value);
	for (size_t i = 0; i < seq->n; i++) {
		struct as_op op = seq->ops[i];

		as_buf_clear(&text);
		for (unsigned d = 0; d < AS_DRAWS; d++)
			if (as_draws[d].op == op.code)
				as_dist_draw(&as_draws[d], &profile->dist[d], choice, &op, &text);
		as_draw_settle(&op);
		as_seq_add(out, &op);
	}
	as_buf_free(&text);
	return out;
}
