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
	as_model_free(node->model);
	node->model = NULL;
	/* An ancestor that is still queued keeps its state: the queue counts, too. */
	while (node && --node->ref == 0) {
		struct as_gnode *parent = node->parent;

		as_model_free(node->model);
		free(node);
		node = parent;
	}
}

static void add_ops(const struct as_gnode *node, const struct as_view *view, struct as_seq *seq)
{
	const struct as_gnode **path;
	uint32_t n = node->length;

	path = as_xmalloc((n + 1) * sizeof(*path));
	for (uint32_t i = n; i > 0; i--, node = node->parent)
		path[i - 1] = node;
	for (uint32_t i = 0; i < n; i++) {
		struct as_op op = view->plain[path[i]->code];

		op.slot = path[i]->slot;
		op.fd = path[i]->fd;
		op.path = path[i]->text[0] ? path[i]->text : NULL;
		op.path2 = path[i]->path2 ? path[i]->text + path[i]->path2 : NULL;
		as_seq_add(seq, &op);
	}
	free(path);
}

struct as_seq *as_gnode_seq(const struct as_gnode *node, const struct as_view *view)
{
	struct as_seq *seq = as_seq_new();

	add_ops(node, view, seq);
	return seq;
}
