/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scenario_priv: a scenario that is a runner with certain options. */
#ifndef AS_SCENARIO_SCENARIO_PRIV_H
#define AS_SCENARIO_SCENARIO_PRIV_H

#include "scenario/scenario.h"

/* The runner is all that such a scenario has: it is what struct as_scenario points to. */
AS_MUST_CHECK int as_scenario_open_runner(const struct as_scenario_args *args,
					  const struct as_run_options *options,
					  struct as_scenario **scenario, struct as_err *err);
struct as_runner *as_scenario_runner(struct as_scenario *scenario);
void as_scenario_close_runner(struct as_scenario *scenario); /* takes NULL */

#endif
