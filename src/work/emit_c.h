/* SPDX-License-Identifier: GPL-2.0-or-later */
/* emit_c: a workload as one self-contained C program that compiles with `cc` alone and performs the
 * same system calls below the directory given as its argument. */
#ifndef AS_WORK_EMIT_C_H
#define AS_WORK_EMIT_C_H

#include "work/outcome.h"
#include "work/seq.h"

/* expected: what each operation answered or should answer (seq->n of them, or NULL for none); the
 * program then says for each where it differs (ret, err, done; payloads are not compared) and exits
 * 1 at the end if any did. Operations are counted from 1, as in findings. */
void as_emit_c(const struct as_seq *seq, const struct as_outcome *expected, struct as_buf *out);

#endif
