/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scenarios: what is done with workloads, from the options of a command, and what targets that
 * takes. */
#ifndef AS_CLI_SCENARIOS_H
#define AS_CLI_SCENARIOS_H

#include "base/buf.h"
#include "cli/boxes.h"
#include "cli/cli.h"
#include "model/traits.h"

/* clang-format off */
#define AS_CLI_SCENARIO_OPTS                                                                      \
	{ .name = "scenario", .kind = AS_OPT_TEXT, .arg = "NAME[:PARAMS]",                        \
	  .help = "what is done with each workload; sequential (default): one operation after "   \
		  "the other; race and diff are also options of their own" },                     \
	{ .name = "race",                                                                         \
	  .help = "each workload in several threads, beside which one more syncs and remounts, "  \
		  "with delays at random in between and in the disk; some order of the calls "    \
		  "must explain what they answered" },                                            \
	{ .name = "threads", .kind = AS_OPT_NUMBER, .arg = "N", .min = 2, .max = 8,               \
	  .help = "of a race; default 3" },                                                       \
	{ .name = "repeat", .kind = AS_OPT_NUMBER, .arg = "N", .min = 1, .max = 1000000,          \
	  .help = "how often a race runs each workload, each time with other delays; default "    \
		  "10" },                                                                         \
	{ .name = "delay", .kind = AS_OPT_NUMBER, .arg = "N", .min = 0, .max = 1000000,           \
	  .help = "microseconds of the longest delay of a race; default 200" },                   \
	{ .name = "diff", .kind = AS_OPT_TEXT, .arg = "T1,T2,...",                                \
	  .help = "each workload on all these targets; answers that differ are told apart by "    \
		  "the model and, where it allows several, by the majority" }
/* clang-format on */

/* "sequential", "race:threads=3", "diff:ext4,xfs". */
AS_MUST_CHECK int as_cli_scenario(const struct as_args *args, struct as_buf *text,
				  struct as_err *err);

/* The targets that a scenario runs on: `target`, or those it compares. Each is to be freed with
 * as_cli_specs_free(). */
struct as_cli_specs {
	char *spec[16];
	size_t n;
};

AS_MUST_CHECK int as_cli_specs(const char *scenario, const char *target, struct as_cli_specs *specs,
			       struct as_err *err);
void as_cli_specs_free(struct as_cli_specs *specs);
/* As as_cli_wants_box() and as_cli_check_box(), for all of them: they run at one place. */
AS_MUST_CHECK int as_cli_specs_box(const struct as_args *args, const struct as_cli_specs *specs,
				   bool *boxed, struct as_err *err);
/* Opens a box that has what all of them need. */
AS_MUST_CHECK int as_cli_specs_open_box(const struct as_args *args,
					const struct as_cli_specs *specs, uint64_t size_bytes,
					struct as_cli_box *box, struct as_err *err);
/* What all of them can do; its name lives as long as they do. */
AS_MUST_CHECK int as_cli_specs_traits(const struct as_cli_specs *specs, struct as_traits *traits,
				      struct as_err *err);

#endif
