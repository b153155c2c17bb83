/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * strace_scan: a line of strace taken apart where it lies: nothing is copied.
 */
#ifndef AS_TRACE_STRACE_SCAN_H
#define AS_TRACE_STRACE_SCAN_H

#include "base/err.h"

#include <stddef.h>

#define AS_SCAN_ARGS 8

struct as_span {
	const char *at;
	size_t len;
};

enum as_scan_kind {
	AS_SCAN_CALL, /* whole */
	AS_SCAN_BEGIN, /* "... <unfinished ...>": head is what is before that */
	AS_SCAN_RESUME, /* "<... name resumed>": tail is what follows */
	AS_SCAN_EXIT, /* "+++ exited with 0 +++" */
	AS_SCAN_TAKEN, /* "+++ superseded by execve in pid 12 +++": number has taken its place */
	AS_SCAN_SUMMARY, /* the head of the table of -C */
	AS_SCAN_NOTHING, /* signals, remarks of strace itself, stack traces, empty lines */
	AS_SCAN_UNKNOWN, /* not understood */
};

struct as_scan {
	enum as_scan_kind kind;
	unsigned tid; /* 0: not said */
	bool bracket; /* said as "[pid 12]" */
	struct as_span name, head, tail;
	struct as_span args[AS_SCAN_ARGS];
	unsigned n_args;
	bool has_result; /* else "= ?" */
	uint64_t result;
	struct as_span error; /* empty: none */
	unsigned number;
};

/* The byte after the line must be readable. */
void as_scan_line(const char *line, size_t len, struct as_scan *scan);
/* A call alone, "name(args) = result": a line that was put together again. */
void as_scan_call(const char *text, size_t len, struct as_scan *scan);

#endif
