/* SPDX-License-Identifier: GPL-2.0-or-later */
/* told: a history of a workload as the model itself would have answered it. */
#ifndef AS_TESTS_CRASH_TOLD_H
#define AS_TESTS_CRASH_TOLD_H

#include "legal/legal.h"
#include "work/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct told {
	struct as_traits traits;
	struct as_model *model;
	struct as_seq *seq;
	struct as_history *history;
};

__attribute__((unused)) static struct as_traits told_traits(void)
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
__attribute__((unused)) static struct as_outcome told_answer(struct as_model *model,
							     const struct as_op *op)
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

__attribute__((unused)) static void told_begin(struct told *t, const struct as_policy *policy)
{
	t->traits = told_traits();
	t->model = as_model_new(&t->traits);
	t->history = as_history_new(t->model, policy);
	t->seq = NULL;
}

__attribute__((unused)) static void told_add(struct told *t, const struct as_op *op)
{
	struct as_outcome out = told_answer(t->model, op);

	if (!as_history_add(t->history, op, &out) && !as_model_lost(t->model)) {
		fprintf(stderr, "the model does not allow its own answer\n");
		abort();
	}
}

__attribute__((unused)) static void told_text(struct told *t, const struct as_policy *policy,
					      const char *text)
{
	struct as_err err = { 0 };

	told_begin(t, policy);
	if (as_parse_text("test", text, strlen(text), &t->seq, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		abort();
	}
	for (size_t i = 0; i < t->seq->n; i++)
		told_add(t, &t->seq->ops[i]);
}

__attribute__((unused)) static void told_end(struct told *t)
{
	as_history_free(t->history);
	as_seq_free(t->seq);
	as_model_free(t->model);
}

#endif
