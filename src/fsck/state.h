/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * state: what a session with a checker remembers for --resume: a text of lines "WORD VALUE".
 *
 *	assay-fsck 1
 *	checker e2fsck:ext4
 *	model bits
 *	seed 1
 *	next 4711
 *	cluster 12 fsck: twice: ...
 */
#ifndef AS_FSCK_STATE_H
#define AS_FSCK_STATE_H

#include "base/buf.h"
#include "base/err.h"
#include "fsck/found.h"

struct as_fsck_state {
	char *checker, *model;
	uint64_t seed, next;
	struct as_fsck_known known;
};

void as_fsck_state_print(const struct as_fsck_state *state, struct as_buf *out);
/* AS_EUSE: it is no such text; the message has `name` and the line. */
AS_MUST_CHECK int as_fsck_state_parse(const char *name, const char *text,
				      struct as_fsck_state *state, struct as_err *err);
void as_fsck_state_free(struct as_fsck_state *state);

#endif
