/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forms: findings for other programs, made of the JSON of a report (docs/SCHEMA.md). Texts from
 * outside cannot end an attribute, a line, a cell or a string in any of them.
 */
#ifndef AS_REPORT_FORMS_H
#define AS_REPORT_FORMS_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

/* `damaged`: findings that could not be read; they count as a failure. */
typedef int (*as_report_form_fn)(const struct as_buf *json, size_t damaged, struct as_buf *out,
				 struct as_err *err);

struct as_report_form {
	const char *name; /* of the option; NULL ends the table */
	as_report_form_fn print;
};

/* json, junit, tap, sarif, markdown. */
extern const struct as_report_form as_report_forms[];

/* A testsuite for each run, and a failed test for each finding in it. */
AS_MUST_CHECK int as_report_junit(const struct as_buf *json, size_t damaged, struct as_buf *out,
				  struct as_err *err);
/* SARIF 2.1.0: a result for each finding, with a location where one is known. */
AS_MUST_CHECK int as_report_sarif(const struct as_buf *json, size_t damaged, struct as_buf *out,
				  struct as_err *err);

#endif
