/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stored: findings that were kept, found by id or folder and run again as they were run then. */
#ifndef AS_CLI_STORED_H
#define AS_CLI_STORED_H

#include "cli/boxes.h"
#include "cli/cli.h"
#include "os/dir.h"
#include "report/sinks.h"
#include "run/run.h"
#include "scenario/scenario.h"

/* The first operand: a folder by its path, or an id below the output folder. */
AS_MUST_CHECK int as_cli_stored_find(const struct as_args *args, struct as_dir *folder,
				     struct as_err *err);
/* Its workload, `text` as it was read from the file `name`. One without operations is refused, but
 * for a finding that was made with it. */
AS_MUST_CHECK int as_cli_stored_parse(const struct as_stored *stored, const char *name,
				      const char *text, struct as_seq **seq, struct as_err *err);

/* Ready to run workloads on the finding's target, with its options and faults. */
struct as_cli_again {
	const struct as_stored *stored;
	const char *spec; /* its target, or the one that was asked for in its place */
	struct as_run_options options;
	char *faults;
	struct as_target *target; /* here, */
	struct as_runner *runner;
	const struct as_scenario_ops *ops; /* in place of the runner, where it had a scenario */
	struct as_scenario *scenario;
	bool boxed; /* or in a box */
	struct as_cli_box box;
};

/* clang-format off */
#define AS_CLI_STORED_TARGET_OPT                                                                  \
	{ .name = "target", .letter = 't', .kind = AS_OPT_TEXT, .arg = "T",                       \
	  .help = "what to run it on, in place of the target that the finding names" }
/* clang-format on */

/* args, stored and sinks must outlive it. A target that the finding names, or mount options in its
 * workload `seq`, that reach outside take the user's trust. */
AS_MUST_CHECK int as_cli_again_open(const struct as_args *args, const struct as_stored *stored,
				    const struct as_seq *seq, struct as_sink *sinks,
				    struct as_cli_again *again, struct as_err *err);
AS_MUST_CHECK int as_cli_again_run(struct as_cli_again *again, const struct as_seq *seq,
				   struct as_err *err);
void as_cli_again_close(struct as_cli_again *again);

/* A sink that remembers the first signature. */
struct as_cli_ear {
	struct as_sink sink;
	char *signature; /* NULL: nothing was heard */
};

struct as_cli_ear as_cli_ear_new(void);
void as_cli_ear_clear(struct as_cli_ear *ear);

#endif
