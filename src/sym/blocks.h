/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * blocks: which pieces of a checker's code were reached, by all processes of a session: pieces of
 * the checker and its libraries, and bytes of the checker's own code, of which a share can be told.
 */
#ifndef AS_SYM_BLOCKS_H
#define AS_SYM_BLOCKS_H

#include "sym/path.h"

#define AS_BLOCKS_BITS ((size_t)1 << 20)
#define AS_BLOCKS_OWN_BITS ((size_t)1 << 23)

/* In memory that is shared; all zero: nothing was reached. */
struct as_blocks {
	unsigned char seen[AS_BLOCKS_BITS / 8]; /* by hash */
	unsigned char own[AS_BLOCKS_OWN_BITS / 8]; /* by offset in the code of the program */
	uint64_t n; /* pieces */
	uint64_t own_bytes, text_bytes; /* reached, of so many */
};

/* The name of a program as a number: that of its file, without the folders. */
uint64_t as_blocks_program(const char *path);

/* Notes a piece. True: it is new. */
bool as_blocks_add(struct as_blocks *blocks, const struct as_path_cover *piece, uint64_t program);
/* Per cent of the program's own code. */
double as_blocks_share(const struct as_blocks *blocks);

#endif
