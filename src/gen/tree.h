/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree: workloads that share their beginnings. A node is one command more than its parent; it is
 * counted by its children and by whoever holds it. Most nodes never get their turn, so a node has
 * its state only once somebody asked for it: it is made from that of the nearest ancestor that has
 * one.
 */
#ifndef AS_GEN_TREE_H
#define AS_GEN_TREE_H

#include "gen/view.h"
#include "work/seq.h"

struct as_gnode {
	struct as_gnode *parent;
	struct as_model *model; /* the state it leads to, or NULL */
	uint32_t ref, length;
	int32_t slot, fd; /* of the command */
	uint8_t code;
	bool given; /* handed out already */
	uint16_t path2; /* where the second path starts; 0: there is none */
	char text[]; /* path NUL path2 NUL */
};

struct as_gnode *as_gnode_new(struct as_gnode *parent, const struct as_op *op,
			      struct as_model *model);
/* The state it leads to, which stays the node's. The root has one from the start. */
struct as_model *as_gnode_model(struct as_gnode *node, const struct as_gen_view *view);
/* Lets go of the node and the state it holds. */
void as_gnode_put(struct as_gnode *node);
/* The commands from the root to the node, with plain arguments. */
struct as_seq *as_gnode_seq(const struct as_gnode *node, const struct as_gen_view *view);

#endif
