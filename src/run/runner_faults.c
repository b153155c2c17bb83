/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runner_faults: workloads during which something fails: what was drawn for each of them, and what
 * a finding names, at the call that it names or at an earlier one.
 */
#include "run/runner_priv.h"

#include "instance/instance.h"
#include "os/spawn.h"
#include "run/draw.h"
#include "symptom/still.h"
#include "symptom/symptom.h"

#include <stdlib.h>
#include <string.h>

#define NEAR_AT_ONCE 32u

/* ---- What was drawn -------------------------------------------------------------------------- */

static struct as_drawn draw(const struct as_runner *r, const struct as_seq *seq)
{
	return as_draw(seq, r->options.seed, 1, as_draw_what(r->target));
}

/* One run with a plan in text; nothing is reported. */
static int once_with(struct as_runner *r, const struct as_work *one, const char *text,
		     struct as_run_result *result, struct as_err *err)
{
	struct as_plan *plan = NULL;
	int rc = as_plan_parse(text, &plan, err);

	r->quiet = true;
	if (!rc)
		rc = as_runner_once(r, one, text, *text ? plan : NULL, result, err);
	r->quiet = false;
	as_plan_free(plan);
	return rc;
}

/* The signature of what the last run has shown; NULL: nothing. */
static const char *shown_by(const struct as_runner *r)
{
	return r->shared->notice.is ? r->shared->notice.signature : NULL;
}

/* What was found in a batch is looked for again, alone, and with as few faults as show it. What
 * does not come again is reported as it was. */
static int report_fewest(struct as_runner *r, const struct as_work *one,
			 struct as_run_result *result, struct as_err *err)
{
	struct as_drawn drawn = draw(r, one->seqs[0]);
	struct as_child_shared *before = as_xmalloc(sizeof(*before));
	unsigned all = 1u << drawn.n, rules = 0;
	struct as_run_result again = { 0 };
	char text[AS_DRAW_TEXT_MAX];
	int rc = 0;

	memcpy(before, r->shared, sizeof(*before));
	for (; rules < all && !rc; rules++) {
		as_draw_plan(&drawn, rules, text);
		rc = once_with(r, one, text, &again, err);
		if (as_still_fails(AS_STILL_SOMEHOW, before->notice.signature, shown_by(r)))
			break;
	}
	if (!rc && rules == all) {
		memcpy(r->shared, before, sizeof(*before));
		as_draw_plan(&drawn, all - 1, text);
	}
	if (!rc)
		rc = as_runner_report(r, one->seqs[0], one->names[0], *text ? text : NULL, result,
				      err);
	free(before);
	return rc;
}

static int parse_plans(const struct as_runner *r, const struct as_work *batch,
		       struct as_plan **plans, struct as_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < batch->n && !rc; i++) {
		struct as_drawn drawn = draw(r, batch->seqs[i]);
		char text[AS_DRAW_TEXT_MAX];

		as_draw_plan(&drawn, ~0u, text);
		if (*text)
			rc = as_plan_parse(text, &plans[i], err);
	}
	return rc;
}

int as_runner_drawn(struct as_runner *r, const struct as_work *batch, size_t *done,
		    struct as_run_result *result, struct as_err *err)
{
	/* One instance for several workloads could not change its plan. */
	bool together = r->caps & AS_INSTANCE_BATCH && !(r->caps & AS_INSTANCE_QUICK);
	struct as_work some = { batch->seqs, batch->names, together ? batch->n : 1, NULL };
	struct as_plan **plans = as_xcalloc(some.n, sizeof(*plans));
	int rc = parse_plans(r, &some, plans, err);

