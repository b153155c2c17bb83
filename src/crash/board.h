/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * board: where the workers of a check post what they have found out, so that no other worker finds
 * it out again. It is a ring in memory that processes share: what is new takes the place of what is
 * oldest. Who reads too late has missed something, and that costs time only.
 */
#ifndef AS_CRASH_BOARD_H
#define AS_CRASH_BOARD_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define AS_BOARD_BYTES ((uint64_t)64 << 20)

struct as_board;

struct as_board *as_board_new(void);
void as_board_free(struct as_board *board); /* takes NULL */

/* What is larger than a quarter of the board is not posted. */
void as_board_post(struct as_board *board, const void *data, size_t len);
/* The next notice that another process has posted, from *at on, which begins with 0; false: there
 * is none. *at becomes the place after it. */
bool as_board_next(struct as_board *board, uint64_t *at, struct as_buf *notice);

#endif
