/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runner_batch: several workloads in one child, where the target allows it. */
#include "run/runner_priv.h"

#include "instance/instance.h"
#include "os/spawn.h"

#include <stdlib.h>
#include <string.h>

/* How many workloads there are before the first one that cuts the power, which a quick instance
 * cannot do. */
static size_t until_crash(const struct as_work *batch)
{
	for (size_t i = 0; i < batch->n; i++)
		for (size_t k = 0; k < batch->seqs[i]->n; k++)
			if (batch->seqs[i]->ops[k].code == AS_OP_CRASH)
				return i;
	return batch->n;
}

/* What was found by a quick instance is looked for again, alone and by a full one. If it does not
 * come again, it is reported as it was. */
static int find_again(struct as_runner *r, const struct as_work *batch, size_t i,
		      struct as_run_result *result, struct as_err *err)
{
	struct as_work one = { &batch->seqs[i], &batch->names[i], 1, NULL };
	struct as_child_shared *before = as_xmalloc(sizeof(*before));
	struct as_run_result again = { 0 };
	int rc;

	memcpy(before, r->shared, sizeof(*before));
	rc = as_runner_once(r, &one, NULL, NULL, &again, err);
	result->findings += again.findings;
	result->again += again.again;
	if (!rc && !r->shared->notice.is) {
		memcpy(r->shared, before, sizeof(*before));
		rc = as_runner_report(r, one.seqs[0], one.names[0], NULL, result, err);
	}
	free(before);
	return rc;
}

/* In one child, one after the other. */
static int run_together(struct as_runner *r, const struct as_work *batch, size_t *done,
			struct as_run_result *result, struct as_err *err)
{
	bool quick = r->caps & AS_INSTANCE_QUICK;
	int rc;

	r->quiet = quick;
	rc = as_runner_once(r, batch, r->options.faults, r->plan, result, err);
	/* Stopped: the workloads that were done by then count. */
	if (rc == AS_ESTOP && r->shared->done) {
		r->shared->notice.is = false;
		as_runner_add_done(r->shared, result);
		rc = 0;
	}
	*done = r->shared->done + r->shared->notice.is;
	r->quiet = false;
	if (!rc && quick && r->shared->notice.is)
		rc = find_again(r, batch, *done - 1, result, err);
	return rc;
}

/* On several instances at once. What does not pass there is run once more, one after the other. */
static int run_beside(struct as_runner *r, const struct as_work *batch, unsigned tracks,
		      size_t *done, struct as_run_result *result, struct as_err *err)
{
	struct as_work rest;
	struct as_beside beside;
	uint64_t before;
	size_t more = 0;
	int rc = as_runner_beside(r, batch, tracks, &beside, result, err);

	*done = beside.passed;
	if (rc || !beside.doubtful)
		return rc;
	if (r->options.stop && *r->options.stop)
		return beside.passed ? 0 : as_fail(err, AS_ESTOP, "stopped");
	rest = (struct as_work){ batch->seqs + beside.passed, batch->names + beside.passed,
				 beside.doubtful, NULL };
	before = result->findings + result->again;
	if (rest.n == 1) {
		more = 1;
		rc = as_runner_once(r, &rest, NULL, NULL, result, err);
	} else {
		rc = run_together(r, &rest, &more, result, err);
	}
	if (!rc && more == rest.n && result->findings + result->again == before)
		rc = as_runner_report_beside(r, &beside, batch, result, err);
	*done += more;
	return rc;
}

int as_run_batch(struct as_runner *r, const struct as_work *batch, size_t *done,
		 struct as_run_result *result, struct as_err *err)
{
	bool quick = r->caps & AS_INSTANCE_QUICK;
	bool together = r->caps & AS_INSTANCE_BATCH && !(quick && r->plan) && !r->options.sweep &&
			!r->options.kmemleak && !r->options.race.threads;
	struct as_work some = *batch;
	int64_t start_us = as_now_us();
	unsigned tracks;
	int rc;

	if (quick && together)
		some.n = until_crash(batch);
	if (!together || some.n <= 1 || r->unfit) {
		*done = 1;
		return as_run_workload(r, batch->seqs[0], batch->names[0], result, err);
	}
	*result = (struct as_run_result){ 0 };
	if (r->options.draw_faults && !r->plan) {
		rc = as_runner_drawn(r, &some, done, result, err);
		result->wall_us = as_now_us() - start_us;
		return rc;
	}
	tracks = as_runner_tracks(r, some.n);
	rc = tracks > 1 ? run_beside(r, &some, tracks, done, result, err)
			: run_together(r, &some, done, result, err);
	result->wall_us = as_now_us() - start_us;
	return rc;
}
