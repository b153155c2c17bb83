/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * draw: which faults a workload meets while it is recorded (record.c says what follows from them),
 * which writes of it are held, and what is written early.
 * In a sweep each call of a kind fails once: the first, then the second, and so on, until a run
 * ends in which nothing failed. A hunt draws: one workload in AS_DRAW_EVERY meets one fault or two.
 * The same workload and seed always meet the same.
 */
#ifndef AS_CRASH_DRAW_H
#define AS_CRASH_DRAW_H

#include "crash/share.h"
#include "work/seq.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AS_DRAW_EVERY 4u
#define AS_DRAW_MAX 2u
#define AS_DRAW_TEXT_MAX 80 /* of a plan */

struct as_drawn {
	unsigned n; /* 0: nothing fails */
	char rule[AS_DRAW_MAX][32];
};

/* memory: allocations can fail. */
struct as_drawn as_draw(const struct as_seq *seq, uint64_t seed, bool memory);
/* The plan (target/medium.h) of those rules whose bits are set. */
void as_draw_plan(const struct as_drawn *drawn, unsigned rules, char text[AS_DRAW_TEXT_MAX]);

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

/* The kinds of a sweep, from 0 on; false: there are no more. nth: from 1. */
bool as_draw_sweep(unsigned kind, uint64_t nth, bool memory, char text[AS_DRAW_TEXT_MAX]);

#endif
