/* SPDX-License-Identifier: GPL-2.0-or-later */
/* emit_c: a workload as one self-contained C program that compiles with `cc` alone and performs the
 * same system calls below the directory given as its argument. */
#ifndef AS_WORK_EMIT_C_H
#define AS_WORK_EMIT_C_H

#include "work/arg.h"
#include "work/outcome.h"
#include "work/seq.h"

/* expected: what each operation answered or should answer (seq->n of them, or NULL for none); the
 * program then says for each where it differs (ret, err, done; payloads are not compared) and exits
 * 1 at the end if any did. Operations are counted from 1, as in findings. */
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
};
/* The same; how: seq->n of them, or NULL if all are compared. */
void as_emit_c_how(const struct as_seq *seq, const struct as_outcome *expected,
		   const enum as_emit_how *how, struct as_buf *out);

/* One argument as C spells it: "a\"b" as a literal, O_RDWR | O_CREAT, 0644. Plain ASCII. */
void as_emit_c_arg(const struct as_op *op, const struct as_arg_info *arg, struct as_buf *out);

#endif
