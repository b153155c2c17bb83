/* SPDX-License-Identifier: GPL-2.0-or-later */
/* markdown: findings for a comment on a pull request. */
#ifndef AS_REPORT_MARKDOWN_H
#define AS_REPORT_MARKDOWN_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

/* `json` is what as_report_data() wrote (report/html.h), without so many findings that are
 * damaged: these are told, too, because nobody knows what they were. */
AS_MUST_CHECK int as_report_markdown(const struct as_buf *json, size_t damaged, struct as_buf *out,
				     struct as_err *err);
/* The same data as TAP: a test for each finding, which failed; without findings, one that
 * passed. */
AS_MUST_CHECK int as_report_tap(const struct as_buf *json, size_t damaged, struct as_buf *out,
				struct as_err *err);

#endif
