/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memo: results of recovery steps, remembered by what the step READ. A step is deterministic: on
 * every other disk that holds the same bytes in the sectors it read, it does the same. Its result
 * is the recorded one, and its disk is that other disk with the recorded writes applied.
 *
 * What counts as read is what the device was asked for. A kernel that reads ahead asks for more
 * than it needs: such an answer is still right, but it is found less often.
 */
#ifndef AS_RECOVER_MEMO_H
#define AS_RECOVER_MEMO_H

#include "base/buf.h"
#include "disk/cow.h"
#include "disk/log.h"
#include "recover/reads.h"

#include <stdbool.h>
#include <stdint.h>

#define AS_MEMO_LIMIT_BYTES ((uint64_t)96 << 20)

/* Whether answers are taken from other disks. */
enum as_memo_mode {
	AS_MEMO_ON,
	AS_MEMO_OFF,
	AS_MEMO_VERIFY, /* as ON, but some of the steps are carried out all the same and compared */
};

struct as_memo;
struct as_tree;

/* What is remembered beside the changes of the disk. as_memo_add() copies it; of the tree it keeps
 * a reference. */
struct as_memo_answer {
	/* The memo gives these back and does not look at them. */
	int end;
	bool flag;
	size_t mark;
	const char *why; /* never NULL */
	struct as_tree *tree; /* NULL: none */
	bool told; /* by another memo: as_memo_import(). Not looked at by as_memo_add() */
};

struct as_memo_stats {
	uint64_t asked, hits;
	uint64_t kept, evicted; /* answers */
	uint64_t refused; /* answers that could not be kept: see as_memo_add() */
	uint64_t questions; /* with their values; those of several answers count once */
	uint64_t memory_bytes;
};

/* At most limit_bytes are used (0: AS_MEMO_LIMIT_BYTES); the answer that was used least recently is
 * dropped first. */
struct as_memo *as_memo_new(uint64_t limit_bytes);
void as_memo_free(struct as_memo *memo); /* takes NULL; before the store of the trees' disks */

/* The answer for a disk; NULL: not known. `kind` separates steps that have nothing to do with each
 * other (another program, other options); disks of different sizes are separate anyway. The answer
 * is valid until the next as_memo_add(). */
const struct as_memo_answer *as_memo_find(struct as_memo *memo, uint32_t kind,
					  struct as_disk *disk);
/* Does to `disk`, a copy of the disk that was looked up, what the step of the last answer did. With
 * `log` it also reads what that step read, and flushes, so that a log of `disk` is complete. */
void as_memo_redo(const struct as_memo *memo, struct as_bd *disk, bool log);

/* Adds what the step of the last answer read and wrote. */
void as_memo_reads(const struct as_memo *memo, struct as_disk_reads *reads);

/* What is known of a step beside its reads. */
struct as_memo_hint {
	/* `unseen` was read, but cannot matter; `why` are the sectors that tell so, and they count
	 * as read. */
	const struct as_sector_span *unseen, *why;
	size_t n_unseen, n_why;
};

/*
 * `log` is all that the step did to a copy of `disk`, its reads included (without them the answer
 * would be given for any disk); `hint` may be NULL. False: the answer was not kept, because a call
 * failed, the log is not complete, the answer alone is larger than the limit, or steps that read
 * the same so far went on in too many different orders.
 */
bool as_memo_add(struct as_memo *memo, uint32_t kind, struct as_disk *disk,
		 const struct as_reclog *log, const struct as_memo_hint *hint,
		 const struct as_memo_answer *answer);

/* The answer that was added last, with all that it rests on, as bytes that the memo of another
 * process can take up: what is known of a disk does not depend on who has found it out. Nothing is
 * added if there is none, or if it has a tree, which only its process has. */
void as_memo_export(const struct as_memo *memo, struct as_buf *out);
/* False: these are no such bytes, or it was known, or there is no room for it. */
bool as_memo_import(struct as_memo *memo, const void *data, size_t len);

struct as_memo_stats as_memo_stats(const struct as_memo *memo);

#endif
