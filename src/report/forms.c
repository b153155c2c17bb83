/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forms: see forms.h. */
#include "report/forms.h"
#include "report/markdown.h"

static int print_json(const struct as_buf *json, size_t damaged, struct as_buf *out,
		      struct as_err *err)
{
	(void)damaged;
	(void)err;
	as_buf_addf(out, "%s\n", as_buf_str(json));
	return 0;
}

const struct as_report_form as_report_forms[] = {
	{ "json", print_json },
	{ "junit", as_report_junit },
	{ "tap", as_report_tap },
	{ "sarif", as_report_sarif },
	{ "markdown", as_report_markdown },
	{ 0 },
};
