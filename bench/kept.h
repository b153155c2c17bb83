/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kept: the numbers of `assay bench -o FILE`, a JSON line each, so that a measurement that was
 * stopped goes on. The file is written as a whole after each number.
 */
#ifndef AS_BENCH_KEPT_H
#define AS_BENCH_KEPT_H

#include "base/err.h"

#include <stdbool.h>

/* Reads the numbers that the file has. There need not be one; AS_EUSE: it holds something else. */
AS_MUST_CHECK int as_bench_kept_open(const char *path, struct as_err *err);
/* Adds a number, or takes the place of the one with this name. Without a file nothing is done. */
AS_MUST_CHECK int as_bench_kept_add(const char *name, const char *line, struct as_err *err);
/* Whether the part that reports names beginning so was measured to its end: another part reported
 * the last number. */
bool as_bench_kept_has(const char *prefix);
void as_bench_kept_close(void);

#endif
