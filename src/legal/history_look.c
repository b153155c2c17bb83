/* SPDX-License-Identifier: GPL-2.0-or-later */
/* history_look: asking a history what was when, and saying it in words. */
#include "legal/history_priv.h"
#include "work/print.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

uint32_t as_history_version_index(const struct as_history_inode *inode, uint32_t point)
{
	uint32_t lo = 0, hi = inode->n;

	if (!inode->n || inode->v[0].point > point)
		return UINT32_MAX;
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (inode->v[mid].point <= point)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

const struct as_history_version *as_history_version_at(const struct as_history *h, uint32_t ino,
						       uint32_t point)
{
	uint32_t i =
		ino < h->n_inodes ? as_history_version_index(&h->inode[ino], point) : UINT32_MAX;

	return i == UINT32_MAX ? NULL : &h->inode[ino].v[i];
}

struct edge_key {
	const struct as_history *history;
	uint32_t dir;
	const char *name;
	uint64_t hash;
};

static bool is_edge(const void *ctx, size_t index)
{
	const struct edge_key *key = ctx;
	const struct as_history_edge *edge = &key->history->edge[index];

	return edge->hash == key->hash && edge->dir == key->dir &&
	       strcmp(edge->name, key->name) == 0;
}

uint32_t as_history_edge_find(const struct as_history *h, uint32_t dir, const char *name)
{
	struct edge_key key = { h, dir, name, as_hash64(name, strlen(name)) };
	size_t at = as_table_find(&h->edges, as_history_edge_hash(dir, key.hash), is_edge, &key);

	return at == AS_TABLE_NONE ? UINT32_MAX : (uint32_t)at;
}

uint32_t as_history_edge_at(const struct as_history_edge *edge, uint32_t point)
{
	uint32_t lo = 0, hi = edge->n;

	if (!edge->n || edge->v[0].point > point)
		return 0;
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (edge->v[mid].point <= point)
			lo = mid;
		else
			hi = mid;
	}
	return edge->v[lo].ino;
}

uint32_t as_history_child_at(const struct as_history *h, uint32_t dir, const char *name,
			     uint32_t point)
{
	uint32_t edge = as_history_edge_find(h, dir, name);

	return edge == UINT32_MAX ? 0 : as_history_edge_at(&h->edge[edge], point);
}

bool as_history_there(const struct as_history *h, uint32_t ino, uint32_t point)
{
	const struct as_history_version *v = as_history_version_at(h, ino, point);

	return v && v->linked;
}

void as_history_path(const struct as_history *h, uint32_t ino, uint32_t point, struct as_buf *out)
{
	const struct as_history_version *v = as_history_version_at(h, ino, point);

	if (ino == ROOT_INO) {
		as_buf_addc(out, '/');
		return;
	}
	if (!v || !v->linked) {
		as_buf_adds(out, "a file without a name");
		return;
	}
	if (v->parent != ROOT_INO)
		as_history_path(h, v->parent, point, out);
	as_buf_addc(out, '/');
	as_buf_adds(out, v->name);
}

/* ---- Trees ---- */

static struct as_content *content_of(const struct as_history_version *v)
{
	struct as_content_maker *maker = as_content_maker_new();
	unsigned char *part = as_xmalloc(65536);
	struct as_content *content;

	for (uint64_t at = 0; at < v->size;) {
		size_t len = v->size - at < 65536 ? (size_t)(v->size - at) : 65536;

		memset(part, 0, len);
		for (uint32_t i = 0; i < v->n_runs; i++) {
			const struct as_node_run *run = &v->run[i];
			uint64_t from = run->start > at ? run->start : at;
			uint64_t to =
				run->start + run->len < at + len ? run->start + run->len : at + len;

			if (from < to)
				as_pattern_fill(run->pattern, run->from + (from - run->start),
						part + (from - at), to - from);
		}
		as_content_maker_add(maker, part, len);
		at += len;
	}
	content = as_content_maker_done(maker);
	as_content_maker_free(maker);
	free(part);
	return content;
}

static struct as_content *value_of(const struct as_history_xattr *x)
{
	unsigned char *value = as_xmalloc(x->len + 1);
	struct as_content *content;

	as_pattern_fill(x->pattern, 0, value, x->len);
	content = as_content_of_bytes(value, x->len);
	free(value);
	return content;
}

static void draw(const struct as_history *h, uint32_t point, struct as_tree_maker *maker,
		 uint32_t ino, const char *name, uint32_t parent)
{
	const struct as_history_inode *inode = &h->inode[ino];
	const struct as_history_version *v = as_history_version_at(h, ino, point);
	struct as_tree_xattr *xattr = as_xcalloc(v->n_xattrs + 1, sizeof(*xattr));
	struct as_tree_node node = {
		.name = name,
		.mode = v->mode,
		.nlink = v->nlink,
		.uid = v->uid,
		.gid = v->gid,
		.size = v->size,
		.rdev = v->rdev,
		.text = v->text,
		.xattr = xattr,
		.n_xattrs = v->n_xattrs,
	};
	uint32_t at;

	for (uint32_t i = 0; i < v->n_xattrs; i++)
		xattr[i] = (struct as_tree_xattr){ v->xattr[i].name, value_of(&v->xattr[i]) };
	if (S_ISREG(v->mode))
		node.content = content_of(v);
	if (S_ISDIR(v->mode) && (h->traits->quirks & AS_QUIRK_DIR_NLINK_ONE))
		node.nlink = 1;
	at = as_tree_maker_add(maker, parent, ino, &node);
	as_content_put(node.content);
	for (uint32_t i = 0; i < v->n_xattrs; i++)
		as_content_put(xattr[i].value);
	free(xattr);
	for (uint32_t i = 0; i < inode->n_edges; i++) {
		const struct as_history_edge *edge = &h->edge[inode->edge[i]];
		uint32_t child = as_history_edge_at(edge, point);

		if (child)
			draw(h, point, maker, child, edge->name, at);
	}
}

struct as_tree *as_history_tree_at(const struct as_history *h, uint32_t point)
{
	struct as_tree_maker *maker = as_tree_maker_new();

	draw(h, point, maker, ROOT_INO, "", AS_TREE_NONE);
	return as_tree_maker_done(maker);
}

struct as_tree *as_history_tree(const struct as_history *h, size_t n)
{
	as_assert(n < h->n_after);
	return as_history_tree_at(h, h->after[n]);
}

/* ---- Words ---- */

void as_history_op_words(const struct as_history *h, size_t op, struct as_buf *out)
{
	as_buf_addf(out, "op %zu (", h->number[op] + 1);
	as_print_op(&h->ops->ops[op], out);
	as_buf_addc(out, ')');
}

void as_history_point_words(const struct as_history *h, uint32_t point, struct as_buf *out)
{
	const struct as_history_point *at = &h->point[point];

	if (point == 0) {
		as_buf_adds(out, "the fresh file system");
		return;
	}
	as_buf_adds(out, at->call ? "the middle of " : "the state after ");
	as_history_op_words(h, at->op, out);
}
