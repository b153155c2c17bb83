/* SPDX-License-Identifier: GPL-2.0-or-later */
/* object_priv: what legal_object.c and object_fit.c share. Only files of this room include it. */
#ifndef AS_LEGAL_OBJECT_PRIV_H
#define AS_LEGAL_OBJECT_PRIV_H

#include "legal/legal_priv.h"

/* A tree while its nodes are recognised. j->ino holds the inodes of its directories. */
struct as_object {
	struct as_legal_judge *j;
	uint32_t *next_name; /* by node: the next name of the same inode; AS_TREE_NONE: none */
	uint32_t *dir, *file; /* nodes: directories; all others, by the first of their names */
	uint32_t n_dirs, n_files;
	bool *must; /* by inode: it has to be in the tree */
	bool *taken; /* by inode: a directory of the tree is taken for it */
	uint32_t tries; /* directories that were taken for an inode so far */
	uint32_t told; /* how far the attempt came that the verdict tells of; 0: it tells nothing */
};

/* ---- object_fit.c ---- */

/* Where a name of the tree can have led since it was stable. */
struct as_object_name {
	const struct as_history_edge *edge; /* NULL: no operation ever gave this name */
	uint32_t since;
};

/* Both need the inode of the directory that the node is in. */
struct as_object_name as_object_name_of(const struct as_object *o, uint32_t node);
/* Whether the i-th target of the name can be the node: it fits, with all its names. A target that a
 * later one repeats is left out. */
bool as_object_fits(const struct as_object *o, const struct as_object_name *name, uint32_t i,
		    uint32_t node);
/* A name that leads to the same inode ever since it was stable, and that this directory of the tree
 * has not; NULL: there is none. ino: only names of this inode; 0: of all. */
const struct as_history_edge *as_object_missing_name(const struct as_object *o, uint32_t dir_node,
						     uint32_t ino,
						     const struct as_history_promise **by);
bool as_object_root_fits(const struct as_object *o);

/* ---- They say what is wrong ---- */

void as_object_say_root(const struct as_object *o);
/* No inode can be this node. */
void as_object_say_node(const struct as_object *o, uint32_t node);
/* Each inode that can be this node is needed for another one. */
void as_object_say_taken(const struct as_object *o, uint32_t node);
void as_object_say_missing(const struct as_object *o, uint32_t ino);
void as_object_say_no_name(const struct as_object *o, uint32_t dir_node,
			   const struct as_history_edge *edge, const struct as_history_promise *by);

#endif
