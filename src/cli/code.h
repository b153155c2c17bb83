/* SPDX-License-Identifier: GPL-2.0-or-later */
/* code: --kcov of the commands that run workloads: the code of the kernel that they reach. */
#ifndef AS_CLI_CODE_H
#define AS_CLI_CODE_H

#include "base/codeset.h"
#include "base/event.h"
#include "cli/cli.h"
#include "cli/live/live.h"
#include "cover/code.h"
#include "os/dir.h"
#include "run/run.h"

/* clang-format off */
#define AS_CLI_NO_BREED_OPT                                                                       \
	{ .name = "no-breed",                                                                     \
	  .help = "with --kcov: draw each workload afresh, and make none of those that reached "  \
		  "new code" }
/* clang-format on */

/* In the folder of a run. */
#define AS_CLI_CODE "code.kcov"

/* All zero: --kcov was not given. */
struct as_cli_code {
	struct as_sink sink; /* hears what was reached; `next` is for others to set */
	struct as_codeset *set; /* shared with children */
	struct as_live *live;
	struct as_code_of of;
	uint64_t kept; /* places that are in the file */
	int64_t kept_us; /* since when */
};

/* Sets options->kcov. Before the children are started. */
void as_cli_code_open(const struct as_args *args, struct as_cli_code *code,
		      struct as_run_options *options);
/* Adds what an earlier part of the run left in its folder. */
AS_MUST_CHECK int as_cli_code_recall(struct as_cli_code *code, const struct as_dir *folder,
				     struct as_err *err);
/* Now and then, while it runs: writes the file if there is more in it, so that little is lost where
 * this process is killed. What fails is told at the end. */
void as_cli_code_keep(struct as_cli_code *code, const struct as_dir *folder);
/* The functions of a kernel. AS_ELACK: it has no list of them. */
AS_MUST_CHECK int as_cli_code_map(const char *kernel, struct as_code_map *map, struct as_err *err);
/* Says what was reached, and writes the file unless folder is NULL, with a table of the functions
 * for the report. Returns rc or an error. */
int as_cli_code_close(struct as_cli_code *code, const struct as_dir *folder, struct as_sink *talk,
		      bool json, int rc, struct as_err *err);

#endif
