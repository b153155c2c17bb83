/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scenario_crash: the power fails at every point of every workload (crash/crash.h). Its parameters
 * are the options of a crash run. With the options that a finding stores, a run makes the same
 * crash state again, or looks for the same failure in a shorter workload.
 */
#include "crash/crash.h"
#include "instance/instance.h"
#include "scenario/scenario.h"

#include <string.h>

#define TALLY "tally="

static int crash_open(const struct as_scenario_args *args, struct as_scenario **scenario,
		      struct as_err *err)
{
	struct as_crasher *crasher = NULL;
	struct as_crash_options options;
	int rc = as_crash_options_parse(args->params, &options, err);

	/* A state that is named is one of a finding, which is replayed or reduced. */
	if (options.budget == AS_BUDGET_UNSAID && !options.every)
		options.budget = as_crash_budget(args->targets[0], !options.spot.view);
	if (!*args->params || !strncmp(args->params, TALLY, strlen(TALLY)) ||
	    (options.race.threads && !strstr(args->params, "view")))
		options.record = AS_RECORD_DRAW;
	/* A race that is replayed or reduced is another one each time, unless one thread plays. */
	if (!rc && options.race.threads && options.spot.view &&
	    !(as_instance_caps(args->targets[0]) & AS_INSTANCE_CERTAIN) &&
	    !strstr(args->params, "repeat="))
		options.race.repeat = AS_RACE_REPEAT;
	/* A finding, and a command that names its workloads, name their views, too. */
	if (!strstr(args->params, "view") && !strstr(args->params, "rounds="))
		options.rounds = 0;
	/* A hunt: what a state is worth changes from workload to workload. */
	if (!options.spot.view && !options.every && !strstr(args->params, "view") &&
	    !strstr(args->params, "share="))
		options.draws = true;
	if (!rc)
		rc = as_crasher_new(args->targets[0], args->options, &options, args->sinks,
				    &crasher, err);
	*scenario = rc ? NULL : (struct as_scenario *)crasher;
	return rc;
}

static int crash_run(struct as_scenario *s, const struct as_work *work,
		     struct as_run_result *result, struct as_err *err)
{
	size_t done;
	int rc = as_crash_workloads((struct as_crasher *)s, work, &done, result, err);

	result->workloads = done;
	return rc;
}

static void crash_go_on(const struct as_shares *so_far, struct as_buf *params)
{
	as_buf_adds(params, TALLY);
	as_share_print_tally(so_far, params);
}

static void crash_close(struct as_scenario *s)
{
	as_crasher_free((struct as_crasher *)s);
}

const struct as_scenario_ops as_scenario_crash = {
	.api = AS_SCENARIO_API,
	.name = "crash",
	.help = "the power fails at every point; every recovery, and every power cut during one, "
		"must end in a tree that was promised",
	.profile = "crash",
	/* A workload with its crashes takes as long as thousands of plain runs. */
	.batch = 1,
	.batch_here = 4,
	.open = crash_open,
	.run = crash_run,
	.go_on = crash_go_on,
	.close = crash_close,
};
