/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * defuse: which operations of a workload depend on which: what an operation uses (a path, a slot,
 * the working directory) some earlier one has defined. Dogfood, section 5: when a definition is
 * removed, what depends on it is removed, too.
 *
 * The analysis reads names and runs nothing: it takes every operation to succeed and does not
 * follow links. So a caller that removes operations still has to run what is left.
 */
#ifndef AS_WORK_DEFUSE_H
#define AS_WORK_DEFUSE_H

#include "work/seq.h"

struct as_defuse;

/* The workload must outlive it. */
struct as_defuse *as_defuse_new(const struct as_seq *seq);
void as_defuse_free(struct as_defuse *du); /* takes NULL */

/* Clears kept[i] of every operation that uses what was there at that point of the whole workload
 * and is not there with what is kept. Returns how many operations are left. */
size_t as_defuse_close(struct as_defuse *du, bool *kept);

/* Sets kept[] to one operation and all it depends on. wide: also whatever dealt with the same files
 * before it, and what that depends on. Returns how many they are. */
size_t as_defuse_slice(struct as_defuse *du, size_t op, bool wide, bool *kept);

/* The operations that `op` depends on directly, ascending, each once. */
const size_t *as_defuse_of(const struct as_defuse *du, size_t op, size_t *n);

#endif
