/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dedup: which crash states need not be judged, because one was judged before that must be judged
 * the same. A state is known by a key; the keys of what was judged and found right are a set in
 * memory that is shared with the children forked later, so that what one of them has dealt with is
 * known to those after it. One process at a time may use it.
 */
#ifndef AS_CRASH_DEDUP_H
#define AS_CRASH_DEDUP_H

#include "base/hash.h"
#include "legal/legal.h"
#include "recording/record.h"
#include "recover/recover.h"

#include <stdbool.h>
#include <stdint.h>

/* More than this many are not kept: all further ones are new. */
#define AS_DEDUP_MAX ((uint64_t)3 << 22)

struct as_dedup;

struct as_dedup *as_dedup_new(void);
void as_dedup_free(struct as_dedup *dedup); /* takes NULL */
bool as_dedup_has(struct as_dedup *dedup, struct as_digest key);
void as_dedup_add(struct as_dedup *dedup, struct as_digest key);

/* ---- Keys ---- */

/* A crash state of a workload: the disk (by its key, see perm.h) and all that decides what is
 * allowed: the operations and answers up to the moment of the power cut. */
struct as_digest as_dedup_state(const struct as_recording *recording, struct as_digest disk,
				struct as_moment moment);
/* A crash state of a recovery by `way` that must end in `tree`. after_checker: the checker has said
 * that all is well, so more is asked of the disk. */
struct as_digest as_dedup_recrash(struct as_digest disk, enum as_way way, bool after_checker,
				  const struct as_tree *tree);
/* A tree that a disk of this workload was recovered to, and a problem by its signature. */
struct as_digest as_dedup_tree(const struct as_recording *recording, const struct as_tree *tree);
struct as_digest as_dedup_problem(const char *signature);
/* A recovery with all its crash states: what it wrote, in order, and the tree it ended in. */
struct as_digest as_dedup_twin(enum as_way way, const struct as_recovered *recovered);

#endif
