/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runner_sweep: one workload again and again, each time with another call that fails. */
#include "run/runner_priv.h"

#include <string.h>

/* Fails call 1, 2, 3 ... until nothing fails any more. */
static int sweep_calls(struct as_runner *r, const struct as_run_batch *one, unsigned long long op,
		       unsigned long long first, struct as_run_result *result, struct as_err *err)
{
	bool fired = true;
	int rc = 0;

	for (unsigned long long n = first; fired && !rc; n++) {
		struct as_plan *plan = NULL;
		char text[64];

		as_sweep_plan(r->options.sweep, op, n, text, sizeof(text));
		rc = as_plan_parse(text, &plan, err);
		memcpy(r->shared->sweep_plan, text, sizeof(text));
		r->shared->sweep_op = op;
		r->shared->sweep_n = n;
		if (!rc)
			rc = as_runner_once(r, one, text, plan, result, err);
		/* A child that died cannot say whether a fault hit. It did: without a fault the
		 * child does not die. */
		fired = r->shared->fired || (r->shared->found && !r->shared->finished);
		as_plan_free(plan);
	}
	r->shared->sweep_plan[0] = '\0';
	return rc;
}

int as_runner_sweep(struct as_runner *r, const struct as_run_batch *one,
		    struct as_run_result *result, struct as_err *err)
{
	unsigned long long first = r->options.sweep_op, n = r->options.sweep_n;
	int rc = 0;

	r->options.sweep_op = r->options.sweep_n = 0;
	if (!as_sweep_by_op(r->options.sweep))
		return sweep_calls(r, one, 0, 1, result, err);
	for (unsigned long long op = first; op <= one->seqs[0]->n && !rc; op++)
		rc = sweep_calls(r, one, op, op == first && n ? n : 1, result, err);
	return rc;
}
