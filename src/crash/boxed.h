/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boxed: crash runs in a sandbox (supervise/boxed.h): what is in flight is kept where it outlives
 * the kernel: the state, the way, and the crashed disk itself.
 */
#ifndef AS_CRASH_BOXED_H
#define AS_CRASH_BOXED_H

#include "crash/child.h"
#include "disk/cow.h"
#include "supervise/boxed.h"

/* In place of memory of our own. Empty. */
struct as_crash_shared *as_crash_box_shared(struct as_box_state *state);

/* Keeps disks, one at a time, behind the shared memory. */
struct as_crash_keeper;

struct as_crash_keeper *as_crash_keeper_new(struct as_box_state *state, struct as_disk *start);
void as_crash_keeper_free(struct as_crash_keeper *keeper); /* takes NULL */
/* This one is about to be recovered. */
void as_crash_keep(struct as_crash_keeper *keeper, struct as_disk *disk);

/* For struct as_boxed: where a crash run was. */
bool as_crash_where(const struct as_boxed *boxed, struct as_box_state *state,
		    const struct as_seq *seq, struct as_boxed_place *place);

#endif
