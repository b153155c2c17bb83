/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pages: see pages.h. */
#include "cli/pages.h"

#include "base/show.h"
#include "cover/counts.h"
#include "os/dir.h"
#include "report/html.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The last part of the path, without its ending. */
static char *suite_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *name = as_xstrdup(slash && slash[1] ? slash + 1 : path), *dot = strrchr(name, '.');

	if (dot && dot != name)
		*dot = '\0';
	return name;
}

int as_cli_suites_add(struct as_cli_suites *s, const char *path, struct as_err *err)
{
	struct as_counts *counts = NULL;
	unsigned at = s->suites.n;
	int rc;

	if (at >= AS_FIGURE_SERIES_MAX)
		return as_fail(err, AS_EUSE, "figures have at most %d files of counts",
			       AS_FIGURE_SERIES_MAX);
	if (!s->spec)
		s->spec = as_counts_spec();
	s->suites.spec = s->spec;
	rc = as_counts_load(s->spec, path, &counts, err);
	if (rc)
		return rc;
	s->names[at] = suite_name(path);
	s->suites.suite[at] = (struct as_suite){ s->names[at], counts };
	s->suites.n++;
	return 0;
}

void as_cli_suites_free(struct as_cli_suites *s)
{
	for (unsigned i = 0; i < s->suites.n; i++) {
		as_counts_free((struct as_counts *)s->suites.suite[i].counts);
		free(s->names[i]);
	}
	if (s->spec)
		as_spec_free(s->spec);
	*s = (struct as_cli_suites){ 0 };
}

/* Counts that several processes keep in a folder are not added up. */
static bool is_file(const char *path)
{
	struct stat st;

	return path && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

void as_cli_page_say(const struct as_args *args, const char *folder, struct as_sink *talk)
{
	if (!as_args_has(args, "no-report"))
		as_emit_note(talk, "%s/" AS_CLI_PAGE " shows them in a browser", folder);
}

void as_cli_page_write(const struct as_args *args, const char *folder, const char *cov)
{
	struct as_report_extras extras = { 0 };
	struct as_report_totals totals;
	struct as_cli_suites suites = { 0 };
	struct as_buf json = { 0 }, text = { 0 };
	struct as_dir dir = AS_DIR_NONE;
	struct as_err err;
	int rc;

	if (as_args_has(args, "no-report"))
		return;
	/* A run that kept nothing has no folder. */
	if (as_dir_open(folder, NULL, &dir, &err))
		return;
	if (is_file(cov) && !as_cli_suites_add(&suites, cov, &err))
		extras.suites = &suites.suites;
	rc = as_report_data(&folder, 1, &json, &totals, &err);
	if (!rc) {
		as_report_page("assay report", &json, &extras, &text);
		rc = as_dir_write(&dir, AS_CLI_PAGE, &text, &err);
	}
	if (rc)
		fprintf(stderr, "assay: no " AS_CLI_PAGE ": %s\n", err.msg);
	as_cli_suites_free(&suites);
	as_buf_free(&json);
	as_buf_free(&text);
	as_dir_close(&dir);
}
