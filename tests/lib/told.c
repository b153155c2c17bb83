/* SPDX-License-Identifier: GPL-2.0-or-later */
/* told: see told.h. */
#include "tests/lib/told.h"

static struct as_traits told_traits(void)
{
	return (struct as_traits){
		.name = "told",
		.features = ~(uint64_t)AS_FEAT_UNPRIVILEGED,
		.quirks = AS_QUIRK_NO_ATIME,
		.name_max = 255,
		.symlink_max = 4095,
		.xattr_value_max = 4096,
		.block_bytes = 1024,
		.size_max = INT64_MAX,
		.time_granularity_ns = 1,
	};
}

/* What the model would have answered. */
static struct as_outcome told_answer(struct as_model *model, const struct as_op *op)
{
	struct as_outcome out = { .ret = -1 };
	struct as_allowed allowed;

	as_model_allowed(model, op, &allowed);
	if (allowed.ok && !allowed.must)
		out.ret = allowed.ret >= 0 ? allowed.ret : 0;
	else
		out.err = allowed.must;
	(void)as_model_apply(model, op);
	return out;
}

void t_told_begin(struct told *t, const struct as_policy *policy)
{
	t->traits = told_traits();
	t->model = as_model_new(&t->traits);
	t->history = as_history_new(t->model, policy);
	t->seq = NULL;
}

void t_told_add(struct told *t, const struct as_op *op)
{
	struct as_outcome out = told_answer(t->model, op);

	if (!as_history_add(t->history, op, &out) && !as_model_lost(t->model)) {
		fprintf(stderr, "the model does not allow its own answer\n");
		abort();
	}
}

void t_told_text(struct told *t, const struct as_policy *policy, const char *text)
{
	struct as_err err = { 0 };

	t_told_begin(t, policy);
	if (as_parse_text("test", text, strlen(text), &t->seq, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		abort();
	}
	for (size_t i = 0; i < t->seq->n; i++)
		t_told_add(t, &t->seq->ops[i]);
}

void t_told_end(struct told *t)
{
	as_history_free(t->history);
	as_seq_free(t->seq);
	as_model_free(t->model);
}

void t_verdict_say(struct as_legal *verdict, struct as_buf *why)
{
	as_buf_clear(why);
	as_buf_addf(why, "%s: %s", as_rule_name(verdict->rule), as_buf_str(&verdict->why));
	as_legal_free(verdict);
}
