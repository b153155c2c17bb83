/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * draw: which calls fail while a workload runs.
 * In a sweep each call of a kind fails once: the first, then the second, and so on, until a run
 * ends in which nothing failed. A hunt draws: one workload in so many meets one fault or two. The
 * same workload and seed always meet the same.
 */
#ifndef AS_RUN_DRAW_H
#define AS_RUN_DRAW_H

#include "base/buf.h"
#include "target/target.h"
#include "work/seq.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AS_DRAW_EVERY 4u
#define AS_DRAW_MAX 2u
#define AS_DRAW_TEXT_MAX 80 /* of a plan */

/* What can fail besides reads. */
enum as_draw_what {
	AS_DRAW_MEMORY = 1, /* allocations */
	AS_DRAW_FLUSH = 2,
	AS_DRAW_ERASE = 4, /* of flash; of a block device, zeroing */
	AS_DRAW_WRITE = 8,
};

struct as_drawn {
	unsigned n; /* 0: nothing fails */
	char rule[AS_DRAW_MAX][32];
};

/* A mask of enum as_draw_what. */
unsigned as_draw_what(const struct as_target *target);
/* For one workload in one_in. */
struct as_drawn as_draw(const struct as_seq *seq, uint64_t seed, unsigned one_in, unsigned what);
/* The plan of one write or flush that fails, out of this many; false: there are none. */
bool as_draw_among(const struct as_seq *seq, uint64_t seed, uint64_t writes, uint64_t flushes,
		   char text[AS_DRAW_TEXT_MAX]);
/* The plan (host/medium.h) of those rules whose bits are set. */
void as_draw_plan(const struct as_drawn *drawn, unsigned rules, char text[AS_DRAW_TEXT_MAX]);
/* The kinds of a sweep, from 0 on; false: there are no more. nth: from 1. */
bool as_draw_sweep(unsigned kind, uint64_t nth, unsigned what, char text[AS_DRAW_TEXT_MAX]);

/* The same faults at earlier calls: a workload that was made shorter makes fewer of them before the
 * one that has to fail. step: from 0 on, nearest first; false: there are no more. */
bool as_draw_near(const char *plan, uint64_t step, struct as_buf *out);

#endif
