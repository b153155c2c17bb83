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

struct solve_slice;
struct solve_record;

/* Makes the file, or makes it empty. */
AS_MUST_CHECK int as_solve_record_new(const char *path, struct solve_record **out,
				      struct as_err *err);
/* What could not be written is left out, and those after it. */
void as_solve_record_add(struct solve_record *record, const struct solve_slice *slice);
void as_solve_record_free(struct solve_record *record); /* takes NULL */

/* What a file has. */
struct solve_recorded {
	struct as_expr *expr; /* of all questions; nothing is simplified again */
	struct solve_recorded_ask {
		uint32_t *terms; /* the last one is the target */
		size_t n, cap;
		unsigned char *bytes; /* of the path, one for each input that there was by then */
		uint32_t n_bytes;
	} * asks;
	size_t n, cap;
};

/* AS_EIO: it is none, or not all of one; the message has the line. */
AS_MUST_CHECK int as_solve_recorded_read(const char *text, size_t len, struct solve_recorded *out,
					 struct as_err *err);
void as_solve_recorded_free(struct solve_recorded *recorded);

#endif
