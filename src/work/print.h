/* SPDX-License-Identifier: GPL-2.0-or-later */
/* print: operations to canonical text. parse(print(w)) == w; print(parse(t)) is a fixed point. */
#ifndef AS_WORK_PRINT_H
#define AS_WORK_PRINT_H

#include "work/seq.h"

/* One line without the newline. */
void as_print_op(const struct as_op *op, struct as_buf *out);
void as_print_meta(const char *key, const char *value, struct as_buf *out);
void as_print_seq(const struct as_seq *seq, struct as_buf *out);
/* A string argument as it is written: bare, or quoted with escapes where needed. */
void as_print_str(const char *s, struct as_buf *out);

#endif
