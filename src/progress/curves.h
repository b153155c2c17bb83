/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * curves: the counters of a run over time, in a file of bounded size (history.csv in the run
 * folder, docs/FORMAT.md). Samples are taken at even distances. When there are AS_CURVES_ROWS of
 * them, every second one is dropped and the distance is doubled.
 */
#ifndef AS_PROGRESS_CURVES_H
#define AS_PROGRESS_CURVES_H

#include "progress/progress.h"

#define AS_CURVES_ROWS 1024u
#define AS_CURVES_MAX_BYTES ((size_t)1 << 20)

struct as_sample {
	int64_t wall_us;
	uint64_t has;
	uint64_t n[AS_COUNTERS];
};

struct as_curves {
	struct as_sample *rows;
	size_t n, cap;
	int64_t every_us;
};

/* Adds what the progress says, if its time has come; `last` adds it in any case. Returns whether
 * something was added. */
bool as_curves_add(struct as_curves *curves, const struct as_progress *p, bool last);
void as_curves_print(const struct as_curves *curves, struct as_buf *out);
/* Reads such a file, which may come from anywhere. Unknown columns are ignored; a row that is
 * broken ends it (the writer may have been killed); a wrong head is AS_EUSE. */
AS_MUST_CHECK int as_curves_parse(const char *text, size_t len, struct as_curves *curves,
				  struct as_err *err);
void as_curves_free(struct as_curves *curves);

#endif
