/* SPDX-License-Identifier: GPL-2.0-or-later */
/* output: the sinks of a command that finds things, from its options. */
#ifndef AS_CLI_OUTPUT_H
#define AS_CLI_OUTPUT_H

#include "base/event.h"
#include "cli/cli.h"
#include "cli/forms.h"
#include "cli/live/live.h"
#include "os/dir.h"
#include "os/rundir.h"
#include "progress/result.h"

/* clang-format off */
#define AS_CLI_OUTPUT_OPTS                                                               \
	{ .name = "out", .letter = 'o', .kind = AS_OPT_TEXT, .arg = "DIR",                \
	  .help = "keep findings in this folder; default " AS_OUT_DEFAULT },              \
	{ .name = "no-store", .help = "keep no findings" },                               \
	AS_CLI_JUNIT_OPT, AS_CLI_FORM_OPTS,                                               \
	{ .name = "json", .help = "print everything as JSON lines" },                     \
	AS_CLI_QUIET_OPT
/* clang-format on */

/* A finding is kept before it is printed: a reader of the output finds it in the folder. */
struct as_cli_output {
	struct as_sink *talk, *store; /* store NULL: nothing is kept */
	struct as_sink *chain; /* both */
	struct as_cli_forms *forms;
	struct as_live *live; /* set counters in it */
	const char *folder;
	bool json;
	const struct as_args *reports; /* a page for a browser is written at the end; or NULL */
	bool lasting; /* the folder has more than findings: progress is kept without any */
};

/* A sink that prints on standard output: JSON lines (--json), or text for people; `quiet`: findings
 * alone. */
struct as_sink *as_cli_talk_new(const struct as_args *args, bool quiet);
void as_cli_talk_free(struct as_sink *talk, bool json);

AS_MUST_CHECK int as_cli_output_open(const struct as_args *args, struct as_cli_output *out,
				     struct as_err *err);
/* The run goes on with an earlier one: what is in the folder already is not counted again. */
void as_cli_output_goes_on(struct as_cli_output *out);
/* The first failure to keep something, if any: 0 or its code. */
int as_cli_output_failed(const struct as_cli_output *out, struct as_err *err);
/* The work is done: what follows is not progress. as_cli_output_close() does it, too. */
void as_cli_output_quiet(struct as_cli_output *out, int rc, const struct as_err *err);
/* Prints the summary and frees the sinks. rc is the result of the work. Returns the result of the
 * command: an exit status or a negative error. */
AS_MUST_CHECK int as_cli_output_close(struct as_cli_output *out, const struct as_run_result *stats,
				      int rc, struct as_err *err);

/* A folder for the counts of the engine in a sandbox. */
struct as_cli_share {
	struct as_cli_output *out;
	struct as_dir dir; /* in the run folder; none where nothing is kept */
	struct as_buf name;
};

AS_MUST_CHECK int as_cli_share_open(struct as_cli_output *out, struct as_cli_share *share,
				    struct as_err *err);
void as_cli_share_close(struct as_cli_share *share);

#endif
