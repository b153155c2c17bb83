/* SPDX-License-Identifier: GPL-2.0-or-later */
/* answers: see answers.h. */
#include "child/answers.h"

#include "base/hash.h"

#include <stdio.h>
#include <string.h>

/* lost+found and the like: not every type has them. */
static bool is_fresh(const struct as_model *fresh, const char *name)
{
	struct as_buf path = { 0 };
	struct as_stat st;
	bool is;

	as_buf_addf(&path, "/%s", name);
	is = as_model_stat(fresh, as_buf_str(&path), true, &st);
	as_buf_free(&path);
	return is;
}

static void add_names(struct as_answer *op, const struct as_outcome *got,
		      const struct as_model *fresh)
{
	const char *name = got->data, *end = name + got->len;

	for (; name < end; name += strlen(name) + 1) {
		if (*name && is_fresh(fresh, name + 1))
			op->ret--;
		else
			op->digest = as_mix64(op->digest ^ as_hash64(name, strlen(name) + 1));
	}
}

void as_answers_note(struct as_answers *answers, const struct as_trial *trial)
{
	answers->decided.rows |= trial->decided.rows;
	answers->decided.excuses |= trial->decided.excuses;
}

void as_answers_add(struct as_answers *answers, const struct as_trial *trial, enum as_trial_did did,
		    const struct as_outcome *got, const struct as_model *fresh)
{
	const struct as_verdict *verdict =
		did == AS_TRIAL_BLIND || trial->blind ? NULL : &trial->verdict;
	struct as_answer *op = &answers->ops[answers->n];

	if (answers->n == AS_ANSWERS_MAX)
		return;
	*op = (struct as_answer){ .ret = got->ret,
				  .err = got->err,
				  .done = got->done,
				  .payload = got->payload,
				  .st = got->st,
				  .agrees = true,
				  .unjudged = true,
				  .did = did };
	if (got->payload == AS_PAYLOAD_BYTES)
		op->digest = as_hash64(got->data, got->len);
	else if (got->payload == AS_PAYLOAD_NAMES)
		add_names(op, got, fresh);
	if (verdict) {
		op->allowed = verdict->allowed;
		op->agrees = verdict->agrees;
		op->unjudged = verdict->unjudged;
		if (!verdict->agrees)
			snprintf(op->why, sizeof(op->why), "%s", as_buf_str(&verdict->why));
	}
	/* It may be read at any moment. */
	__atomic_store_n(&answers->n, answers->n + 1, __ATOMIC_RELEASE);
}
