/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree_bytes: a tree as bytes, and back. Numbers have 64 bits in the byte order of the machine;
 * strings and bytes have their length before them. The reader trusts nothing: every number is
 * checked before it is used.
 */
#include "snapshot/tree_priv.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAGIC UINT64_C(0x3265657274736100) /* "\0astree2" */

static void put(struct as_buf *out, uint64_t value)
{
	as_buf_add(out, &value, sizeof(value));
}

static void put_bytes(struct as_buf *out, const void *data, size_t len)
{
	put(out, len);
	as_buf_add(out, data, len);
}

static void put_content(struct as_buf *out, const struct as_content *content)
{
	put(out, content->n);
	for (uint32_t i = 0; i < content->n; i++) {
		const struct as_content_piece *piece = &content->piece[i];

		put(out, piece->kind);
		if (piece->kind == AS_PIECE_BYTES) {
			put_bytes(out, piece->bytes, piece->len);
			continue;
		}
		put(out, piece->len);
		put(out, piece->key);
	}
}

void as_tree_write(const struct as_tree *tree, struct as_buf *out)
{
	put(out, MAGIC);
	put(out, tree->n);
	put(out, tree->cut);
	for (uint32_t i = 0; i < tree->n; i++) {
		const struct as_tree_node *node = &tree->node[i];

		put(out, node->parent);
		put(out, node->twin);
		put_bytes(out, node->name, strlen(node->name));
		put(out, (uint64_t)node->mode << 32 | node->nlink);
		put(out, (uint64_t)node->uid << 32 | node->gid);
		put(out, node->size);
		put(out, node->rdev);
		put(out, (uint64_t)node->atime_ns);
		put(out, (uint64_t)node->mtime_ns);
		put(out, (uint64_t)node->ctime_ns);
		put(out, node->blocks);
		put(out, node->hidden);
		put(out, (node->text ? 1u : 0u) | (node->content ? 2u : 0u));
		if (node->text)
			put_bytes(out, node->text, strlen(node->text));
		if (node->content)
			put_content(out, node->content);
		put(out, node->n_xattrs);
		for (uint32_t k = 0; k < node->n_xattrs; k++) {
			put_bytes(out, node->xattr[k].name, strlen(node->xattr[k].name));
			put_content(out, node->xattr[k].value);
		}
	}
}

/* ---- Reading ---- */

struct tree_bytes_reader {
	const unsigned char *at, *end;
	bool bad;
	struct as_arena *names;
};

static uint64_t take(struct tree_bytes_reader *r)
{
	uint64_t value = 0;

	if (r->end - r->at < (ptrdiff_t)sizeof(value)) {
		r->bad = true;
		return 0;
	}
	memcpy(&value, r->at, sizeof(value));
	r->at += sizeof(value);
	return value;
}

/* A number that must be at most max. */
static uint64_t take_max(struct tree_bytes_reader *r, uint64_t max)
{
	uint64_t value = take(r);

	if (value > max) {
		r->bad = true;
		return 0;
	}
	return value;
}

static const unsigned char *take_bytes(struct tree_bytes_reader *r, size_t *len)
{
	const unsigned char *data;

	*len = take_max(r, (uint64_t)(r->end - r->at));
	if (*len > (size_t)(r->end - r->at)) {
		r->bad = true;
		*len = 0;
	}
	data = r->at;
	r->at += *len;
	return data;
}

static char *take_string(struct tree_bytes_reader *r)
{
	size_t len;
	const unsigned char *data = take_bytes(r, &len);

	if (memchr(data, '\0', len))
		r->bad = true;
	return as_arena_strndup(r->names, (const char *)data, len);
}

static struct as_content *take_content(struct tree_bytes_reader *r)
{
	uint64_t n = take_max(r, (uint64_t)(r->end - r->at) / 16);
	struct as_content_maker *maker = as_content_maker_new();
	struct as_content *content;
	uint64_t size = 0;

