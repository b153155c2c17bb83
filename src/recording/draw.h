/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * draw: which writes of a workload are held while it is recorded, and what is written early. What
 * fails is drawn by run/draw.h; record.c says what follows from it.
 */
#ifndef AS_RECORDING_DRAW_H
#define AS_RECORDING_DRAW_H

#include "cuts/share.h"
#include "run/draw.h"
#include "work/seq.h"

#include <stdint.h>

/* How the disk's queue and the caches are to behave while the workload runs, and in how many rounds
 * it does (crash.h), by the chances of a share: at first, one workload in AS_DRAW_EVERY has writes
 * that are held, one in as many, perhaps the same, has early ones, and one in as many has two
 * rounds. */
struct as_drawn_queue {
	unsigned hold;
	uint64_t early;
	unsigned rounds;
};
struct as_drawn_queue as_draw_queue(const struct as_seq *seq, uint64_t seed,
				    struct as_share_chances chances);

#endif
