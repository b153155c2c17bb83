/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cover: coverage of any checker, as a row of fsck/cover.h: the Valgrind tool runs it on each disk,
 * with no byte unknown. The checker need not be built for it.
 */
#ifndef AS_SYM_COVER_H
#define AS_SYM_COVER_H

#include "fsck/cover.h"

extern const struct as_fsck_cover_row as_sym_cover_row;

/* What as_fsck_cover.own is for the row; all processes that are forked later share its counts. */
void *as_sym_cover_new(void);
void as_sym_cover_free(void *own); /* takes NULL */

#endif
