/* SPDX-License-Identifier: GPL-2.0-or-later */
/* html: the findings of run folders as one page that needs nothing else: its style, its script and
 * its data stand in it. */
#ifndef AS_REPORT_HTML_H
#define AS_REPORT_HTML_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

struct as_suites;

struct as_report_totals {
	size_t runs, findings;
	size_t damaged; /* findings that could not be read; they are left out */
	size_t unread; /* other files of runs that could not be read */
};

/* The runs and findings in the folders as JSON (docs/SCHEMA.md). A folder that holds no run is
 * AS_EUSE. */
AS_MUST_CHECK int as_report_data(const char *const *folders, size_t n, struct as_buf *out,
				 struct as_report_totals *totals, struct as_err *err);
/* What stands in a page besides; all zero: nothing does. */
struct as_report_extras {
	const struct as_suites *suites; /* input and output coverage (figure_cover.h); or NULL */
	const char *score; /* a table of bugs and who found them, as Markdown; or NULL */
	const char *score_name;
	const struct as_buf *campaign; /* JSON of `assay swarm merge` (docs/SCHEMA.md); or NULL */
};

/* The page around such JSON. */
void as_report_page(const char *title, const struct as_buf *json,
		    const struct as_report_extras *extras, struct as_buf *out);

#endif
