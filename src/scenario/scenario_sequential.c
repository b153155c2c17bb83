/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scenario_sequential: Dogfood's first scenario with more oracles than it had: every answer
 * against the model, the tree at the end, the kernel's log, the unmount, the full checker, and
 * the tree once more after a second mount. All of that is what a run does (run/run.h).
 */
#include "scenario/scenario_priv.h"

static int sequential_open(const struct as_scenario_args *args, struct as_scenario **scenario,
			   struct as_err *err)
{
	*scenario = NULL;
	if (*args->params)
		return as_fail(err, AS_EUSE, "the scenario sequential takes no parameters: '%s'",
			       args->params);
	return as_scenario_open_runner(args, args->options, scenario, err);
}

static int sequential_run(struct as_scenario *s, const struct as_scenario_work *work, size_t *done,
			  struct as_run_result *result, struct as_err *err)
{
	struct as_run_batch batch = { work->seqs, work->names, work->n };

	return as_run_batch(as_scenario_runner(s), &batch, done, result, err);
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
	.close = as_scenario_close_runner,
};
