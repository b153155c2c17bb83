/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scenario_runner: see scenario_priv.h. */
#include "scenario/scenario_priv.h"

int as_scenario_open_runner(const struct as_scenario_args *args,
			    const struct as_run_options *options, struct as_scenario **scenario,
			    struct as_err *err)
{
	struct as_runner *runner;
	int rc = as_runner_new(args->targets[0], options, args->sinks, &runner, err);

	*scenario = rc ? NULL : (struct as_scenario *)runner;
	return rc;
}

struct as_runner *as_scenario_runner(struct as_scenario *scenario)
{
	return (struct as_runner *)scenario;
}

void as_scenario_close_runner(struct as_scenario *scenario)
{
	as_runner_free(as_scenario_runner(scenario));
}
