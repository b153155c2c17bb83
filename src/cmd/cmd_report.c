/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_report: what run folders hold, as one page for a browser, or one finding as text. */
#include "base/show.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/stored.h"
#include "os/out.h"
#include "report/html.h"
#include "report/mail.h"
#include "report/markdown.h"

#include <stdio.h>

/* It is made anew: a folder may be of an earlier version, or somebody else's. */
static int mail(const struct as_args *args, struct as_err *err)
{
	struct as_dir folder = AS_DIR_NONE;
	struct as_buf text = { 0 };
	int rc;

	if (args->n_operands != 1)
		return as_fail(err, AS_EUSE,
			       "report: --mail takes the id or the folder of one "
			       "finding");
	rc = as_cli_stored_find(args, &folder, err);
	if (!rc)
		rc = as_mail_print(&folder, &text, err);
	if (!rc)
		rc = as_out_save("-", &text, err);
	as_dir_close(&folder);
	as_buf_free(&text);
	return rc ? rc : AS_EXIT_CLEAN;
}

static int page(const struct as_args *args, struct as_err *err)
{
	static const char *const standard[] = { AS_OUT_DEFAULT };
	const char *const *folders =
		args->n_operands ? (const char *const *)args->operands : standard;
	size_t n = args->n_operands ? (size_t)args->n_operands : 1;
	const char *path = as_args_text(args, "out", "report.html");
	struct as_buf json = { 0 }, html = { 0 };
	struct as_report_totals totals;
	int rc = as_out_check(path, err);

	if (!rc)
		rc = as_report_data(folders, n, &json, &totals, err);
	if (!rc && as_args_has(args, "json")) {
		as_buf_addc(&json, '\n');
		rc = as_out_save(as_args_has(args, "out") ? path : "-", &json, err);
	} else if (!rc) {
		as_report_page(as_args_text(args, "title", "assay report"), &json, &html);
		rc = as_out_save(path, &html, err);
	}
	if (!rc && totals.damaged)
		fprintf(stderr, "assay: %zu finding%s could not be read and %s left out\n",
			totals.damaged, as_plural(totals.damaged),
			totals.damaged == 1 ? "was" : "were");
	if (!rc && !as_args_has(args, "json"))
		fprintf(stderr, "%s: %zu finding%s of %zu run%s, %zu KiB\n", path, totals.findings,
			as_plural(totals.findings), totals.runs, as_plural(totals.runs),
			html.len >> 10);
	as_buf_free(&json);
	as_buf_free(&html);
	return rc ? rc : AS_EXIT_CLEAN;
}

static int run(const struct as_args *args, struct as_err *err)
{
	return as_args_has(args, "mail") ? mail(args, err) : page(args, err);
}

static const struct as_opt opts[] = {
	{ .name = "out",
	  .letter = 'o',
	  .kind = AS_OPT_TEXT,
	  .arg = "FILE",
	  .help = "write the page to this file; default report.html; with --mail, the folder that "
		  "the finding is in; default " AS_OUT_DEFAULT },
	{ .name = "mail",
	  .help = "print one finding, named by its id or folder, as plain text for the maintainer "
		  "of the file system" },
	{ .name = "title", .kind = AS_OPT_TEXT, .arg = "TEXT", .help = "the title of the page" },
	{ .name = "json", .help = "write only the data, as JSON, to standard output" },
	{ 0 },
};

const struct as_command as_cmd_report = {
	.name = "report",
	.operands = "[DIR...|--mail ID]",
	.summary = "write what run folders hold as one page for a browser",
	.text = "The page needs nothing else: no network and no other file. It shows the runs, and "
		"a list of the findings that can be searched; each opens to its workload, what was "
		"seen, and how to reproduce it. Without DIR, the folder is " AS_OUT_DEFAULT
		". --mail ID prints report.txt of one finding: versions, commands, numbered "
		"steps, what was expected by which rule, what was seen, and how to reproduce it "
		"without assay.",
	.opts = opts,
	.min_operands = 0,
	.max_operands = -1,
	.run = run,
};