	some.plans = (const struct as_plan *const *)plans;
	r->quiet = true;
	if (!rc)
		rc = as_runner_once(r, &some, NULL, plans[0], result, err);
	r->quiet = false;
	/* Stopped: the workloads that were done by then count. */
	if (rc == AS_ESTOP && some.n > 1 && r->shared->done) {
		r->shared->notice.is = false;
		as_runner_add_done(r->shared, result);
		rc = 0;
	}
	*done = some.n == 1 ? 1 : r->shared->done + r->shared->notice.is;
	if (!rc && r->shared->notice.is) {
		struct as_work one = { &batch->seqs[*done - 1], &batch->names[*done - 1], 1, NULL };

		rc = report_fewest(r, &one, result, err);
	}
	for (size_t i = 0; i < some.n; i++)
		as_plan_free(plans[i]);
	free(plans);
	return rc;
}

/* ---- What a finding names -------------------------------------------------------------------- */

static bool is_wanted(const struct as_runner *r)
{
	return as_still_fails(AS_STILL_SYMPTOM, r->options.near, shown_by(r));
}

struct near {
	struct as_plan *plans[NEAR_AT_ONCE];
	struct as_buf texts[NEAR_AT_ONCE];
	const struct as_seq *seqs[NEAR_AT_ONCE];
	const char *names[NEAR_AT_ONCE];
	size_t n;
};

static int fill_near(const struct as_runner *r, const struct as_work *one, uint64_t *step,
		     struct near *near, struct as_err *err)
{
	int rc = 0;

	while (near->n < NEAR_AT_ONCE && !rc &&
	       as_draw_near(r->options.faults, *step, &near->texts[near->n])) {
		rc = as_plan_parse(as_buf_str(&near->texts[near->n]), &near->plans[near->n], err);
		near->seqs[near->n] = one->seqs[0];
		near->names[near->n] = one->names[0];
		near->n += !rc;
		++*step;
	}
	return rc;
}

static void near_free(struct near *near)
{
	for (size_t i = 0; i < NEAR_AT_ONCE; i++) {
		if (i < near->n)
			as_plan_free(near->plans[i]);
		as_buf_free(&near->texts[i]);
	}
	*near = (struct near){ 0 };
}

/* All of one filling; each child ends with what it has found. *wanted: that was it. */
static int try_near(struct as_runner *r, struct near *near, struct as_run_result *result,
		    bool *wanted, struct as_err *err)
{
	size_t at = 0;
	int rc = 0;

	while (at < near->n && !*wanted && !rc) {
		struct as_work rest = { near->seqs + at, near->names + at, near->n - at,
					(const struct as_plan *const *)near->plans + at };

		rc = as_runner_once(r, &rest, NULL, near->plans[at], result, err);
		at += rest.n == 1 ? 1 : r->shared->done + r->shared->notice.is;
		*wanted = !rc && is_wanted(r);
	}
	if (*wanted)
		rc = as_runner_report(r, near->seqs[0], near->names[0],
				      as_buf_str(&near->texts[at - 1]), result, err);
	return rc;
}

int as_runner_near(struct as_runner *r, const struct as_work *one, struct as_run_result *result,
		   struct as_err *err)
{
	struct near near = { .n = 0 };
	bool wanted = false, more = true, other;
	uint64_t step = 0;
	int rc;

	r->quiet = true;
	rc = as_runner_once(r, one, r->options.faults, r->plan, result, err);
	if (!rc && r->shared->notice.is && (is_wanted(r) || !(r->caps & AS_INSTANCE_CERTAIN))) {
		rc = as_runner_report(r, one->seqs[0], one->names[0], r->options.faults, result,
				      err);
		wanted = true;
	}
	other = !rc && !wanted && r->shared->notice.is;
	while (!rc && !wanted && more && r->caps & AS_INSTANCE_CERTAIN &&
	       r->caps & AS_INSTANCE_BATCH) {
		rc = fill_near(r, one, &step, &near, err);
		more = near.n == NEAR_AT_ONCE;
		if (!rc)
			rc = try_near(r, &near, result, &wanted, err);
		near_free(&near);
	}
	r->quiet = false;
	/* Then at least what was found at that call. */
	if (!rc && !wanted && other)
		rc = as_runner_once(r, one, r->options.faults, r->plan, result, err);
	return rc;
}
