/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ends: how the recoveries of a disk ended, kept for when the same disk comes up again. */
#ifndef AS_CRASH_ENDS_H
#define AS_CRASH_ENDS_H

#include "base/hash.h"
#include "base/table.h"
#include "crash/judge.h"
#include "legal/legal.h"
#include "recover/recover.h"

struct as_ended_way {
	enum as_recovery_end end;
	char *why;
	struct as_tree *tree, *counted; /* as in struct as_recovered */
	bool done;
};

struct as_ends {
	struct as_digest key; /* of the disk */
	struct as_ended_way end[AS_WAYS];
	int8_t peace; /* as_recover_at_peace(); 0: not asked, 1: yes */
};

struct as_ends_known {
	struct as_ends *item;
	size_t n, cap;
	struct as_table index; /* by key */
};

/* Those of a disk, added if they are not there. Valid until the next call. */
struct as_ends *as_ends_get(struct as_ends_known *known, struct as_digest key);
/* A mount that wrote nothing has replayed nothing: then its tree is that of the last commit, too.
 * False: it wrote something. */
bool as_ends_keep_commit(struct as_ends *ends, const struct as_recovered *mounted,
			 struct as_disk *crashed);
void as_ends_keep(struct as_ended_way *end, const struct as_recovered *recovered);
/* All ways (1 << enum as_way) must have come to the same tree (FiSC's double fsck); a checker may
 * have made /lost+found. */
bool as_ends_agree(const struct as_ends *ends, uint32_t ways, const struct as_history *history,
		   struct as_problem *problem);
void as_ends_free(struct as_ends_known *known); /* leaves it zeroed */

#endif
