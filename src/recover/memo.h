/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memo: what became of crashed disks, remembered by what recovery READ of them. A recovery that is
 * deterministic and has read certain sectors does the same on every other disk that holds the same
 * bytes there: its result is the recorded one, its disk is the other disk with the recorded writes
 * put over it.
 *
 * What counts as read is what the device was asked for. A kernel that reads ahead asks for more
 * than it needs: such an answer is as right, and found less often.
 */
#ifndef AS_RECOVER_MEMO_H
#define AS_RECOVER_MEMO_H

#include "base/buf.h"
#include "disk/cow.h"
#include "disk/log.h"

#include <stdbool.h>
#include <stdint.h>

#define AS_MEMO_LIMIT_BYTES ((uint64_t)96 << 20)

/* How what is known of other disks is used. */
enum as_memo_mode {
	AS_MEMO_ON,
	AS_MEMO_OFF,
	AS_MEMO_VERIFY, /* as ON, but a part of the answers is worked out again and compared */
};

struct as_memo;
struct as_tree;

/* What there is to remember beside the disk. Copied (the tree: referred to) by as_memo_add(). */
struct as_memo_answer {
	int end; /* whatever the caller means by it */
	bool flag; /* the same */
	size_t mark; /* the same, of entries of the log */
	const char *why; /* never NULL */
	struct as_tree *tree; /* NULL: none */
};

struct as_memo_stats {
	uint64_t asked, hits;
	uint64_t kept, evicted; /* answers */
	uint64_t refused; /* answers that could not be kept: see as_memo_add() */
	uint64_t nodes, memory_bytes;
};

/* At most limit_bytes are used (0: AS_MEMO_LIMIT_BYTES); what was not asked for longest goes
 * first. */
struct as_memo *as_memo_new(uint64_t limit_bytes);
void as_memo_free(struct as_memo *memo); /* takes NULL; before the store of the trees' disks */

/* `kind` tells recoveries apart that have nothing to do with each other: another program, other
 * options. Sizes of disks are told apart anyway. NULL: not known. The answer is valid until the
 * next as_memo_add(). */
const struct as_memo_answer *as_memo_find(struct as_memo *memo, uint32_t kind,
					  struct as_disk *disk);
/* Of the last answer found: does to `disk`, a copy of what was looked up, what that recovery did;
 * with `log`, also everything it read, and its flushes, so that a record can be kept. */
void as_memo_redo(const struct as_memo *memo, struct as_bd *disk, bool log);

/* Bytes of a disk, in whole sectors. */
struct as_sector_span {
	uint64_t off, len;
};

/* What is known of a recovery beside its reads. */
struct as_memo_hint {
	/* Was read, but cannot matter: `why` is not NULL where there is any, and is what says so:
	 * it counts as read. */
	const struct as_sector_span *unseen, *why;
	size_t n_unseen, n_why;
};

/*
 * `log` is all that the recovery did to a copy of `disk`, its reads included (without them the
 * answer would be taken for any disk); `hint` may be NULL. False: not kept, because a call failed,
 * the log is not complete, or the answer alone is larger than the limit; or because a recovery that
 * read the same asked on in too many different orders.
 */
bool as_memo_add(struct as_memo *memo, uint32_t kind, struct as_disk *disk,
		 const struct as_reclog *log, const struct as_memo_hint *hint,
		 const struct as_memo_answer *answer);

struct as_memo_stats as_memo_stats(const struct as_memo *memo);

#endif
