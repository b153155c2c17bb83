/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mutate: a tree, changed as a line of text says, to see whether the rules notice. Changes are
 * separated by ';':
 *
 *	drop PATH              with all below
 *	file PATH MODE, dir PATH MODE
 *	link PATH PATH2        a second name of the same file
 *	move PATH PATH2        PATH2 must not be there; what is below goes along
 *	mode PATH MODE, nlink PATH N, uid PATH N, rdev PATH N
 *	size PATH N            cut, or grown with zeros
 *	fill PATH OFF LEN N    bytes of pattern N, of the same place
 *	bytes PATH OFF LEN B   all the same byte
 *	xattr PATH NAME LEN N, noxattr PATH NAME
 *
 * Link counts of directories are put right again, unless nlink set them.
 */
#ifndef AS_TESTS_LIB_MUTATE_H
#define AS_TESTS_LIB_MUTATE_H

#include "base/arena.h"
#include "snapshot/tree.h"
#include "work/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MUTANT_MAX 4096

struct mutant_node {
	char *path;
	uint64_t ino;
	bool dropped, fixed_nlink;
	struct as_tree_node node;
	struct as_buf bytes;
	struct as_tree_xattr xattr[16];
};

struct mutant {
	struct mutant_node *at;
	size_t n;
};

/* The tree with all changes made; `tree` is left as it is. */
struct as_tree *t_mutate(const struct as_tree *tree, const char *how);

#endif
