/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tree: see tree.h. */
#include "gen/tree.h"

#include <stdlib.h>
#include <string.h>

struct as_gnode *as_gnode_new(struct as_gnode *parent, const struct as_op *op,
			      struct as_model *model)
{
	size_t len = op && op->path ? strlen(op->path) + 1 : 1;
	size_t len2 = op && op->path2 ? strlen(op->path2) + 1 : 0;
	struct as_gnode *node = as_xmalloc(sizeof(*node) + len + len2);

	as_assert(len <= UINT16_MAX);
	*node = (struct as_gnode){ .parent = parent, .model = model, .ref = 1 };
	node->text[0] = '\0';
	if (!op)
		return node;
	parent->ref++;
	node->length = parent->length + 1;
	node->code = (uint8_t)op->code;
	node->slot = op->slot;
	node->fd = op->fd;
	if (op->path)
		memcpy(node->text, op->path, len);
	if (op->path2) {
		node->path2 = (uint16_t)len;
		memcpy(node->text + len, op->path2, len2);
	}
	return node;
}

void as_gnode_put(struct as_gnode *node)
{
	if (!node)
		return;
	if (node->parent) {
		as_model_free(node->model);
		node->model = NULL;
	}
	/* An ancestor that is still queued keeps its state: the queue counts, too. */
	while (node && --node->ref == 0) {
		struct as_gnode *parent = node->parent;

		as_model_free(node->model);
		free(node);
		node = parent;
	}
}

static struct as_op op_of(const struct as_gnode *node, const struct as_gen_view *view)
{
	struct as_op op = view->plain[node->code];

	op.slot = node->slot;
	op.fd = node->fd;
	op.path = node->text[0] ? node->text : NULL;
	op.path2 = node->path2 ? node->text + node->path2 : NULL;
	return op;
}

/* The nodes from `top` (not it itself) down to node; free() it. */
static const struct as_gnode **way_down(const struct as_gnode *top, const struct as_gnode *node,
					size_t *n)
{
	const struct as_gnode **way;

	*n = node->length - top->length;
	way = as_xmalloc((*n + 1) * sizeof(*way));
	for (size_t i = *n; i > 0; i--, node = node->parent)
		way[i - 1] = node;
	return way;
}

struct as_model *as_gnode_model(struct as_gnode *node, const struct as_gen_view *view)
{
	const struct as_gnode *top = node, **way;
	size_t n;

	if (node->model)
		return node->model;
	/* The root keeps its state while anything hangs on it. */
	while (!top->model)
		top = top->parent;
	way = way_down(top, node, &n);
	node->model = as_model_copy(top->model);
	for (size_t i = 0; i < n; i++) {
		struct as_op op = op_of(way[i], view);
		int err = as_model_apply(node->model, &op);

		as_assert(err == 0);
	}
	free(way);
	return node->model;
}

struct as_seq *as_gnode_seq(const struct as_gnode *node, const struct as_gen_view *view)
{
	struct as_seq *seq = as_seq_new();
	const struct as_gnode *root = node, **way;
	size_t n;

	while (root->parent)
		root = root->parent;
	way = way_down(root, node, &n);
	for (size_t i = 0; i < n; i++) {
		struct as_op op = op_of(way[i], view);

		as_seq_add(seq, &op);
	}
	free(way);
	return seq;
}
