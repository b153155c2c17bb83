/* SPDX-License-Identifier: GPL-2.0-or-later */
/* read_strace: the reader of strace, for a receiver that also wants to see what was printed. */
#ifndef AS_TRACE_READ_STRACE_H
#define AS_TRACE_READ_STRACE_H

#include "trace/source.h"
#include "trace/strace_scan.h"

/* What the receiver is told of at the moment. */
struct as_strace_now {
	unsigned line;
	const struct as_scan *scan; /* NULL: of no line */
};

/* As as_source_strace.run. */
AS_MUST_CHECK int as_strace_read(const struct as_source_input *input, struct as_receiver *to,
				 struct as_strace_now *now, struct as_err *err);

#endif
