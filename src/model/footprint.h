/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * footprint: how much of the disk a regular file can have taken at most.
 *
 * Method. Contents are runs of what was written, with holes between them (content.c). A hole that
 * nobody wrote to, or that was punched, cut or collapsed, needs no blocks; a file that has them all
 * the same (st_blocks) was not given free what it should be. The bound is a sum:
 *   1. the blocks that the runs touch;
 *   2. `kept`: what calls may have allocated without writing. It only grows: a punch of
 *      preallocated blocks does not lower it. UINT64_MAX: nothing is known;
 *   3. what tells where the blocks are: a few blocks for the file, a few for each run, since each
 *      may have pointer blocks or leaves of its own, and one for 16 of data.
 * Nothing is said of files with attributes or marks (mark.h), which may take or keep blocks; of
 * files that were mapped: a page fault may allocate as much as the kernel likes to; of files that a
 * call was refused for, or done in part; and of any file once a call met a full disk, or the power
 * was cut.
 */
#ifndef AS_MODEL_FOOTPRINT_H
#define AS_MODEL_FOOTPRINT_H

#include "model/state.h"

/* How many bytes the blocks have that hold data, with those from `off` on. */
uint64_t as_footprint_data(const struct as_inode *inode, uint64_t off, uint64_t len,
			   uint64_t block);
/* The range may have blocks now, whatever it holds. */
void as_footprint_keep(const struct as_model *m, struct as_inode *inode, uint64_t len);
/* `n` parts of blocks were zeroed: f2fs and btrfs may allocate the block of a hole to do so. */
void as_footprint_edges(const struct as_model *m, struct as_inode *inode, unsigned n);
/* Before the file gets longer and has something at `off`, or ends there. What was allocated after
 * its end in advance is then a part of it (xfs; with `allocsize` that can be much). */
void as_footprint_grow(const struct as_model *m, struct as_inode *inode, uint64_t off);
/* Nothing is known of this file any more. */
void as_footprint_doubt(struct as_model *m, uint32_t ino);
/* An answer that may have left blocks with files that do not hold data. */
void as_footprint_answer(struct as_model *m, const struct as_op *op, const struct as_outcome *got);

#endif
