/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lex: reading one line of workload text. A cursor stands somewhere in the line; each read_* reads
 * one thing at it and moves on, or explains in err what was expected and what was found there.
 */
#ifndef AS_WORK_LEX_H
#define AS_WORK_LEX_H

#include "base/err.h"
#include "work/arg.h"

struct as_lex {
	const char *p, *end; /* the cursor; one past the line's last byte */
	const char *start; /* column 1 */
	char *scratch; /* where decoded strings go: room for the line and a NUL for each */
	const char *file;
	unsigned line;
	struct as_err *err;
};

enum as_byte_class {
	AS_BYTE_CONTROL, /* never allowed (carriage return: only at the end of a line) */
	AS_BYTE_BLANK,
	AS_BYTE_BARE, /* may stand in a string without quotes */
	AS_BYTE_QUOTE, /* " and \ */
};
extern const unsigned char as_byte_class[256];

/* Skips blanks; true when nothing but a comment follows. */
static inline bool as_lex_at_end(struct as_lex *lex)
{
	while (lex->p < lex->end && (*lex->p == ' ' || *lex->p == '\t'))
		lex->p++;
	return lex->p == lex->end || *lex->p == '#';
}

/* Does a thing end here: blank or end of line? */
static inline bool as_lex_at_gap(const struct as_lex *lex)
{
	return lex->p == lex->end || *lex->p == ' ' || *lex->p == '\t';
}

/* Gives each line of a text to `read`, with room for its strings, until one fails. */
AS_MUST_CHECK int as_lex_lines(const char *file, const char *text, size_t len,
			       int (*read)(struct as_lex *lex, void *ctx), void *ctx,
			       struct as_err *err);

/* "FILE:LINE:COLUMN: expected ..., found ..."; the column and what was found are those of `at`. */
int as_lex_expected(struct as_lex *lex, const char *at, const char *fmt, ...) AS_PRINTF(3, 4);
/* "FILE:LINE:COLUMN: " and the text. */
int as_lex_fail(struct as_lex *lex, const char *at, const char *fmt, ...) AS_PRINTF(3, 4);

/* The rest of the line has to be empty or a comment without control bytes. */
AS_MUST_CHECK int as_lex_finish(struct as_lex *lex);
/* One argument's value, into its field of op. No blanks before it. */
AS_MUST_CHECK int as_lex_value(struct as_lex *lex, const struct as_arg_info *arg, struct as_op *op);
/* "$N" */
AS_MUST_CHECK int as_lex_slot(struct as_lex *lex, const char *expected, int32_t *slot);
/* A bare or quoted string, at most max bytes, NUL-terminated in the scratch. */
AS_MUST_CHECK int as_lex_string(struct as_lex *lex, const char *expected, size_t max,
				const char **string);

#endif
