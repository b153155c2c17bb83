/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pick: what a command of a walk is about: something that is there, or a new path. */
#ifndef AS_GEN_PICK_H
#define AS_GEN_PICK_H

#include "gen/walk.h"

static inline unsigned as_gen_walk_choose(const struct as_gen_walk *w, size_t n)
{
	return as_choose(w->choice, (unsigned)n);
}

static inline bool as_gen_walk_chance(const struct as_gen_walk *w, uint64_t percent)
{
	return as_draw_chance(w->choice, percent);
}

/* An item that can be the subject, often the one used last; SIZE_MAX: there is none. */
size_t as_pick_item(struct as_gen_walk *w, enum as_subject subject);
/* Its path, or now and then one that the command is not for; NULL: there is none. */
const char *as_pick_path(struct as_gen_walk *w, enum as_subject subject);
/* Of something that was given an attribute, mostly. */
const char *as_pick_attributed(struct as_gen_walk *w);
/* What is to be given an attribute: mostly what may have any, now and then a link or a node, which
 * may have some. */
const char *as_pick_attributable(struct as_gen_walk *w, struct as_op *op);
/* Now and then gives a library numbers that need more bits than old formats have. */
void as_pick_wide(struct as_gen_walk *w, struct as_op *op);
/* A path in item i, mostly one that is free. */
const char *as_pick_new_in(struct as_gen_walk *w, size_t i, bool stray);
/* The same in any directory. */
const char *as_pick_new(struct as_gen_walk *w);

#endif
