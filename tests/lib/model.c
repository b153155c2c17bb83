/* SPDX-License-Identifier: GPL-2.0-or-later */
/* model: see model.h. */
#include "tests/lib/model.h"

struct as_seq *t_parse(const char *text)
{
	struct as_seq *seq = NULL;
	struct as_err err = { 0 };

	if (as_parse_text("test", text, strlen(text), &seq, &err) != 0)
		fail_msg("%s", err.msg);
	return seq;
}

int t_apply_text(struct as_model *m, const char *text)
{
	struct as_seq *seq = t_parse(text);
	int err = 0;

	for (size_t i = 0; i < seq->n; i++)
		err = as_model_apply(m, &seq->ops[i]);
	as_seq_free(seq);
	return err;
}

bool t_judges(const struct as_traits *traits, const char *text, int64_t ret, int err)
{
	struct as_outcome got = { .ret = ret, .err = err };

	return t_judges_outcome(traits, text, &got);
}

bool t_judges_outcome(const struct as_traits *traits, const char *text,
		      const struct as_outcome *got)
{
	struct as_model *m = as_model_new(traits);
	struct as_seq *seq = t_parse(text);
	struct as_verdict verdict = { 0 };
	bool ok;

	for (size_t i = 0; i + 1 < seq->n; i++)
		(void)as_model_apply(m, &seq->ops[i]);
	ok = as_model_judge(m, &seq->ops[seq->n - 1], got, &verdict);
	as_verdict_free(&verdict);
	as_seq_free(seq);
	as_model_free(m);
	return ok;
}
