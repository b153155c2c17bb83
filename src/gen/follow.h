/* SPDX-License-Identifier: GPL-2.0-or-later */
/* follow: what a command of a walk does to its roster. */
#ifndef AS_GEN_FOLLOW_H
#define AS_GEN_FOLLOW_H

#include "gen/walk.h"

/* walk->at and walk->at2 are its absolute paths, where it has any. */
void as_gen_walk_follow(struct as_gen_walk *walk, const struct as_op *op);

#endif
