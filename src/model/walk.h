/* SPDX-License-Identifier: GPL-2.0-or-later */
/* walk: path resolution in the model, as Linux's fs/namei.c does it. */
#ifndef AS_MODEL_WALK_H
#define AS_MODEL_WALK_H

#include "model/state.h"

/* What the last component is; anything but a name cannot be created, removed or renamed. */
enum as_walk_last { LAST_NAME, LAST_ROOT, LAST_DOT, LAST_DOTDOT };

struct as_walk {
	int err; /* 0, or why the walk ended */
	uint32_t parent; /* directory that holds the last component */
	const char *last;
	size_t last_len;
	enum as_walk_last type;
	bool slash; /* the path ends with '/' */
	uint32_t ino; /* what the path names (as_walk_path); 0: nothing */
};

enum as_walk_how { WALK_PARENT, WALK_NOFOLLOW, WALK_FOLLOW };

/*
 * A path that begins with WALK_PIN and the number of an open slot from WALK_PIN_SLOT on (which no
 * workload can have) begins at what that slot holds, as /proc/self/fd/N does: a slash and more, or
 * the slot's inode itself. race/linear_call.c takes calls apart with it.
 */
#define WALK_PIN '\1'
#define WALK_PIN_SLOT (AS_SLOT_MAX + 1)

/* Resolves from the working directory. WALK_PARENT leaves the last component alone. */
struct as_walk as_walk_path(const struct as_model *m, const char *path, enum as_walk_how how);
/* The same, from a directory and with a count of the links followed so far. */
struct as_walk as_walk_from(const struct as_model *m, uint32_t dir, const char *path,
			    enum as_walk_how how, unsigned *links);
/* Looks the last component of a WALK_PARENT result up without following: sets ino (0: not there)
 * and err (ENOENT in a removed directory, ENAMETOOLONG). */
void as_walk_last(const struct as_model *m, struct as_walk *w);
/* True if dir is above or is the same as ino. */
bool as_walk_is_above(const struct as_model *m, uint32_t dir, uint32_t ino);

/* Whether this can be the mode of what was found: set-id bits may be unsure. */
bool as_node_mode_is(const struct as_inode *inode, uint32_t mode);

#endif
