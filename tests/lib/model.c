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
