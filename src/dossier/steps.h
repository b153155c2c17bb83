/* SPDX-License-Identifier: GPL-2.0-or-later */
/* steps: operations for a reader who knows system calls and not assay (steps.def). */
#ifndef AS_DOSSIER_STEPS_H
#define AS_DOSSIER_STEPS_H

#include "work/op.h"

/* "fd0 = open("/a", O_RDWR | O_CREAT, 0644)": plain ASCII on one line, whatever the names are. */
void as_step_print(const struct as_op *op, struct as_buf *out);
/* "open(2)": where it is written what the calls have to do. */
const char *as_step_manual(enum as_opcode code);

#endif
