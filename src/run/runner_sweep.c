/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runner_sweep: one workload again and again, each time with another call that fails.
 *
 * Method. Call 1 fails, then call 2, and so on, until a run in which nothing failed. Inside a
 * kernel this is done for each operation, and last for the mount, which is the same for every
 * workload and makes the most calls. With pairs, all single failures are
 * tried first. Then each of them is combined with each failure that a later operation can meet
 * after it.
 *
 * Invariants
 *   1. result->swept is set only if the last run of each of these rows was one in which nothing
 *      failed (any more): then every failure was tried.
 *   2. r->shared->sweep_at says where the sweep is before a run begins. After the death of the
 *      whole kernel, the sweep goes on after that place, which options.sweep_at names.
 */
#include "run/runner_priv.h"

#include <string.h>

/* One run. *fired: so many of what was to fail has failed. */
static int sweep_once(struct as_runner *r, const struct as_work *one, const struct as_sweep_at *at,
		      unsigned *fired, struct as_run_result *result, struct as_err *err)
{
	struct as_child_shared *sh = r->shared;
	struct as_plan *plan = NULL;
	char text[sizeof(sh->sweep_plan)];
	unsigned all = at->op2 ? 2 : 1;
	int rc;

	as_sweep_plan(r->options.sweep, at, text, sizeof(text));
	rc = as_plan_parse(text, &plan, err);
	memcpy(sh->sweep_plan, text, sizeof(text));
	sh->sweep_at = *at;
	sh->sweep_at.points = result->points;
	if (!rc)
		rc = as_runner_once(r, one, text, plan, result, err);
	*fired = as_sweep_by_op(r->options.sweep) ? sh->kfired : sh->fired;
	/* A child that died cannot say whether a fault hit. It did: without a fault the child does
	 * not die. */
	if (sh->notice.is && !sh->finished && *fired < all)
		++*fired;
	result->points += *fired == all;
	as_plan_free(plan);
	sh->sweep_plan[0] = '\0';
	return rc;
}

/* Fails call n, n + 1, ... until nothing fails any more. */
static int sweep_calls(struct as_runner *r, const struct as_work *one, uint64_t op, uint64_t n,
		       struct as_run_result *result, struct as_err *err)
{
	struct as_sweep_at at = { .op = op, .n = n };
	unsigned fired = 1;
	int rc = 0;

	for (; fired && !rc; at.n++)
		rc = sweep_once(r, one, &at, &fired, result, err);
	return rc;
}

static int sweep_singles(struct as_runner *r, const struct as_work *one,
			 const struct as_sweep_at *from, struct as_run_result *result,
			 struct as_err *err)
{
	/* The mount is the last one. */
	uint64_t only = r->options.sweep_only, op = from->op ? from->op : 1;
	bool in_mount = from->n && !from->op;
	uint64_t n = from->n ? from->n : 1;
	int rc = 0;

	for (; !in_mount && op <= one->seqs[0]->n && !rc; op++, n = 1)
		if (!only || op == only)
			rc = sweep_calls(r, one, op, n, result, err);
	if (rc || (only && only != AS_SWEEP_MOUNT))
		return rc;
	return sweep_calls(r, one, 0, n, result, err);
}

/* After the failure of `from`, those of all later operations. *most: so many of the two have
 * failed at most. */
static int sweep_after(struct as_runner *r, const struct as_work *one,
		       const struct as_sweep_at *from, unsigned *most, struct as_run_result *result,
		       struct as_err *err)
{
	struct as_sweep_at at = *from;
	unsigned fired = 1;
	int rc = 0;

	*most = 0;
	for (; at.op2 <= one->seqs[0]->n && fired && !rc; at.op2++, at.n2 = 1) {
		for (fired = 2; fired == 2 && !rc; at.n2++) {
			rc = sweep_once(r, one, &at, &fired, result, err);
			if (fired > *most)
				*most = fired;
			/* It has died of the first one. */
			if (fired && !r->shared->kfired)
				return rc;
		}
	}
	return rc;
}

static int sweep_pairs(struct as_runner *r, const struct as_work *one,
		       const struct as_sweep_at *from, struct as_run_result *result,
		       struct as_err *err)
{
	struct as_sweep_at at = *from;
	int rc = 0;

	/* The last operation has none after it. */
	for (; at.op < one->seqs[0]->n && !rc; at.op++, at.n = 1, at.op2 = at.op + 1, at.n2 = 1) {
		for (unsigned most = 1; most && !rc; at.n++, at.op2 = at.op + 1, at.n2 = 1)
			rc = sweep_after(r, one, &at, &most, result, err);
	}
	return rc;
}

int as_runner_sweep(struct as_runner *r, const struct as_work *one, struct as_run_result *result,
		    struct as_err *err)
{
	struct as_sweep_at from = r->options.sweep_at;
	int rc = 0;

	r->options.sweep_at = (struct as_sweep_at){ 0 };
	result->points = from.points;
	if (!as_sweep_by_op(r->options.sweep)) {
		rc = sweep_calls(r, one, 0, 1, result, err);
	} else {
		if (!from.op2)
			rc = sweep_singles(r, one, &from, result, err);
		if (!from.op2)
			from = (struct as_sweep_at){ .n = 1, .op2 = 1, .n2 = 1 };
		if (!rc && r->options.max_faults > 1)
			rc = sweep_pairs(r, one, &from, result, err);
	}
	result->swept = !rc;
	return rc;
}
