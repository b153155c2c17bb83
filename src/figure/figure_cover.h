/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * figure_cover: the paper's figures 2, 3, 4, 5 and its Table 1 for any counts, up to
 * AS_FIGURE_SERIES_MAX suites side by side, and a report in HTML with all there is to see. Counts
 * in, text out.
 */
#ifndef AS_FIGURE_FIGURE_COVER_H
#define AS_FIGURE_FIGURE_COVER_H

#include "cover/counts.h"
#include "figure/figure.h"

struct as_suite {
	const char *name; /* as the legend has it */
	const struct as_counts *counts;
};

struct as_suites {
	const struct as_spec *spec;
	struct as_suite suite[AS_FIGURE_SERIES_MAX];
	unsigned n;
};

/* How often each partition was met. arg NULL: of the output. False: there is no such space. */
bool as_figure_space(const struct as_suites *suites, const char *family, const char *arg,
		     enum as_space_kind kind, const char *title, struct as_buf *out);

/* What the paper shows; the names are those of files ("figure2-open-flags"). */
struct as_figure_paper {
	const char *name, *title;
	const char *family, *arg;
	enum as_space_kind kind;
	bool tcd;
};
extern const struct as_figure_paper as_figure_paper[];
extern const unsigned as_figure_papers;
void as_figure_of_paper(const struct as_suites *suites, const struct as_figure_paper *figure,
			struct as_buf *out);

/* Table 1: share of calls in which so many flags came together, as an HTML table. */
void as_figure_together(const struct as_suites *suites, const char *family, const char *arg,
			struct as_buf *out);
/* How a page begins, up to its body. */
void as_figure_page(const char *title, struct as_buf *out);
/* The figures of the paper, each in its frame. */
void as_figure_papers_html(const struct as_suites *suites, struct as_buf *out);
/* What no call has met, for each system call. */
void as_figure_untested(const struct as_suites *suites, struct as_buf *out);
/* Where the counts of each suite are from, and whether they are partial. */
void as_figure_sources(const struct as_suites *suites, struct as_buf *out);
/* A page about what the second of two suites has lost and gained. */
void as_figure_diff(const struct as_suites *suites, struct as_buf *out);
/* The whole page. */
void as_figure_report(const struct as_suites *suites, struct as_buf *out);

#endif
