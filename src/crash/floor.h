/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * floor: what was flushed stays. At each flush, the disk leads to some state of the history. What
 * is written later can only lead to the same one or to a later one, whatever part of it arrives.
 */
#ifndef AS_CRASH_FLOOR_H
#define AS_CRASH_FLOOR_H

#include "recover/recover.h"

#include <stddef.h>
#include <stdint.h>

struct as_floor {
	struct as_floor_step {
		size_t at;
		uint32_t point;
	} * step[AS_WAYS]; /* in the order of both numbers */
	size_t n[AS_WAYS], cap[AS_WAYS];
};

void as_floor_free(struct as_floor *floor); /* leaves it zeroed */
/* Entries 0..at-1 of the record are stable, and what is on the disk then leads to this point of the
 * history or to a later one. */
void as_floor_note(struct as_floor *floor, enum as_way way, size_t at, uint32_t point);
/* The point that a disk on which entries 0..stable-1 are stable must lead to at least; 0: any. */
uint32_t as_floor_at(const struct as_floor *floor, enum as_way way, size_t stable);

#endif
