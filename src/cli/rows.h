/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rows: options that several commands share, so that they have the same name and help. Those of a
 * run are rows of child/run_option.def: a command offers one by a reference, and
 * as_cli_run_options() reads all that the command offers.
 */
#ifndef AS_CLI_ROWS_H
#define AS_CLI_ROWS_H

#include "child/options.h"
#include "cli/cli.h"

extern const struct as_opt as_cli_run_opts[AS_RUN_OPTIONS];

/* Sets what the command line says, and the standard of what it does not say. What a command does
 * not offer stays as it is; so do faults, sweeps and the scenario, which commands read by
 * themselves. */
AS_MUST_CHECK int as_cli_run_options(const struct as_args *args, struct as_run_options *options,
				     struct as_err *err);

/* clang-format off */
/* In the table of a command; the first with words of its own. */
#define AS_CLI_RUN_OPT_AS(field, words) \
	{ .row = &as_cli_run_opts[AS_RUN_OPTION_##field], .help = words }
#define AS_CLI_RUN_OPT(field) AS_CLI_RUN_OPT_AS(field, NULL)

#define AS_CLI_FILES_TARGET_OPT                                             \
	{ .name = "target", .letter = 't', .kind = AS_OPT_TEXT, .arg = "T", \
	  .help = "what to test; default: the files' @target; `assay targets` lists them" }

#define AS_CLI_BUDGET_OPT(unit, standard)                                                       \
	{ .name = "budget",                                                                     \
	  .kind = AS_OPT_NUMBER,                                                                \
	  .arg = "N",                                                                           \
	  .max = (uint64_t)1 << 40,                                                             \
	  .help = "recover at most about N times for each " unit ", where crash states differ " \
		  "most; 0: try all crash states; " standard }
#define AS_CLI_ROUNDS_OPT(standard)                                                            \
	{ .name = "rounds",                                                                    \
	  .kind = AS_OPT_NUMBER,                                                               \
	  .arg = "N",                                                                          \
	  .min = 1,                                                                            \
	  .max = 3,                                                                            \
	  .help = "go on after a power cut: mount what it left, run the next part of the "     \
		  "workload there (a `crash` ends a part; without one, all of it again), and " \
		  "cut the power once more; N runs in all; " standard }
/* What hunts have of these. */
#define AS_CLI_HUNT_CRASH_OPTS                                      \
	AS_CLI_BUDGET_OPT("workload", "needs --crash; default 96"), \
		AS_CLI_ROUNDS_OPT("needs --crash; default: 2 for one workload in four, else 1")
#define AS_CLI_CORRUPT_OPT                                                                       \
	{ .name = "corrupt", .kind = AS_OPT_TEXT, .arg = "bits|fields",                          \
	  .help = "after each workload, flip a bit of the disk of a library before a mount, or " \
		  "give a field another value, 16 times: it may refuse, but not die or hang" },  \
	{ .name = "layout", .kind = AS_OPT_TEXT, .arg = "FILE",                                  \
	  .help = "what is on the disk, for --corrupt fields (docs/LAYOUT.md); default: of "     \
		  "plugin:DIR/NAME.so, DIR/NAME.layout" }
#define AS_CLI_USAGE_OPTS AS_CLI_RUN_OPT(max_heap), AS_CLI_RUN_OPT(max_stack)
#define AS_CLI_WEAR_OPT                                                                        \
	{ .name = "wear", .kind = AS_OPT_NUMBER, .arg = "N", .max = 4000000000u,               \
	  .help = "report how often the blocks of a target on raw flash were erased; a block " \
		  "that is erased more than N times in a run is a finding (0: no limit)" }
#define AS_CLI_HUNT_FAULTS_OPT                                                                   \
	{ .name = "sweep", .kind = AS_OPT_TEXT, .arg = "KIND",                                   \
	  .help = "in each workload, each operation meets each failure inside the kernel "       \
		  "(--kernel debug): one that met the first and answered an error is done "      \
		  "again and meets the second, and so on: kalloc, kpage or kio" },               \
	{ .name = "faults",                                                                      \
	  .help = "in each workload, one or two calls of the file system fail: reads, writes, "  \
		  "flushes, erases or allocations, as the seed draws them; also with --crash" }, \
	AS_CLI_CORRUPT_OPT, AS_CLI_USAGE_OPTS, AS_CLI_WEAR_OPT
#define AS_CLI_AGAIN_OPT                                                                 \
	{ .name = "again", .kind = AS_OPT_NUMBER, .arg = "N", .max = AS_CRASH_AGAIN_MAX, \
	  .help = "how many power cuts to try during recovery, one after the other; default 1" }

#define AS_CLI_QUEUE_OPTS                                                                        \
	{ .name = "hold", .kind = AS_OPT_NUMBER, .arg = "N", .max = AS_HOLD_MAX,                 \
	  .help = "while the workload runs, keep a write that nobody waits for in flight until " \
		  "N more requests have come; a flush does not cover it then; default 0: each "  \
		  "write is complete at once" },                                                 \
	{ .name = "early", .kind = AS_OPT_NUMBER, .arg = "N", .max = AS_EARLY_MAX,               \
	  .help = "while the workload runs, write parts of the file system's cache early; "      \
		  "another N chooses other parts; default 0: nothing is written early" }

#define AS_CLI_DEADLINE_OPT(words) AS_CLI_RUN_OPT_AS(deadline_ms, words "; default 10")
#define AS_CLI_BOUND_OPTS AS_CLI_RUN_OPT(max_bytes), AS_CLI_RUN_OPT(max_entries)

/* Of the generator. */
#define AS_CLI_PROFILE_OPT(words)                                                    \
	{ .name = "profile", .letter = 'p', .kind = AS_OPT_TEXT, .arg = "NAME|FILE", \
	  .help = words }

#define AS_CLI_FEEDBACK_OPT                                                                    \
	{ .name = "feedback", .kind = AS_OPT_TEXT, .arg = "FILE",                              \
	  .help = "a file of counts that `assay cov feedback` printed: workloads then aim at " \
		  "what was never tested, and do more often what was tested less" }

#define AS_CLI_SEED_OPT                                                                       \
	{ .name = "seed", .letter = 's', .kind = AS_OPT_NUMBER, .arg = "N", .max = INT64_MAX, \
	  .help = "seed of all random choices; default: the profile's" }

#define AS_CLI_JOBS_OPT(most, words)                                                  \
	{ .name = "jobs", .letter = 'j', .kind = AS_OPT_NUMBER, .arg = "N", .min = 1, \
	  .max = most, .help = words "; default 1" }
/* clang-format on */

#endif
