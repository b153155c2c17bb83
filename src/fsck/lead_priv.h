/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lead_priv: what the leader (lead.c) and its workers (lead_work.c) tell each other. */
#ifndef AS_FSCK_LEAD_PRIV_H
#define AS_FSCK_LEAD_PRIV_H

#include "fsck/lead.h"

#define SIGN_BYTES 2048

enum { MSG_FOUND, MSG_DONE, MSG_FAILED };

struct lead_message {
	uint32_t kind, problem;
	uint64_t lot, damage;
	struct as_judge_counts counts; /* of this lot */
	uint64_t damaged, lossy, lost_files;
	uint64_t tallies[AS_FSCK_TALLIES];
	bool over; /* the source of this worker has nothing left */
	uint32_t bytes; /* a damage from a source follows the text (damage_put()) */
	char text[SIGN_BYTES]; /* the signature, or what failed */
};

/* A worker: it takes numbers of lots from the socket until that is closed. */
_Noreturn void as_fsck_lead_work(const struct as_fsck_args *args, int fd, unsigned number);

#endif
