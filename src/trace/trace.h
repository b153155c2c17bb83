/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace: a file of lines of any length, read in pieces, unpacked on the way if it is gzip or zstd.
 * Lines are handed out where they lie in the buffer. Memory does not depend on the file: of a line
 * longer than AS_LINE_MAX the beginning is given, and the rest is skipped.
 */
#ifndef AS_TRACE_TRACE_H
#define AS_TRACE_TRACE_H

#include "base/err.h"

#include <stddef.h>

#define AS_LINE_MAX (1u << 20)

struct as_trace;

/* "-" is standard input. */
AS_MUST_CHECK int as_trace_open(const char *path, struct as_trace **out, struct as_err *err);
/* A trace in memory; the text must stay valid. */
struct as_trace *as_trace_on(const char *text, size_t len);
void as_trace_free(struct as_trace *trace);

/* The beginning of the trace; nothing is consumed. */
const char *as_trace_head(struct as_trace *trace, size_t *len);
/* The next line without its end; false: there is none. *cut: it is longer. Valid until the next
 * call; one byte after it may be read. */
bool as_trace_line(struct as_trace *trace, const char **line, size_t *len, bool *cut);
/* Whether the last line had an end. */
bool as_trace_whole(const struct as_trace *trace);
/* After the last line: 0, or why there are no more (the disk failed, a packed file was cut off). */
AS_MUST_CHECK int as_trace_status(const struct as_trace *trace, struct as_err *err);

#endif
