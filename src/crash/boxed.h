/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boxed: crash runs in a sandbox (supervise/boxed.h). What is in flight is kept in memory that
 * outlives the guest's kernel: the state, the way, and the crashed disk itself.
 */
#ifndef AS_CRASH_BOXED_H
#define AS_CRASH_BOXED_H

#include "crash/child.h"
#include "disk/cow.h"
#include "supervise/boxed.h"

/* The shared memory of a crash run, at its place in the sandbox's state; it is emptied. */
struct as_crash_shared *as_crash_box_shared(struct as_box_state *state);

/* Keeps one disk at a time, in the memory after that. */
struct as_crash_keeper;

struct as_crash_keeper *as_crash_keeper_new(struct as_box_state *state, struct as_disk *start);
void as_crash_keeper_free(struct as_crash_keeper *keeper); /* takes NULL */
/* Keeps a disk that is about to be recovered, in place of the last one. */
void as_crash_keep(struct as_crash_keeper *keeper, struct as_disk *disk);

/* For struct as_boxed: what a crash run was doing when its kernel died. */
bool as_crash_where(const struct as_boxed *boxed, struct as_box_state *state,
		    const struct as_seq *seq, struct as_boxed_place *place);

#endif
