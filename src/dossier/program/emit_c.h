/* SPDX-License-Identifier: GPL-2.0-or-later */
/* emit_c: a workload as one self-contained C program that compiles with `cc` alone and performs the
 * same system calls below the directory given as its argument. */
#ifndef AS_DOSSIER_PROGRAM_EMIT_C_H
#define AS_DOSSIER_PROGRAM_EMIT_C_H

#include "base/buf.h"
#include "work/arg.h"
#include "work/handed.h"
#include "work/outcome.h"
#include "work/seq.h"

/* expected: what each operation answered or should answer (seq->n of them, or NULL for none); the
 * program then says for each where it differs (ret, err, done) and exits 1 at the end if any did.
 * Operations are counted from 1, as in findings. A step that needs assay (dossier/steps.h) is left
 * out; the program says so, and why, and if nothing else is to be said, it exits 125. */
void as_emit_c(const struct as_seq *seq, const struct as_outcome *expected, struct as_buf *out);

/* How an answer is looked at. */
enum as_emit_how {
	AS_EMIT_COMPARED,
	AS_EMIT_IGNORED,
	/* It is no mistake if it is otherwise; but then nothing is compared any more, and the
	 * program exits 3. */
	AS_EMIT_SUCCESS,
	AS_EMIT_FAILURE,
	/* Whether it succeeds is compared, and not with what. */
	AS_EMIT_MUST_SUCCEED,
	AS_EMIT_MUST_FAIL,
	/* What SEEK_DATA or SEEK_HOLE found is compared with what can be read there. */
	AS_EMIT_SOUGHT,
};
/* What the program compares. */
struct as_emit_plan {
	const struct as_outcome *expected; /* as above */
	const enum as_emit_how *how; /* seq->n of them, or NULL if all are compared */
	/* What the operation of this index hands over, in addition; NULL: that is not compared. */
	const struct as_handed *told;
	size_t told_at;
};

void as_emit_c_plan(const struct as_seq *seq, const struct as_emit_plan *plan, struct as_buf *out);

/* How the program compares what is handed over: a section of emitted/program.c. NULL: it cannot. */
const char *as_emit_c_handed_section(const struct as_op *op, const struct as_handed *told);
/* Its call: "told_bytes(3, 0, 300, (const struct run[]){ ... }, 2)". */
void as_emit_c_handed(size_t number, const struct as_handed *told, struct as_buf *out);
/* A C string literal; bytes may be anything. */
void as_emit_c_literal(const char *s, size_t len, struct as_buf *out);

/* One argument as C spells it: "a\"b" as a literal, O_RDWR | O_CREAT, 0644. Plain ASCII. */
void as_emit_c_arg(const struct as_op *op, const struct as_arg_info *arg, struct as_buf *out);

#endif
