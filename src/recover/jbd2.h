/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jbd2: which blocks of the journal of an ext3 or ext4 a replay looks at. The kernel reads 128 KiB
 * of it ahead, whatever comes of it; but what stands behind the end of the log, and in a
 * transaction without a commit block, is never looked at, and a recovery cannot depend on it.
 */
#ifndef AS_RECOVER_JBD2_H
#define AS_RECOVER_JBD2_H

#include "disk/cow.h"
#include "recover/memo.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed or used before. */
struct as_jbd2 {
	struct as_sector_span *looked; /* what this judgement rests on: superblocks, headers */
	size_t n_looked, looked_cap;
	struct as_sector_span *unseen; /* blocks of the journal that nobody looks at */
	size_t n_unseen, unseen_cap;
	uint32_t crc_table[256];
};

/* False: nothing can be said, so all that is read may matter: no such journal, one that is damaged
 * (the kernel then has ways of its own), or one with features that are not known here. */
bool as_jbd2_look(struct as_jbd2 *jbd2, struct as_disk *disk);
void as_jbd2_free(struct as_jbd2 *jbd2); /* leaves it zeroed */

#endif
