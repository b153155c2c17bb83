/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scenario_sequential: Dogfood's first scenario with more oracles than it had: every answer
 * against the model, the tree at the end, the kernel's log, the unmount, the full checker, and
 * the tree once more after a second mount. All of that is what a run does (run/run.h).
 *
 * With faults that are drawn, a run cannot say what must be there after the next mount: the file
 * system may have turned itself off. But what was synced must be. So each workload of a library
 * runs once more, with power cuts (crash/crash.h) from the call that failed to the end, in the
 * mildest view.
 */
#include "crash/crash.h"
#include "instance/instance.h"
#include "scenario/scenario_priv.h"

#include <stdlib.h>

#define CUTS_BUDGET 24u

struct sequential {
	struct as_runner *runner;
	struct as_crasher *crasher; /* NULL: nothing fails, or the power cannot be cut here */
};

static int open_crasher(const struct as_scenario_args *args, struct sequential *s,
			struct as_err *err)
{
	struct as_crash_options options = as_crash_options_default();

	options.views = 1u << AS_VIEW_SYNC_ATOMIC;
	options.again = 0;
	options.budget = CUTS_BUDGET;
	options.since_fault = true;
	return as_crasher_new(args->targets[0], args->options, &options, args->sinks, &s->crasher,
			      err);
}

static int sequential_open(const struct as_scenario_args *args, struct as_scenario **scenario,
			   struct as_err *err)
{
	const struct as_run_options *options = args->options;
	struct sequential *s;
	int rc;

	*scenario = NULL;
	if (*args->params)
		return as_fail(err, AS_EUSE, "the scenario sequential takes no parameters: '%s'",
			       args->params);
	s = as_xcalloc(1, sizeof(*s));
	rc = as_runner_new(args->targets[0], options, args->sinks, &s->runner, err);
	if (!rc && options->draw_faults && !options->faults &&
	    as_instance_caps(args->targets[0]) & AS_INSTANCE_MEMORY)
		rc = open_crasher(args, s, err);
	if (rc)
		as_scenario_sequential.close((struct as_scenario *)s);
	else
		*scenario = (struct as_scenario *)s;
	return rc;
}

/* What was found already is not looked for again. */
static int cut_power(struct sequential *s, const struct as_work *work, size_t n,
		     struct as_run_result *result, struct as_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		struct as_crash_counts counts;
		struct as_run_result cuts;

		rc = as_crash_workload(s->crasher, work->seqs[i], work->names[i], &cuts, &counts,
				       err);
		result->findings += cuts.findings;
		result->ops += cuts.ops;
		result->looked += cuts.looked;
		result->possible += cuts.possible;
		result->wall_us += cuts.wall_us;
	}
	return rc;
}

static int sequential_run(struct as_scenario *scenario, const struct as_work *work,
			  struct as_run_result *result, struct as_err *err)
{
	struct sequential *s = (struct sequential *)scenario;
	struct as_work batch = { work->seqs, work->names, work->n, NULL };
	size_t done;
	int rc = as_run_batch(s->runner, &batch, &done, result, err);
	bool found;

	result->workloads = done;
	if (rc || !s->crasher)
		return rc;
	found = result->findings + result->again;
	rc = cut_power(s, work, done - found, result, err);
	/* Stopped: they have run all the same. */
	return rc == AS_ESTOP ? 0 : rc;
}

static void sequential_close(struct as_scenario *scenario)
{
	struct sequential *s = (struct sequential *)scenario;

	if (s) {
		as_crasher_free(s->crasher);
		as_runner_free(s->runner);
	}
	free(s);
}

const struct as_scenario_ops as_scenario_sequential = {
	.api = AS_SCENARIO_API,
	.name = "sequential",
	.help = "one operation after the other; every answer, the tree, the kernel's log, the "
		"unmount, the checker and a second mount are judged",
	.profile = "hunt",
	.in_step = true,
	.open = sequential_open,
	.run = sequential_run,
	.close = sequential_close,
};
