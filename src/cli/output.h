/* SPDX-License-Identifier: GPL-2.0-or-later */
/* output: the sinks of a command that finds things, from its options. */
#ifndef AS_CLI_OUTPUT_H
#define AS_CLI_OUTPUT_H

#include "base/event.h"
#include "cli/cli.h"

#define AS_OUT_DEFAULT "assay.out"

/* clang-format off */
#define AS_CLI_OUTPUT_OPTS                                                               \
	{ .name = "out", .letter = 'o', .kind = AS_OPT_TEXT, .arg = "DIR",                \
	  .help = "where findings are kept; default " AS_OUT_DEFAULT },                   \
	{ .name = "no-store", .help = "keep no findings" },                               \
	{ .name = "json", .help = "say everything as JSON lines" }
/* clang-format on */

struct as_cli_output {
	struct as_sink *talk, *store, *chain;
	const char *folder;
	bool json;
};

/* For as_store_sink_new(). */
AS_MUST_CHECK int as_cli_save_disk(const void *disk, const char *path, struct as_err *err);

AS_MUST_CHECK int as_cli_output_open(const struct as_args *args, struct as_cli_output *out,
				     struct as_err *err);
/* Says the end and frees the sinks. rc is what the work came to; the result is a command's: exit
 * status or negative. */
AS_MUST_CHECK int as_cli_output_close(struct as_cli_output *out, const struct as_run_stats *stats,
				      int rc, struct as_err *err);

#endif
