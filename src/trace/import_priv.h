/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import_priv: what the importers share (import*.c). */
#ifndef AS_TRACE_IMPORT_PRIV_H
#define AS_TRACE_IMPORT_PRIV_H

#include "trace/import.h"
#include "trace/strace_scan.h"
#include "work/arg.h"

struct as_importing {
	struct as_import *import;
	struct as_seq *seq;
	unsigned line;
	uint64_t fill; /* the last pattern used: every write has one of its own */
	uint64_t understood; /* lines that were of the kind expected */
	struct as_arena words; /* strings of the line at hand */
};

/* Reports that something on this line is left out. */
void as_importing_miss(struct as_importing *x, const char *fmt, ...) AS_PRINTF(2, 3);
/* Adds the operation if the language can express it, else reports why not. */
bool as_importing_add(struct as_importing *x, const struct as_op *op);

/* The next line without its end; false after the last. */
bool as_importing_line(struct as_importing *x, struct as_span *text, struct as_span *line);
/* The next word; false at the end. */
bool as_span_word(struct as_span *line, struct as_span *word);
bool as_span_is(struct as_span piece, const char *text);
bool as_span_starts(struct as_span piece, const char *text);
/* Decimal, 0x hexadecimal or 0 octal, whole; may be negative. */
bool as_span_number(struct as_span piece, int64_t *number);
/* Words of a flag table joined by '|', each with or without the prefix; numbers are accepted. */
bool as_span_flags(struct as_span piece, enum as_flag_table table, const char *prefix,
		   int64_t *flags);
/* A copy that ends with a NUL and lives until the next line. */
char *as_importing_word(struct as_importing *x, struct as_span piece);

int as_import_jlang(struct as_importing *x, struct as_span text, struct as_err *err);
int as_import_fsx(struct as_importing *x, struct as_span text, struct as_err *err);
int as_import_strace(struct as_importing *x, struct as_span text, struct as_err *err);

#endif
