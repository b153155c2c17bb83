/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recorded: what `assay fsck CHECKER --symbolic --questions FILE` wrote (sym/solve_record.h), to be
 * asked again. */
#ifndef AS_TESTS_LIB_RECORDED_H
#define AS_TESTS_LIB_RECORDED_H

#include "base/err.h"
#include "sym/expr.h"

/* What a file has. */
struct t_recorded {
	struct as_expr *expr; /* of all questions; nothing is simplified again */
	struct t_recorded_ask {
		uint32_t *terms; /* the last one is the target */
		size_t n, cap;
		unsigned char *bytes; /* of the path, one for each input that there was by then */
		uint32_t n_bytes;
	} * asks;
	size_t n, cap;
};

/* AS_EIO: it is none, or not all of one; the message has the line. */
AS_MUST_CHECK int t_recorded_read(const char *text, size_t len, struct t_recorded *out,
				  struct as_err *err);
void t_recorded_free(struct t_recorded *recorded);

#endif
