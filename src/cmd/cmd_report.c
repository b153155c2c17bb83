/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_report: what run folders hold, as one page for a browser, or one finding as text. */
#include "base/advise.h"
#include "base/show.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/pages.h"
#include "cli/stored.h"
#include "dossier/letter/mail.h"
#include "os/out.h"
#include "report/forms.h"
#include "report/html.h"

#include <stdio.h>
#include <string.h>

#define SCORE_MAX_BYTES ((size_t)4 << 20)

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

/* Other forms than the page; they go to standard output, unless -o says where. */
static int find_form(const struct as_args *args, const struct as_report_form **form,
		     struct as_err *err)
{
	*form = NULL;
	for (const struct as_report_form *f = as_report_forms; f->name; f++) {
		if (!as_args_has(args, f->name))
			continue;
		if (*form)
			return as_fail(err, AS_EUSE, "report: --%s and --%s exclude each other",
				       (*form)->name, f->name);
		*form = f;
	}
	return 0;
}

static void say_damaged(const struct as_report_totals *totals)
{
	size_t n = totals->damaged;

	if (totals->unread)
		fprintf(stderr, "assay: %zu file%s of runs could not be read: what %s left out\n",
			totals->unread, as_plural(totals->unread),
			totals->unread == 1 ? "it says is" : "they say is");
	if (n)
		fprintf(stderr, "assay: %zu finding%s could not be read and %s left out\n", n,
			as_plural(n), n == 1 ? "was" : "were");
}

/* --cov and --score. */
static int read_extras(const struct as_args *args, struct as_cli_suites *suites,
		       struct as_buf *score, struct as_report_extras *extras, struct as_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < args->n_given && !rc; i++)
		if (!strcmp(args->given[i].opt->name, "cov"))
			rc = as_cli_suites_add(suites, args->given[i].value, err);
	extras->suites = suites->suites.n ? &suites->suites : NULL;
	extras->score_name = as_args_text(args, "score", NULL);
	if (!rc && extras->score_name)
		rc = as_buf_read_file(score, extras->score_name, SCORE_MAX_BYTES, err);
	extras->score = extras->score_name ? as_buf_str(score) : NULL;
	return rc;
}

static int page(const struct as_args *args, struct as_err *err)
{
	static const char *const standard[] = { AS_OUT_DEFAULT };
	const char *const *folders =
		args->n_operands ? (const char *const *)args->operands : standard;
	size_t n = args->n_operands ? (size_t)args->n_operands : 1;
	struct as_buf json = { 0 }, text = { 0 }, score = { 0 };
	struct as_report_extras extras = { 0 };
	struct as_cli_suites suites = { 0 };
	struct as_report_totals totals;
	const struct as_report_form *form;
	const char *path = "-";
	int rc = find_form(args, &form, err);

	if (!rc) {
		path = as_args_text(args, "out", form ? "-" : "report.html");
		rc = as_out_check(path, err);
		if (rc && !as_args_has(args, "out"))
			as_fail_advise(err, "choose another file with -o");
	}
	if (!rc)
		rc = read_extras(args, &suites, &score, &extras, err);
	if (!rc)
		rc = as_report_data(folders, n, &json, &totals, err);
	if (!rc && form)
		rc = form->print(&json, totals.damaged, &text, err);
	else if (!rc)
		as_report_page(as_args_text(args, "title", "assay report"), &json, &extras, &text);
	if (!rc)
		rc = as_out_save(path, &text, err);
	if (!rc)
		say_damaged(&totals);
	if (!rc && !form)
		fprintf(stderr, "%s: %zu finding%s of %zu run%s, %zu KiB\n", path, totals.findings,
			as_plural(totals.findings), totals.runs, as_plural(totals.runs),
			text.len >> 10);
	as_cli_suites_free(&suites);
	as_buf_free(&score);
	as_buf_free(&json);
	as_buf_free(&text);
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
	{ .name = "cov",
	  .kind = AS_OPT_TEXT,
	  .arg = "FILE",
	  .many = true,
	  .help = "also show the input and output coverage that this file of `assay cov` or --cov "
		  "has, with what was not tested; several are shown side by side" },
	{ .name = "score",
	  .kind = AS_OPT_TEXT,
	  .arg = "FILE",
	  .help = "also show this table in Markdown, such as what scripts/score.sh prints" },
	{ .name = "json", .help = "write only the data, as JSON, to standard output" },
	{ .name = "junit",
	  .help = "write a failed test for each finding, as JUnit XML for a CI, to standard "
		  "output" },
	{ .name = "sarif",
	  .help = "write a result for each finding, as SARIF 2.1.0, with its place in source code "
		  "where the finding names one, to standard output" },
	{ .name = "markdown",
	  .help = "write a table of the findings and their workloads, as Markdown for a pull "
		  "request, to standard output" },
	{ .name = "tap",
	  .help = "write a failed test for each finding, in the Test Anything Protocol, to "
		  "standard output" },
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
