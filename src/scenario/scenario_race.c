/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scenario_race: Dogfood's third scenario: a workload in several threads, and one beside them that
 * syncs and remounts; each workload several times with other delays. Judged by more than crashes:
 * some order of the calls must explain every answer and the tree at the end (race/race.h), and the
 * kernel's log, the unmount, the checker and a second mount count as ever.
 */
#include "race/race.h"
#include "scenario/scenario.h"

#include <stdlib.h>

struct as_scenario {
	struct as_runner *runner;
};

static int race_open(const struct as_scenario_args *args, struct as_scenario **scenario,
		     struct as_err *err)
{
	struct as_run_options options = *args->options;
	struct as_scenario *s;
	int rc = as_race_parse(args->params, &options.race, err);

	*scenario = NULL;
	if (!rc && (options.sweep || options.faults))
		rc = as_fail(err, AS_EUSE, "race: what a fault explains cannot be told in a race");
	if (rc)
		return rc;
	s = as_xcalloc(1, sizeof(*s));
	rc = as_runner_new(args->targets[0], &options, args->sinks, &s->runner, err);
	if (rc)
		free(s);
	else
		*scenario = s;
	return rc;
}

static int race_run(struct as_scenario *s, const struct as_scenario_work *work, size_t *done,
		    struct as_run_result *result, struct as_err *err)
{
	*done = 1;
	return as_run_workload(s->runner, work->seqs[0], work->names[0], result, err);
}

static void race_close(struct as_scenario *s)
{
	if (!s)
		return;
	as_runner_free(s->runner);
	free(s);
}

const struct as_scenario_ops as_scenario_race = {
	.api = AS_SCENARIO_API,
	.name = "race",
	.help = "several threads, and one that syncs and remounts; some order of the calls must "
		"explain all answers (threads=N, repeat=N, delay=MICROSECONDS, seed=N)",
	.profile = "race",
	.open = race_open,
	.run = race_run,
	.close = race_close,
};
