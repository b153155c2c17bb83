/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * alone: which of two damaged fields a problem is due to (--fields 2). If one of them shows it
 * alone, with the same words, the problem belongs to the cluster of that field: otherwise each
 * field that it can be paired with would make a cluster of its own.
 */
#ifndef AS_FSCK_ALONE_H
#define AS_FSCK_ALONE_H

#include "fsck/corrupt.h"

struct as_alone;

struct as_alone *as_alone_new(void);
void as_alone_free(struct as_alone *alone); /* takes NULL */

/* The cluster that a signature belongs to, as far as it was found out: it may be the same text. */
const char *as_alone_name(const struct as_alone *alone, const char *signature);

struct as_alone_case {
	struct as_judge *judge;
	struct as_fsck_base *bases;
	struct as_corrupt *corrupt;
	uint64_t lot, nth; /* damage */
	enum as_fsck_problem problem;
	const char *signature;
};

/* Finds it out. If one field is enough, *found has that damage alone; otherwise it stays as it is.
 * Nothing is done for damages of one field. */
AS_MUST_CHECK int as_alone_try(struct as_alone *alone, const struct as_alone_case *c,
			       struct as_corrupt_lot *found, struct as_err *err);

#endif
