/* SPDX-License-Identifier: GPL-2.0-or-later */
/* race_judge: the result of a race, in words. race/linear.h does the judging. */
#include "race/race.h"
#include "symptom/symptom.h"
#include "work/print.h"

#include <stdio.h>
#include <string.h>

struct race_judge_judging {
	struct as_vfs *vfs;
	const struct as_race_watch *watch;
};

static bool is_the_tree(void *ctx, const struct as_model *last, struct as_buf *why)
{
	struct as_vfs *vfs = ((struct race_judge_judging *)ctx)->vfs;

	return !as_model_compare(last, as_vfs_tree(vfs), vfs, why);
}

static void beat(void *ctx)
{
	const struct as_race_watch *watch = ((struct race_judge_judging *)ctx)->watch;

	if (watch)
		watch->beat(watch->ctx);
}

static void say_unexplained(const struct as_race_history *history,
			    const struct as_linear_result *result, struct as_race_verdict *v)
{
	const struct as_linear_call *c = &history->calls[result->guilty];
	struct as_buf op = { 0 }, what = { 0 };

	as_print_op(c->op, &op);
	v->guilty = result->guilty;
	v->about = as_op_table[c->op->code].name;
	as_buf_addf(&v->why,
		    "op %zu, thread %u: %.160s: %s, and no order of the calls that overlapped "
		    "explains it (%zu of %zu can be)",
		    result->guilty + 1, c->thread, as_buf_str(&op), as_buf_str(&result->why),
		    result->n_order, history->n);
	/* The signature has the answer and not the model's words: these depend on which order
	 * explained the most calls. */
	as_buf_addf(&what, "%s %s%s", v->about, c->got.ret < 0 ? "answered " : "succeeded",
		    c->got.ret < 0 ? as_errno_name(c->got.err) : "");
	as_symptom_sign_plain(AS_FIND_RACE, NULL, as_buf_str(&what), &v->signature);
	as_buf_free(&op);
	as_buf_free(&what);
}

static void say_wrong_end(const struct as_linear_result *result, struct as_race_verdict *v)
{
	const char *why = as_buf_str(&result->why), *colon = strstr(why, ": ");
	struct as_buf what = { 0 };

	v->about = "the tree at the end";
	as_buf_addf(&v->why, "no order of the calls that overlapped leaves it: %s", why);
	as_signature_add(&what, colon ? colon + 2 : why);
	as_symptom_sign_plain(AS_FIND_RACE, "tree", as_buf_str(&what), &v->signature);
	as_buf_free(&what);
}

bool as_race_answered(const struct as_race_history *history, int err)
{
	bool has = false;

	for (size_t i = 0; i < history->n; i++)
		has |= history->calls[i].got.ret < 0 && history->calls[i].got.err == err;
	return has;
}

void as_race_judge(const struct as_race_history *history, const struct as_model *first,
		   struct as_vfs *vfs, const struct as_race_watch *watch, struct as_race_verdict *v)
{
	struct race_judge_judging judging = { vfs, watch };
	struct as_linear how = { .first = first,
				 .calls = history->calls,
				 .n = history->n,
				 .atomic = history->atomic,
				 .ends = is_the_tree,
				 .beat = beat,
				 .ctx = &judging };
	struct as_linear_result result;

	*v = (struct as_race_verdict){ .guilty = history->n, .about = "" };
	as_linear_judge(&how, &result);
	v->raced = result.raced;
	switch (result.answer) {
	case AS_LINEAR_EXPLAINED:
		v->last = result.last;
		result.last = NULL;
		break;
	case AS_LINEAR_UNEXPLAINED:
		say_unexplained(history, &result, v);
		break;
	case AS_LINEAR_WRONG_END:
		say_wrong_end(&result, v);
		break;
	case AS_LINEAR_GAVE_UP:
		v->gave_up = true;
		break;
	}
	as_linear_result_free(&result);
}

void as_race_verdict_free(struct as_race_verdict *v)
{
	as_model_free(v->last);
	as_buf_free(&v->why);
	as_buf_free(&v->signature);
	*v = (struct as_race_verdict){ 0 };
}
