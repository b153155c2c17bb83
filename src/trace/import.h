/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * import: workloads from the languages and logs of others: CrashMonkey's J-lang, the operation logs
 * of xfstests' fsx (--record-ops), strace -f. What no operation can
 * express is left out and reported with its line. docs/FORMAT.md says what becomes an operation.
 */
#ifndef AS_TRACE_IMPORT_H
#define AS_TRACE_IMPORT_H

#include "base/err.h"
#include "work/seq.h"

enum as_import_from { AS_IMPORT_JLANG, AS_IMPORT_FSX, AS_IMPORT_STRACE, AS_IMPORTS };

struct as_import {
	enum as_import_from from;
	const char *file; /* for messages, and its last part for @name */
	const char *under; /* strace: the root of the tree, absolute; NULL: "/" */
	/* Something on this line could not be expressed; may be NULL. */
	void (*left_out)(void *ctx, unsigned line, const char *what);
	void *ctx;
	/* Filled in: */
	uint64_t n_left_out;
	uint64_t n_outside; /* strace: calls on files outside the tree */
	uint64_t n_other; /* strace: calls that have nothing to do with files */
};

/* -1 when there is no such name. */
int as_import_find(const char *name);

/* AS_EUSE: no line of the text is of this kind. */
AS_MUST_CHECK int as_import_text(struct as_import *import, const char *text, size_t len,
				 struct as_seq **seq, struct as_err *err);

#endif
