/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * solve_record: the questions that Z3 got, in a file, so that they can be asked again: by a test,
 * in another way, or to see how long they take. It is text, a line for each thing:
 *
 *	assay questions 1
 *	table HEX			the next table, from 0 on
 *	OP WIDTH A B C IMM		the next node, from 1 on, which has these arguments
 *	ask TERM... : OFF=BYTE...	the last term is the target; the bytes are those of the path
 *
 * Numbers are decimal, except for HEX, IMM and BYTE. A node that several questions have is written
 * once.
 */
#ifndef AS_SYM_SOLVE_RECORD_H
#define AS_SYM_SOLVE_RECORD_H

#include "base/err.h"
#include "sym/expr.h"

#define AS_RECORD_FIRST_LINE "assay questions 1"

struct solve_slice;
struct solve_record;

/* The file is there when it is freed (os/out.h). The path must live as long. */
AS_MUST_CHECK int as_solve_record_new(const char *path, struct solve_record **out,
				      struct as_err *err);
/* What could not be written is left out, and those after it; the check tells. */
void as_solve_record_add(struct solve_record *record, const struct solve_slice *slice);
AS_MUST_CHECK int as_solve_record_check(const struct solve_record *record, struct as_err *err);
void as_solve_record_free(struct solve_record *record); /* takes NULL */

#endif
