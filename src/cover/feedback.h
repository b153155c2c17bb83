/* SPDX-License-Identifier: GPL-2.0-or-later */
/* feedback: counts as the table that `assay gen --feedback` reads: one JSON object a line. */
#ifndef AS_COVER_FEEDBACK_H
#define AS_COVER_FEEDBACK_H

#include "cover/counts.h"

void as_feedback_print(const struct as_counts *counts, struct as_buf *out);

#endif
