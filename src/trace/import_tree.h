/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * import_tree: which names of the imported tree were there before the log began. Something that is
 * found there and that nothing in the log has made must have been there at the start: a folder or
 * an empty file is made for it before everything else.
 */
#ifndef AS_TRACE_IMPORT_TREE_H
#define AS_TRACE_IMPORT_TREE_H

#include "base/table.h"
#include "trace/import_priv.h"

struct as_import_name;

struct as_import_tree {
	struct as_importing *x;
	struct as_buf root; /* without a slash at its end: "" is all of the machine */
	struct as_import_name **names; /* in the order in which they came */
	size_t n, cap;
	struct as_table table; /* of the names, by path */
	struct as_seq *first; /* the operations that make the names that were there at the start */
};

/* root: absolute, as as_world_plain_path gives it. */
void as_import_tree_open(struct as_import_tree *tree, struct as_importing *x, const char *root);
void as_import_tree_close(struct as_import_tree *tree);

/* An absolute path of the machine as one of the tree; NULL: it is outside. It lives until the next
 * line. */
const char *as_import_tree_path(const struct as_import_tree *tree, const struct as_buf *absolute);

/* Something was found at this path of the tree (or in its folder). */
void as_import_tree_needs(struct as_import_tree *tree, const char *path, bool folder);
void as_import_tree_needs_folder_of(struct as_import_tree *tree, const char *path);
/* What the log does to names. */
void as_import_tree_made(struct as_import_tree *tree, const char *path);
void as_import_tree_gone(struct as_import_tree *tree, const char *path);
void as_import_tree_renamed(struct as_import_tree *tree, const char *from, const char *to);

#endif
