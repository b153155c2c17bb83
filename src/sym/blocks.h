/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * blocks: which basic blocks of a checker the damaged disks reach, counted by the Valgrind tool:
 * the checker need not be built for it. Blocks of the program and of its libraries count, those of
 * the C library do not.
 */
#ifndef AS_SYM_BLOCKS_H
#define AS_SYM_BLOCKS_H

#include "fsck/cover.h"

extern const struct as_fsck_cover_row as_sym_blocks_row;

#endif
