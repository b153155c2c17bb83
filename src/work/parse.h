/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parse: workload text to operations. Errors read "file:line:column: expected WHAT, found WHAT".
 * docs/FORMAT.md is the grammar.
 */
#ifndef AS_WORK_PARSE_H
#define AS_WORK_PARSE_H

#include "base/err.h"
#include "work/seq.h"

#define AS_STR_MAX 65536 /* bytes of one string argument, once its escapes are read */
/* Bytes of one line, without the newline: room for two strings written all in escapes. */
#define AS_LINE_MAX (1 << 20)

/* Called for each operation or metadata line; strings live until the call returns. A negative
 * return stops the parse and is handed back. */
struct as_parse_fns {
	int (*op)(void *ctx, const struct as_op *op, unsigned line);
	int (*meta)(void *ctx, const char *key, const char *value, unsigned line);
};

/* A streaming parser: memory is bounded by the longest line, whatever the length of the text. */
struct as_parser;
struct as_parser *as_parser_new(const char *file_name, const struct as_parse_fns *fns, void *ctx);
AS_MUST_CHECK int as_parser_feed(struct as_parser *parser, const char *text, size_t len,
				 struct as_err *err);
AS_MUST_CHECK int as_parser_finish(struct as_parser *parser, struct as_err *err);
void as_parser_free(struct as_parser *parser);

AS_MUST_CHECK int as_parse_text(const char *file_name, const char *text, size_t len,
				struct as_seq **seq, struct as_err *err);
/* "-" is standard input. */
AS_MUST_CHECK int as_parse_file(const char *path, struct as_seq **seq, struct as_err *err);
/* A file of several workloads, each of which begins with a line `@workload NAME` (what stands
 * before the first such line is one, too). fn gets each and frees it; its non-zero return ends the
 * parse and is handed back. */
AS_MUST_CHECK int as_parse_many(const char *path, int (*fn)(void *ctx, struct as_seq *seq),
				void *ctx, struct as_err *err);

#endif
