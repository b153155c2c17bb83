/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tree_priv: how a tree is kept. Only tree*.c include it. */
#ifndef AS_SNAPSHOT_TREE_PRIV_H
#define AS_SNAPSHOT_TREE_PRIV_H

#include "snapshot/tree.h"

struct as_tree {
	uint32_t ref, n;
	bool cut;
	struct as_digest digest, rest;
	struct as_tree_xattr *xattr;
	size_t n_xattrs;
	char *strings;
	size_t n_strings;
	struct as_quota_told *quota; /* allocated on its own; NULL: none */
	uint32_t n_quotas;
	struct as_tree_node node[]; /* then the attributes, then the strings */
};

#endif
