/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pages: report.html: with files of counts, and as every run writes it at its end. */
#ifndef AS_CLI_PAGES_H
#define AS_CLI_PAGES_H

#include "base/event.h"
#include "cli/cli.h"
#include "figure/figure_cover.h"

#define AS_CLI_PAGE "report.html"
#define AS_CLI_REPORT_OPT                                                         \
	{                                                                         \
		.name = "no-report", .resume = AS_OPT_ANEW,                       \
		.help = "do not write " AS_CLI_PAGE " into the folder at the end" \
	}

/* Counts of system calls (`assay cov`), for figures. */
struct as_cli_suites {
	struct as_spec *spec;
	struct as_suites suites;
	char *names[AS_FIGURE_SERIES_MAX];
};

AS_MUST_CHECK int as_cli_suites_add(struct as_cli_suites *s, const char *path, struct as_err *err);
void as_cli_suites_free(struct as_cli_suites *s);

/* Writes the report into the run folder, unless --no-report; `cov`: the file of --cov, or NULL. The
 * report is of use, but a run does not fail for want of it: what goes wrong is said. */
void as_cli_page_write(const struct as_args *args, const char *folder, const char *cov);
/* Says where it will be, after what says where the findings are. */
void as_cli_page_say(const struct as_args *args, const char *folder, struct as_sink *talk);

#endif
