/* SPDX-License-Identifier: GPL-2.0-or-later */
/* own_priv: what own.c and own_op.c share. */
#ifndef AS_COVER_OWN_PRIV_H
#define AS_COVER_OWN_PRIV_H

#include "calls/pieces.h"
#include "cover/own.h"
#include "cover/tally.h"

struct area;

struct as_own {
	struct as_tally tally;
	struct area *area; /* shared with children */
	char *folder;
	struct as_buf file; /* its file in the folder; "": none yet */
	struct as_err *failed; /* shared with all processes: what could not be kept there */
	int64_t saved_us;
	uint32_t last; /* workload that was counted */
	/* In a child: */
	uint32_t workload;
	bool slots[AS_SLOT_MAX + 1]; /* of a library: open */
	bool told; /* of a library: the descriptors open at the start are reported */
	/* In the process that counts: */
	char text[AS_SYSCALL_ROOM];
};

/* An operation whose calls are not known. */
void as_own_hidden(struct as_own *own);

#endif
