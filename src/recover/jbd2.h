/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jbd2: which blocks of the journal of an ext3 or ext4 a replay looks at. The kernel always reads
 * 128 KiB of the journal ahead. But it never looks at what stands after the end of the log, nor at
 * a transaction without a commit block, so a recovery cannot depend on those blocks.
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
	struct as_sector_span *looked; /* what tells which blocks matter: superblocks, headers */
	size_t n_looked, looked_cap;
	struct as_sector_span *unseen; /* blocks of the journal that a replay does not look at */
	size_t n_unseen, unseen_cap;
	/* What a replay reads ahead when it begins; n_ahead 0: there is nothing to replay. It is
	 * set also if nothing else is known. */
	struct as_sector_span *ahead;
	size_t n_ahead, ahead_cap;
};

/* journal_bytes: the last bytes are a disk of the journal alone (target/apart.h); 0: they are not.
 * False: nothing is known, so all that is read may matter. There is no such journal, it is damaged
 * (then the kernel decides by other rules), or it has features that are not known here. */
bool as_jbd2_look(struct as_jbd2 *jbd2, struct as_disk *disk, uint64_t journal_bytes);
void as_jbd2_free(struct as_jbd2 *jbd2); /* leaves it zeroed */

#endif