	for (uint64_t i = 0; i < n && !r->bad; i++) {
		enum as_piece_kind kind = (enum as_piece_kind)take_max(r, AS_PIECE_UNREAD);
		const unsigned char *data = NULL;
		size_t len;
		uint64_t key = 0;

		if (kind == AS_PIECE_BYTES) {
			data = take_bytes(r, &len);
		} else {
			len = take_max(r, (uint64_t)INT64_MAX - size);
			key = take(r);
		}
		if (len == 0)
			r->bad = true;
		if (!r->bad)
			as_content_maker_piece(maker, kind, key, len, data);
		size += len;
	}
	content = as_content_maker_done(maker);
	as_content_maker_free(maker);
	return content;
}

static void take_xattrs(struct tree_bytes_reader *r, struct as_tree_node *node,
			struct as_tree_xattr **xattr)
{
	uint64_t n = take_max(r, (uint64_t)(r->end - r->at) / 16);

	*xattr = as_xcalloc(n ? n : 1, sizeof(**xattr));
	node->xattr = *xattr;
	for (uint64_t i = 0; i < n && !r->bad; i++) {
		(*xattr)[i].name = take_string(r);
		(*xattr)[i].value = take_content(r);
		node->n_xattrs++;
	}
}

/* Nodes are in the order of a walk: the parent of a node comes before it, and is a directory. */
static void take_node(struct tree_bytes_reader *r, struct as_tree_maker *maker, uint32_t i,
		      uint32_t *mode_of)
{
	struct as_tree_node node = { 0 };
	struct as_tree_xattr *xattr = NULL;
	uint64_t parent = take(r), twin = take_max(r, i), word, has;

	node.name = take_string(r);
	word = take(r);
	node.mode = (uint32_t)(word >> 32);
	node.nlink = (uint32_t)word;
	word = take(r);
	node.uid = (uint32_t)(word >> 32);
	node.gid = (uint32_t)word;
	node.size = take(r);
	node.rdev = take(r);
	node.atime_ns = (int64_t)take(r);
	node.mtime_ns = (int64_t)take(r);
	node.ctime_ns = (int64_t)take(r);
	node.blocks = take(r);
	node.hidden = take(r);
	has = take_max(r, 3);
	if (has & 1)
		node.text = take_string(r);
	if (has & 2)
		node.content = take_content(r);
	take_xattrs(r, &node, &xattr);
	mode_of[i] = node.mode;
	if (i ? parent >= i || !S_ISDIR(mode_of[parent]) : parent != AS_TREE_NONE)
		r->bad = true;
	if (!!node.text != S_ISLNK(node.mode) || !!node.content != S_ISREG(node.mode) ||
	    (node.content && node.content->size != node.size))
		r->bad = true;
	if (!r->bad)
		as_tree_maker_add(maker, (uint32_t)parent, twin, &node);
	as_content_put(node.content);
	for (uint32_t k = 0; k < node.n_xattrs; k++)
		as_content_put(xattr[k].value);
	free(xattr);
}

int as_tree_read(const void *data, size_t len, struct as_tree **tree, struct as_err *err)
{
	struct as_arena names = { 0 };
	struct tree_bytes_reader r = { .at = data,
				       .end = (const unsigned char *)data + len,
				       .names = &names };
	struct as_tree_maker *maker = as_tree_maker_new();
	uint64_t magic = take(&r), n = take_max(&r, len / 64);
	uint32_t *mode_of = as_xcalloc(n + 1, sizeof(*mode_of));

	*tree = NULL;
	if (magic != MAGIC || n == 0)
		r.bad = true;
	if (take_max(&r, 1))
		as_tree_maker_cut(maker);
	for (uint64_t i = 0; i < n && !r.bad; i++)
		take_node(&r, maker, (uint32_t)i, mode_of);
	if (r.at != r.end)
		r.bad = true;
	if (r.bad)
		as_tree_maker_free(maker);
	else
		*tree = as_tree_maker_done(maker);
	as_arena_free(&names);
	free(mode_of);
	if (r.bad)
		return as_fail(err, AS_EUSE, "these bytes are no stored tree");
	return 0;
}
