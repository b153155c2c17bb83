/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scenario_race: Dogfood's third scenario: a workload runs in several threads, while one more
 * thread syncs and remounts. Each workload runs several times, with other delays. A crash is not
 * the only thing that counts: some order of the calls must explain every answer and the tree at the
 * end (race/race.h), and the kernel's log, the unmount, the checker and a second mount are judged
 * as in every run.
 */
#include "race/race.h"
#include "scenario/scenario_priv.h"

static int race_open(const struct as_scenario_args *args, struct as_scenario **scenario,
		     struct as_err *err)
{
	struct as_run_options options = *args->options;
	int rc = as_race_parse(args->params, &options.race, err);

	*scenario = NULL;
	if (!rc && (options.sweep || options.faults))
		rc = as_fail(err, AS_EUSE, "race: faults cannot be combined with a race");
	return rc ? rc : as_scenario_open_runner(args, &options, scenario, err);
}

static int race_run(struct as_scenario *s, const struct as_work *work, struct as_run_result *result,
		    struct as_err *err)
{
	int rc = as_run_workload(as_scenario_runner(s), work->seqs[0], work->names[0], result, err);

	result->workloads = 1;
	return rc;
}

const struct as_scenario_ops as_scenario_race = {
	.api = AS_SCENARIO_API,
	.name = "race",
	.help = "several threads, and one that syncs and remounts; some order of the calls must "
		"explain all answers (threads=N, repeat=N, delay=MICROSECONDS, seed=N)",
	.profile = "race",
	.open = race_open,
	.run = race_run,
	.close = as_scenario_close_runner,
};
