/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lab_verify: what a sound labfs image must be, said a second time and without repair: walks
 * the tree from the root, checks every rule of format.h on the way, and lists what it saw, so that
 * two images can be compared by the names, attributes and contents of their files.
 */
#ifndef AS_TESTS_LIB_LAB_VERIFY_H
#define AS_TESTS_LIB_LAB_VERIFY_H

#include "tests/lib/lab_build.h"

#define TREE_MAX 1024
#define TREE_PATH 512

struct tree_entry {
	char path[TREE_PATH];
	char what[96]; /* type, mode, owner, size, checksums of contents and attributes */
};

struct tree {
	struct tree_entry entry[TREE_MAX];
	unsigned count;
	const char *wrong; /* the first rule that is broken, NULL = none */
	uint32_t wrong_at; /* inode or block */
	uint8_t *used; /* by block */
	uint32_t *links; /* by inode */
	unsigned *first; /* by inode: which entry met it first */
	uint32_t *list; /* data blocks of the inode at hand; else all zero */
};

int t_tree_order(const void *a, const void *b);

/* The image must have a sound geometry. tree->wrong says what is wrong with the rest. */
void t_tree_walk(struct tree *tree, const struct img *img);

#endif
