/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forms: what a command found, for other programs: files that --junit, --tap, --sarif and
 * --markdown ask for (report/forms.h). */
#ifndef AS_CLI_FORMS_H
#define AS_CLI_FORMS_H

#include "base/event.h"
#include "cli/cli.h"

/* clang-format off */
#define AS_CLI_FORM_OPTS                                                                 \
	{ .name = "tap", .kind = AS_OPT_TEXT, .arg = "FILE", .resume = AS_OPT_ANEW,      \
	  .help = "also write the findings to FILE, in the Test Anything Protocol" },    \
	{ .name = "sarif", .kind = AS_OPT_TEXT, .arg = "FILE", .resume = AS_OPT_ANEW,    \
	  .help = "also write the findings to FILE, as SARIF 2.1.0" },                   \
	{ .name = "markdown", .kind = AS_OPT_TEXT, .arg = "FILE", .resume = AS_OPT_ANEW, \
	  .help = "also write the findings to FILE, as Markdown for a pull request" }
#define AS_CLI_JUNIT_OPT                                                              \
	{ .name = "junit", .kind = AS_OPT_TEXT, .arg = "FILE", .resume = AS_OPT_ANEW, \
	  .help = "also write the findings to FILE, in the format of JUnit" }
/* clang-format on */

/* Findings of one run, until they are written; NULL: no option asks for a file. */
struct as_cli_forms;

/* Files that cannot be written are an error before the work begins. `name` is what the run is
 * called in them. */
AS_MUST_CHECK int as_cli_forms_open(const struct as_args *args, const char *name,
				    struct as_cli_forms **forms, struct as_err *err);
/* Both take NULL. */
void as_cli_forms_add(struct as_cli_forms *forms, const struct as_finding *finding);
AS_MUST_CHECK int as_cli_forms_close(struct as_cli_forms *forms, struct as_err *err);

/* The same for a run folder that is complete; --junit is left out. */
AS_MUST_CHECK int as_cli_forms_of_folder(const struct as_args *args, const char *folder,
					 struct as_err *err);

#endif
