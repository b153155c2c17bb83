/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scenarios: the scenario that the options of a command ask for, and the targets that it needs. */
#ifndef AS_CLI_SCENARIOS_H
#define AS_CLI_SCENARIOS_H

#include "base/buf.h"
#include "cli/boxes.h"
#include "cli/cli.h"
#include "cli/live/live.h"
#include "model/traits.h"
#include "race/race.h"

/* clang-format off */
#define AS_CLI_RACE_OPTS                                                                          \
	{ .name = "threads", .kind = AS_OPT_NUMBER, .arg = "N", .min = 2, .max = 8,               \
	  .help = "run a race in N threads; default 3" },                                         \
	{ .name = "repeat", .kind = AS_OPT_NUMBER, .arg = "N", .min = 1, .max = 1000000,          \
	  .help = "run each workload of a race N times, each time with other delays; "            \
		  "default 10, with power cuts 1" },                                              \
	{ .name = "delay", .kind = AS_OPT_NUMBER, .arg = "N", .min = 0, .max = 1000000,           \
	  .help = "delay calls of a race by up to N microseconds; default 200" }
#define AS_CLI_SCENARIO_OPTS                                                                      \
	{ .name = "scenario", .kind = AS_OPT_TEXT, .arg = "NAME[:PARAMS]",                        \
	  .help = "do this with each workload: sequential, race, crash or diff; default "         \
		  "sequential: run its operations one after the other" },                         \
	{ .name = "race",                                                                         \
	  .help = "run each workload in several threads, with random delays, while one more "     \
		  "thread syncs and remounts; some order of the calls must explain all answers; " \
		  "with --crash, the power is cut during such runs" },                            \
	AS_CLI_RACE_OPTS,                                                                         \
	{ .name = "diff", .kind = AS_OPT_TEXT, .arg = "T1,T2,...",                                \
	  .help = "run each workload on all these targets and compare their answers; if the "     \
		  "model allows several answers, the majority is right" }
/* clang-format on */

/* What --race and its options ask for; threads 0: nothing. */
AS_MUST_CHECK int as_cli_race(const struct as_args *args, struct as_race_options *race,
			      struct as_err *err);
/* "sequential", "race:threads=3", "diff:ext4,xfs". */
AS_MUST_CHECK int as_cli_scenario(const struct as_args *args, struct as_buf *text,
				  struct as_err *err);
/* Says in the progress which one runs, if it is not the usual one. */
void as_cli_show_scenario(struct as_live *live, const char *scenario);

/* The targets that a scenario runs on: `target`, or those that it compares. Free them with
 * as_cli_specs_free(). */
struct as_cli_specs {
	char *spec[16];
	size_t n;
};

AS_MUST_CHECK int as_cli_specs(const char *scenario, const char *target, struct as_cli_specs *specs,
			       struct as_err *err);
/* Adds what --wear says to each: findings come back with it. */
AS_MUST_CHECK int as_cli_specs_wear(const struct as_args *args, struct as_cli_specs *specs,
				    struct as_err *err);
void as_cli_specs_free(struct as_cli_specs *specs);
/* As as_cli_wants_box() and as_cli_check_box(), for all of them: they run in one place. */
AS_MUST_CHECK int as_cli_specs_box(const struct as_args *args, const struct as_cli_specs *specs,
				   bool *boxed, struct as_err *err);
/* Opens a box that has what all of them need. */
AS_MUST_CHECK int as_cli_specs_open_box(const struct as_args *args,
					const struct as_cli_specs *specs, uint64_t size_bytes,
					struct as_cli_box *box, struct as_err *err);
/* The traits that all of them have in common; the name lives as long as they do. */
AS_MUST_CHECK int as_cli_specs_traits(const struct as_cli_specs *specs, struct as_traits *traits,
				      struct as_err *err);

#endif
