/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz entry of the reader of stored trees. What is accepted must be a tree that can be walked, and
 * must come out of another round trip as the same.
 */
#include "snapshot/tree.h"

#include <stdlib.h>
#include <string.h>

static void walk(const struct as_tree *tree)
{
	struct as_buf text = { 0 };

	as_tree_print(tree, &text);
	for (uint32_t i = 0; i < as_tree_len(tree); i++) {
		const struct as_tree_node *node = as_tree_at(tree, i);

		as_buf_clear(&text);
		as_tree_path(tree, i, &text);
		as_assert(node->end > i && node->end <= as_tree_len(tree));
		as_assert(node->twin <= i && as_tree_at(tree, node->twin)->names == node->names);
	}
	as_buf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct as_tree *tree = NULL, *again = NULL;
	struct as_buf bytes = { 0 };
	struct as_err err = { 0 };

	if (as_tree_read(data, len, &tree, &err))
		return 0;
	walk(tree);
	as_tree_write(tree, &bytes);
	as_assert(as_tree_read(bytes.data, bytes.len, &again, &err) == 0);
	as_assert(as_digest_eq(as_tree_digest(tree), as_tree_digest(again)));
	as_assert(!as_tree_diff(tree, "read", again, "again", NULL));
	as_tree_put(tree);
	as_tree_put(again);
	as_buf_free(&bytes);
	return 0;
}
