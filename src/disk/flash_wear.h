/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flash_wear: how often the blocks of a flash were erased, as a histogram: of one flash, and of the
 * run in which a block was erased most, of all runs of all processes that use a target.
 */
#ifndef AS_DISK_FLASH_WEAR_H
#define AS_DISK_FLASH_WEAR_H

#include "base/buf.h"
#include "base/json.h"

#include <stdint.h>

#define AS_WEAR_STEPS 33u

struct as_wear_counts {
	uint32_t block, most; /* the block that was erased most, and how often */
	uint32_t blocks[AS_WEAR_STEPS]; /* erased 0 times, once, 2 to 3 times, 4 to 7 times ... */
};

void as_wear_count(const uint32_t *erases, uint32_t n_blocks, struct as_wear_counts *out);
/* "wear: block 5 was erased most, 15 times<where>; 1 block 0 times, 3 blocks at least 8 times" */
void as_wear_print_counts(const struct as_wear_counts *counts, const char *where,
			  struct as_buf *out);

struct as_wear; /* in shared memory */

struct as_wear *as_wear_new(void);
void as_wear_free(struct as_wear *wear); /* takes NULL */
/* A block was erased: if no block of any run was erased more often, this run is the worst. */
void as_wear_raise(struct as_wear *wear, const uint32_t *erases, uint32_t n_blocks, uint32_t block);
/* Of the worst run, when its worst block was erased last. */
void as_wear_print(const struct as_wear *wear, struct as_buf *out);
/* Members "block", "erases" and "blocks": [[0,1],[8,3]]: at least 8 times, 3 blocks. */
void as_wear_json(const struct as_wear *wear, struct as_json *json);

#endif
