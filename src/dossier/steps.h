/* SPDX-License-Identifier: GPL-2.0-or-later */
/* steps: how an operation is done without assay (steps.def): by a program, by a script around it,
 * and as it is told to a reader who knows system calls. */
#ifndef AS_DOSSIER_STEPS_H
#define AS_DOSSIER_STEPS_H

#include "work/op.h"

/* "fd0 = open("/a", O_RDWR | O_CREAT, 0644)": plain ASCII on one line, whatever the names are. */
void as_step_print(const struct as_op *op, struct as_buf *out);

enum as_step_how { AS_STEP_CALLS, AS_STEP_WHOLE, AS_STEP_MOUNTER, AS_STEP_ASSAY };
enum as_step_how as_step_how(const struct as_op *op);
/* The section of emitted/program.c that does it; NULL: none does. */
const char *as_step_section(const struct as_op *op);
/* Why it takes assay: "a program cannot cut the power"; NULL: it does not. */
const char *as_step_needs_assay(const struct as_op *op);

/* "open(2)": where it is written what the calls have to do. */
const char *as_step_manual(enum as_opcode code);

#endif
