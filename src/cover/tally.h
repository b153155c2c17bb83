/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tally: the receiver that counts: a world and the counts of its calls. */
#ifndef AS_COVER_TALLY_H
#define AS_COVER_TALLY_H

#include "calls/receiver.h"
#include "cover/counts.h"

struct as_split;

struct as_tally {
	struct as_receiver to; /* what sources report to */
	struct as_counts *counts;
	struct as_split *split; /* tests apart (split.h); NULL: all together */
};

/* `counts` stay the caller's. split may be NULL. */
AS_MUST_CHECK int as_tally_open(struct as_tally *tally, const struct as_spec *spec,
				const struct as_world_options *options, struct as_counts *counts,
				struct as_split *split, struct as_err *err);
/* Also notes what the world had to forget. */
void as_tally_close(struct as_tally *tally);

#endif
