/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree_cwd: reads the tree below the working directory, with as few system calls as possible.
 * Thousands of small trees are read one after the other, and in a guest each call costs ten times
 * as much as elsewhere.
 */
#ifndef AS_VFS_TREE_CWD_H
#define AS_VFS_TREE_CWD_H

#include "model/compare.h"

/* ctx is NULL, or not NULL where inodes have projects. Only directories and regular files are ever
 * opened. */
extern const struct as_tree_ops as_tree_cwd_ops;

/* Makes a file in a directory of that tree and removes it again: 0 or a negative errno. */
int as_tree_cwd_probe(const char *dir);

#endif
