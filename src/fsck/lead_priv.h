/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lead_priv: what lead.c and lead_work.c share: messages of a worker to the leader. */
#ifndef AS_FSCK_LEAD_PRIV_H
#define AS_FSCK_LEAD_PRIV_H

#include "fsck/lead.h"

#define LEAD_SIGN_BYTES 2048

enum { LEAD_FOUND, LEAD_DONE, LEAD_FAILED };

struct lead_message {
	uint32_t kind, problem;
	uint64_t lot, damage;
	struct as_judge_counts counts; /* of this lot */
	uint64_t damaged, lossy, lost_files;
	uint64_t tallies[AS_FSCK_TALLIES];
	bool over; /* the source of this worker has nothing left */
	uint32_t bytes; /* a damage from a source follows the text (damage_put()) */
	char text[LEAD_SIGN_BYTES]; /* the signature, or what failed */
};

/* What a worker does until the leader closes its end of the socket. `told`: how many of its
 * problems the leader is through with. */
_Noreturn void as_lead_work(const struct as_fsck_args *args, int fd, unsigned number,
			    const uint64_t *told);

#endif
