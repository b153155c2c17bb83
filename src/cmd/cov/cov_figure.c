/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cov_figure: counts as charts: a folder of SVG files, or a page of HTML. */
#include "cmd/cov/cov.h"
#include "cover/metric.h"
#include "os/dir.h"
#include "os/out.h"
#include "report/figure_cover.h"

#include <stdlib.h>
#include <string.h>

char *as_cov_suite_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *name = as_xstrdup(slash && slash[1] ? slash + 1 : path);
	size_t len = strlen(name);

	if (len > 4 && !strcmp(name + len - 4, ".cov"))
		name[len - 4] = '\0';
	return name;
}

static int write_svg(const char *folder, const char *name, const struct as_buf *text,
		     struct as_err *err)
{
	struct as_buf path = { 0 };
	int rc;

	as_buf_addf(&path, "%s/%s.svg", folder, name);
	rc = as_out_save(as_buf_str(&path), text, err);
	if (!rc)
		printf("%s\n", as_buf_str(&path));
	as_buf_free(&path);
	return rc;
}

static int paper_figures(const struct as_suites *suites, const char *folder, struct as_err *err)
{
	int rc = 0;

	for (unsigned i = 0; i < as_figure_papers && !rc; i++) {
		struct as_buf text = { 0 };

		as_figure_of_paper(suites, &as_figure_paper[i], &text);
		rc = write_svg(folder, as_figure_paper[i].name, &text, err);
		as_buf_free(&text);
	}
	return rc;
}

static int space_figures(const struct as_suites *suites, const struct as_cov_choice *choice,
			 const char *folder, struct as_err *err)
{
	const struct as_counts *first = suites->suite[0].counts;
	int rc = 0;

	for (unsigned i = 0; i < as_counts_spaces(first) && !rc; i++) {
		struct as_buf text = { 0 };
		char title[64], name[160], file[160];
		struct as_space space;

		as_counts_space(first, i, &space);
		if (as_cov_chosen(choice, &space)) {
			as_cov_title(&space, title);
			snprintf(name, sizeof(name), "%s: %s", space.family->name, title);
			snprintf(file, sizeof(file), "%s-%s", space.family->name, title);
			for (char *s = file; *s; s++)
				if (*s == '/')
					*s = '-';
			as_figure_space(suites, space.family->name,
					space.arg ? space.arg->name : NULL, space.kind, name,
					&text);
			rc = write_svg(folder, file, &text, err);
		}
		as_space_free(&space);
		as_buf_free(&text);
	}
	return rc;
}

static int draw(const struct as_suites *suites, const struct as_args *args,
		const struct as_cov_choice *choice, struct as_err *err)
{
	const char *folder = as_args_text(args, "svg", NULL);
	const char *page = as_args_text(args, "html", NULL);
	struct as_buf text = { 0 };
	int rc = 0;

	if (folder)
		rc = as_dir_make(folder, err);
	if (rc)
		return rc;
	if (folder && (choice->family || choice->arg))
		rc = space_figures(suites, choice, folder, err);
	else if (folder)
		rc = paper_figures(suites, folder, err);
	if (!rc && page) {
		as_figure_report(suites, &text);
		rc = as_out_save(page, &text, err);
		if (!rc && strcmp(page, "-"))
			printf("%s\n", page);
	}
	as_buf_free(&text);
	return rc;
}

int as_cov_figures(const struct as_spec *spec, const struct as_args *args, struct as_err *err)
{
	struct as_counts *counts[AS_FIGURE_SERIES_MAX] = { NULL };
	char *names[AS_FIGURE_SERIES_MAX] = { NULL };
	struct as_suites suites = { .spec = spec };
	struct as_cov_choice choice;
	int n = args->n_operands - 1, rc;

	rc = as_cov_choose(spec, args,
			   1u << AS_SPACE_PLAIN | 1u << AS_SPACE_OUTPUT | 1u << AS_SPACE_VARIANTS,
			   &choice, err);
	if (!rc && n > AS_FIGURE_SERIES_MAX)
		rc = as_fail(err, AS_EUSE, "cov show: a figure holds at most %d files",
			     AS_FIGURE_SERIES_MAX);
	for (int i = 0; i < n && !rc; i++) {
		rc = as_cov_load(spec, args->operands[1 + i], &counts[i], err);
		names[i] = as_cov_suite_name(args->operands[1 + i]);
		suites.suite[i] = (struct as_suite){ names[i], counts[i] };
		suites.n++;
	}
	if (!rc)
		rc = draw(&suites, args, &choice, err);
	for (unsigned i = 0; i < suites.n; i++) {
		if (rc >= 0) {
			int status;

			as_cov_warn(counts[i], args->operands[1 + i], NULL);
			status = as_cov_judge(spec, counts[i], args, NULL, err);
			rc = status ? status : rc;
		}
		as_counts_free(counts[i]);
		free(names[i]);
	}
	return rc;
}
