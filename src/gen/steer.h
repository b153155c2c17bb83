/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steer: commands of a walk that are chosen by the state. The walk has the model follow it. For a
 * steered command some types are drawn, and of each one command for every typical inode, with the
 * second end typical as well (build.c). Of all these the walk takes one of a kind that was done
 * least so far.
 */
#ifndef AS_GEN_STEER_H
#define AS_GEN_STEER_H

#include "gen/view.h"

struct as_steer;

/* weight: of each command while the tree shrinks [0] and while it grows [1]. */
struct as_steer *as_steer_new(const uint32_t weight[2][AS_OP_COUNT]);
void as_steer_free(struct as_steer *steer); /* takes NULL */
/* A new workload begins. */
void as_steer_begin(struct as_steer *steer);
/* The walk has done this. */
void as_steer_follow(struct as_steer *steer, const struct as_op *op);
/* The command to do next, its arguments drawn if fill is set, and the state after it; NULL: none
 * was found. Its paths are absolute and good until the view looks again. */
struct as_model *as_steer_pick(struct as_steer *steer, struct as_gen_view *view,
			       const struct as_model *model, bool growing, bool fill,
			       struct as_op *op);

#endif
