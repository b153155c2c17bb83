/* SPDX-License-Identifier: GPL-2.0-or-later */
/* follow: what a command of a walk does to its roster, and bursts, which go by that. */
#ifndef AS_GEN_FOLLOW_H
#define AS_GEN_FOLLOW_H

#include "gen/walk.h"

/* walk->at and walk->at2 are its absolute paths, where it has any. */
void as_gen_walk_follow(struct as_gen_walk *walk, const struct as_op *op);

/* A directory is filled, drained, or both: many commands, each followed before the next. */
void as_gen_burst(struct as_gen_walk *w);
/* walk.c: an operation with its arguments, a path as one of them, and the operation appended. */
struct as_op as_gen_walk_begin(struct as_gen_walk *w, enum as_opcode code);
const char *as_gen_walk_spell(const struct as_gen_walk *w, const char *path);
void as_gen_walk_emit(struct as_gen_walk *w, const struct as_op *op);

#endif
