/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flash: raw flash (include/assay/flash.h) on a block device of ours, with its rules, and with
 * blocks that are bad, weak or worn.
 *
 * The setup is text, so that it can be a part of a target's name and come back with a finding:
 * words KEY=VALUE, separated by commas.
 *
 *	erase=N program=N read=N erased=N    geometry; over=1: AS_FLASH_OVERWRITE
 *	bad=B[@N][r][p][e][+B...]  block B cannot be read, programmed, erased (without a letter:
 *	                  neither programmed nor erased), from the start or after N erases
 *	cycles=N          every block fails after N erases
 *	weak=B[+B...]     reads of block B answer EUCLEAN with the right bytes, until it is erased
 *	disturb=N         ... and those of any block that was read more than N times since then
 *	rot=A[+A...]      the lowest bit of byte A reads inverted whenever A is not erased
 *	wear=N            it is a finding if a block is erased more than N times
 *	spread=N          ... or N times more than the block that is erased least
 *	show=1            how often blocks were erased is told at the end of a run
 *	tear=unit|bits|unstable|off  what a power cut leaves of a program or an erase: see flash.c
 *	cache=1           the flash has a cache: programs are stable in any order, until the end
 */
#ifndef AS_DISK_FLASH_H
#define AS_DISK_FLASH_H

#include "base/buf.h"
#include "base/err.h"

#include <assay/bd.h>
#include <assay/flash.h>
#include <stdbool.h>
#include <stdint.h>

#define AS_FLASH_SPOTS 16u

enum as_flash_tear {
	AS_FLASH_TEAR_UNIT,
	AS_FLASH_TEAR_BITS,
	AS_FLASH_TEAR_UNSTABLE,
	AS_FLASH_TEAR_OFF,
};

enum as_flash_calls { AS_FLASH_READS = 1, AS_FLASH_PROGRAMS = 2, AS_FLASH_ERASES = 4 };

/* All zeros: no flash. */
struct as_flash_setup {
	struct as_flash_geometry geometry; /* erase_bytes is not 0; size_bytes is not used */
	struct as_flash_bad {
		uint32_t block, after, calls; /* enum as_flash_calls */
	} bad[AS_FLASH_SPOTS];
	uint32_t weak[AS_FLASH_SPOTS];
	uint64_t rot[AS_FLASH_SPOTS];
	uint32_t n_bad, n_weak, n_rot;
	uint32_t cycles, wear, spread, disturb; /* 0: no limit */
	enum as_flash_tear tear;
	bool cache, show;
};

/* Reads one word, without a comma; the message of an error names it. */
AS_MUST_CHECK int as_flash_setup_word(struct as_flash_setup *setup, const char *word,
				      struct as_err *err);
/* Whether such a flash of this size can be made. */
AS_MUST_CHECK int as_flash_setup_vet(const struct as_flash_setup *setup, uint64_t size_bytes,
				     struct as_err *err);

struct as_emuflash;
struct as_wear; /* flash_wear.h */

/* `bd` has the bytes; it outlives this, and has zeros where the flash is erased. Both the setup and
 * the device must fit, which is asserted (as_flash_setup_vet()). */
struct as_emuflash *as_emuflash_new(const struct as_flash_setup *setup, struct as_bd *bd);
void as_emuflash_free(struct as_emuflash *flash); /* takes NULL */
struct as_flash *as_emuflash_seam(struct as_emuflash *flash);
/* What was there before a program or an erase is asked of this device, which has the same bytes and
 * does not fail. */
void as_emuflash_asks(struct as_emuflash *flash, struct as_bd *own);
/* From now on each program and erase is several writes, between which a power cut may come. */
void as_emuflash_tears(struct as_emuflash *flash);
/* The contents are others: what is known of erases is forgotten. */
void as_emuflash_replaced(struct as_emuflash *flash);
/* The first rule that was broken, in words; NULL: none. One that breaks more takes the place of one
 * that breaks less. */
const char *as_emuflash_misuse(const struct as_emuflash *flash);
/* 0: none (""); 1: a read that was refused; 2: a program of what is not erased; 3: all else. */
int as_flash_misuse_rank(const char *misuse);
/* How many reads gave wrong bytes or failed, as the setup says. */
uint64_t as_emuflash_hits(const struct as_emuflash *flash);
/* How often a block was erased. */
uint32_t as_emuflash_wear(const struct as_emuflash *flash, uint32_t block);
/* One line: the worst block, and how many blocks were erased how often. */
void as_emuflash_print_wear(const struct as_emuflash *flash, struct as_buf *out);
/* From now on the worst block is told here, too; NULL: nowhere. */
void as_emuflash_tells(struct as_emuflash *flash, struct as_wear *wear);

#endif
