/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk_names: names that were met before the objects that they name, as it happens where all items
 * are in one tree (ReiserFS, btrfs).
 */
#ifndef AS_LAYOUT_WALK_WALK_NAMES_PRIV_H
#define AS_LAYOUT_WALK_WALK_NAMES_PRIV_H

#include "base/table.h"
#include "layout/walk/walk_priv.h"

struct as_walk_name {
	uint64_t object, parent;
	char *name;
	uint32_t mode; /* of the object, for who wants to keep it */
};

/* All zero is empty, but for walk and root. */
struct as_walk_names {
	struct as_disk_walk *walk;
	uint64_t root;
	struct as_walk_name *names;
	size_t n, cap;
	struct as_table by_object; /* the first name of each */
};

/* "." and ".." are left out. */
void as_walk_name_add(struct as_walk_names *names, uint64_t object, uint64_t parent,
		      const char *name, size_t len);
/* The first name of an object; NULL: it has none. */
struct as_walk_name *as_walk_name_of(struct as_walk_names *names, uint64_t object);
const char *as_walk_name_path(struct as_walk_names *names, uint64_t object);
/* Tells the walk all paths of all objects. */
void as_walk_names_tell(struct as_walk_names *names);
void as_walk_names_free(struct as_walk_names *names);

#endif
