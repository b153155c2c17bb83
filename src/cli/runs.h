/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runs: the options of commands that run workloads in this process, and what they say of it. */
#ifndef AS_CLI_RUNS_H
#define AS_CLI_RUNS_H

#include "cli/jobs.h"
#include "cli/rows.h"
#include "run/run.h"
#include "scenario/series.h"

/* Says what the calls of a library have used, if that was measured. */
void as_cli_usage_say(const struct as_target *target, bool json, struct as_sink *sinks);
/* Says how often blocks of its flash were erased in the worst run, with --wear. named: of several
 * targets, and says of which. */
void as_cli_wear_say(const struct as_target *target, bool named, bool json, struct as_sink *sinks);
/* What the target that is open has used; for as_series.leaves. */
void as_cli_runs_say(const struct as_series *runs);

#endif
