/* SPDX-License-Identifier: GPL-2.0-or-later */
/* own_cov: --cov FILE of the commands that run workloads: counts the calls of these workloads. */
#ifndef AS_CLI_OWN_COV_H
#define AS_CLI_OWN_COV_H

#include "cli/cli.h"
#include "cover/own.h"
#include "os/rundir.h"
#include "run/run.h"
#include "vfs/watch.h"

/* clang-format off */
#define AS_CLI_COV_OPT                                                                             \
	{ .name = "cov", .kind = AS_OPT_TEXT, .arg = "FILE", .resume = AS_OPT_ANEW,                \
	  .help = "count the system calls that workloads make, and write the counts to this file " \
		  "for `assay cov`; a name that ends with / is a folder in which each process "    \
		  "writes a file of its own" }
/* clang-format on */

struct as_cli_cov {
	struct as_spec *spec;
	struct as_own *own; /* NULL: --cov was not given */
	struct as_watch watch;
	const char *path;
	struct as_buf folder; /* where our processes keep their counts; "": nowhere */
	bool folder_is_ours;
};

/* The name of the folder below `out` that other processes use. */
#define AS_CLI_COV_FOLDER AS_RUN_PARTS

/* With `out`, several processes run workloads (a hunt, a sandbox): they keep their counts in a
 * folder there until the end. NULL: only this process runs workloads. */
AS_MUST_CHECK int as_cli_cov_open(const struct as_args *args, const struct as_dir *out,
				  struct as_cli_cov *cov, struct as_err *err);
/* The same with the value of --cov; NULL: it was not given. */
AS_MUST_CHECK int as_cli_cov_open_at(const char *path, const struct as_dir *out,
				     struct as_cli_cov *cov, struct as_err *err);
/* Adds what engines in a sandbox have counted, in AS_CLI_COV_FOLDER of a folder that they share. */
AS_MUST_CHECK int as_cli_cov_take(struct as_cli_cov *cov, const struct as_dir *share,
				  struct as_err *err);
/* For as_run_options.watch. */
const struct as_watch *as_cli_cov_watch(const struct as_cli_cov *cov);
/* Writes the file, if rc (what came of the command) is no error; returns rc or an error. */
int as_cli_cov_close(struct as_cli_cov *cov, int rc, struct as_err *err);

#endif
