/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sets: the ways in which a hunt makes and mounts its target. Set 0 is the target as it was
 * named. The others were drawn when the hunt began (target/draw.h) and are in its state. A job
 * takes set 0 and one of the others in turns. A set that mkfs or the kernel refuses is left
 * out.
 */
#ifndef AS_HUNT_SETS_H
#define AS_HUNT_SETS_H

#include "hunt/hunt.h"

/* The set of the workloads of a batch: it depends on the number of the job and its position
 * alone. */
size_t as_sets_at(const struct as_hunt *hunt, const struct as_hunt_state *state, unsigned job,
		  uint64_t position);
/* The size of the disk of the workloads of a batch, as run.size_bytes has it. One batch in four is
 * on a small disk, which is full now and then: only then does an operation fail half way for lack
 * of space. */
uint64_t as_sets_bytes(const struct as_hunt *hunt, uint64_t position);
/* The number of the set with this target; 0 if there is none. */
size_t as_sets_find(const struct as_hunt_state *state, const char *target);
/* Makes `hunt` one on this set, in this process. */
AS_MUST_CHECK int as_sets_use(struct as_hunt *hunt, size_t set, struct as_err *err);

#endif
