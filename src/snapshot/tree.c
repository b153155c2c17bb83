/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree: see tree.h. One block of memory holds the nodes in the order of a walk, then all
 * attributes, then all strings; contents are counted objects of their own.
 */
#include "snapshot/tree_priv.h"

#include "base/array.h"
#include "base/table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Making ---- */

struct raw {
	struct as_tree_node node; /* name and text: offsets into strings; xattr: the first one */
	uint64_t ino;
	size_t name, text, first_xattr;
};

struct raw_xattr {
	size_t name; /* an offset */
	struct as_content *value;
};

struct as_tree_maker {
	struct raw *raw;
	uint32_t n;
	size_t cap;
	struct raw_xattr *xattr;
	size_t n_xattrs, cap_xattrs;
	struct as_buf strings;
	struct as_quota_told *quota;
	uint32_t n_quotas;
	bool cut;
};

struct as_tree_maker *as_tree_maker_new(void)
{
	return as_xcalloc(1, sizeof(struct as_tree_maker));
}

void as_tree_maker_free(struct as_tree_maker *maker)
{
	if (!maker)
		return;
	for (uint32_t i = 0; i < maker->n; i++)
		as_content_put(maker->raw[i].node.content);
	for (size_t i = 0; i < maker->n_xattrs; i++)
		as_content_put(maker->xattr[i].value);
	free(maker->quota);
	free(maker->raw);
	free(maker->xattr);
	as_buf_free(&maker->strings);
	free(maker);
}

static size_t keep_string(struct as_tree_maker *maker, const char *s)
{
	size_t at = maker->strings.len;

	as_buf_add(&maker->strings, s, strlen(s) + 1);
	return at;
}

static void keep_xattr(struct as_tree_maker *maker, const struct as_tree_xattr *xattr)
{
	AS_ARRAY_ROOM(maker->xattr, maker->n_xattrs, maker->cap_xattrs);
	maker->xattr[maker->n_xattrs++] = (struct raw_xattr){
		.name = keep_string(maker, xattr->name),
		.value = as_content_get(xattr->value),
	};
}

uint32_t as_tree_maker_add(struct as_tree_maker *maker, uint32_t parent, uint64_t ino,
			   const struct as_tree_node *node)
{
	struct raw *raw;

	as_assert(parent == AS_TREE_NONE ? maker->n == 0 : parent < maker->n);
	AS_ARRAY_ROOM(maker->raw, maker->n, maker->cap);
	raw = &maker->raw[maker->n];
	raw->node = *node;
	raw->node.parent = parent;
	raw->ino = ino;
	raw->name = keep_string(maker, node->name ? node->name : "");
	raw->text = node->text ? keep_string(maker, node->text) : 0;
	raw->first_xattr = maker->n_xattrs;
	for (uint32_t i = 0; i < node->n_xattrs; i++)
		keep_xattr(maker, &node->xattr[i]);
	if (node->content)
		as_content_get(node->content);
	return maker->n++;
}

void as_tree_maker_cut(struct as_tree_maker *maker)
{
	maker->cut = true;
}

void as_tree_maker_quotas(struct as_tree_maker *maker, const struct as_quota_told *quota,
			  uint32_t n)
{
	free(maker->quota);
	maker->quota = n ? as_xmalloc(n * sizeof(*quota)) : NULL;
	maker->n_quotas = n;
	if (n)
		memcpy(maker->quota, quota, n * sizeof(*quota));
}

/* Children of all nodes, one directory after the other, sorted by name. */
struct order {
	const struct as_tree_maker *maker;
	uint32_t *child; /* numbers of raw nodes */
	uint32_t *first; /* of directory i: child[first[i]] .. child[first[i + 1] - 1] */
};

static int by_name(const void *a, const void *b, void *ctx)
{
	const struct as_tree_maker *maker = ctx;
	const char *strings = maker->strings.data;

	return strcmp(strings + maker->raw[*(const uint32_t *)a].name,
		      strings + maker->raw[*(const uint32_t *)b].name);
}

static void sort_children(struct order *order, struct as_tree_maker *maker)
{
	uint32_t n = maker->n, *next = as_xcalloc(n + 1, sizeof(*next));

	order->maker = maker;
	order->child = as_xcalloc(n, sizeof(uint32_t));
	order->first = as_xcalloc(n + 2, sizeof(uint32_t));
	for (uint32_t i = 1; i < n; i++)
		order->first[maker->raw[i].node.parent + 1]++;
	for (uint32_t i = 0; i < n; i++) {
		order->first[i + 1] += order->first[i];
		next[i] = order->first[i];
	}
	for (uint32_t i = 1; i < n; i++)
		order->child[next[maker->raw[i].node.parent]++] = i;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t count = order->first[i + 1] - order->first[i];

		if (count > 1)
			qsort_r(order->child + order->first[i], count, sizeof(uint32_t), by_name,
				maker);
	}
	free(next);
}

/* Lays out node `from` and what is below it. */
static void lay_out(struct as_tree *tree, const struct order *order, uint32_t from, uint32_t parent,
		    uint64_t *ino)
{
	const struct raw *raw = &order->maker->raw[from];
	uint32_t at = tree->n++;
	struct as_tree_node *node = &tree->node[at];

	*node = raw->node;
	ino[at] = raw->ino;
	node->parent = parent;
	node->name = tree->strings + raw->name;
	node->text = raw->node.text ? tree->strings + raw->text : NULL;
	node->xattr = tree->xattr + raw->first_xattr;
	node->children = order->first[from + 1] - order->first[from];
	for (uint32_t i = order->first[from]; i < order->first[from + 1]; i++)
		lay_out(tree, order, order->child[i], at, ino);
	tree->node[at].end = tree->n;
}

struct inode_key {
	const uint64_t *ino; /* of each node */
	uint64_t wanted;
};

static bool is_inode(const void *ctx, size_t index)
{
	const struct inode_key *key = ctx;

	return key->ino[index] == key->wanted;
}

static void find_twins(struct as_tree *tree, const uint64_t *ino)
{
	struct as_table table = { 0 }; /* of the first node of each inode */

	for (uint32_t i = 0; i < tree->n; i++) {
		struct inode_key key = { ino, ino[i] };
		size_t twin = as_table_find(&table, ino[i], is_inode, &key);

		if (twin == AS_TABLE_NONE) {
			twin = i;
			as_table_add(&table, ino[i], i);
		}
		tree->node[i].twin = (uint32_t)twin;
		tree->node[i].names = 0;
		tree->node[twin].names++;
	}
	for (uint32_t i = 0; i < tree->n; i++)
		tree->node[i].names = tree->node[tree->node[i].twin].names;
	as_table_free(&table);
}

static struct as_digest tree_digest_now(const struct as_tree *tree);

static struct as_digest tree_rest_now(const struct as_tree *tree);

struct as_tree *as_tree_maker_done(struct as_tree_maker *maker)
{
	size_t nodes = maker->n * sizeof(struct as_tree_node);
	size_t xattrs = maker->n_xattrs * sizeof(struct as_tree_xattr);
	struct as_tree *tree = as_xmalloc(sizeof(*tree) + nodes + xattrs + maker->strings.len);
	uint64_t *ino = as_xmalloc(maker->n * sizeof(*ino));
	struct order order;

	as_assert(maker->n);
	tree->ref = 1;
	tree->n = 0;
	tree->cut = maker->cut;
	tree->n_xattrs = maker->n_xattrs;
	tree->xattr = (struct as_tree_xattr *)((char *)tree->node + nodes);
	tree->strings = (char *)tree->node + nodes + xattrs;
	tree->n_strings = maker->strings.len;
	tree->quota = maker->quota;
	tree->n_quotas = maker->n_quotas;
	maker->quota = NULL;
	memcpy(tree->strings, maker->strings.data, maker->strings.len);
	for (size_t i = 0; i < maker->n_xattrs; i++) {
		tree->xattr[i].name = tree->strings + maker->xattr[i].name;
		tree->xattr[i].value = maker->xattr[i].value;
	}
	sort_children(&order, maker);
	lay_out(tree, &order, 0, AS_TREE_NONE, ino);
	find_twins(tree, ino);
	tree->digest = tree_digest_now(tree);
	tree->rest = tree_rest_now(tree);
	free(order.child);
	free(order.first);
	free(ino);
	maker->n = 0; /* contents and values are the tree's now */
	maker->n_xattrs = 0;
	as_tree_maker_free(maker);
	return tree;
}

struct as_tree *as_tree_get(struct as_tree *tree)
{
	tree->ref++;
	return tree;
}

void as_tree_put(struct as_tree *tree)
{
	if (!tree || --tree->ref)
		return;
	for (uint32_t i = 0; i < tree->n; i++)
		as_content_put(tree->node[i].content);
	for (size_t i = 0; i < tree->n_xattrs; i++)
		as_content_put(tree->xattr[i].value);
	free(tree->quota);
	free(tree);
}

/* ---- Asking ---- */

struct as_digest as_tree_digest(const struct as_tree *tree)
{
	return tree->digest;
}

struct as_digest as_tree_digest_of_rest(const struct as_tree *tree)
{
	return tree->rest;
}

uint32_t as_tree_len(const struct as_tree *tree)
{
	return tree->n;
}

bool as_tree_is_cut(const struct as_tree *tree)
{
	return tree->cut;
}

const struct as_quota_told *as_tree_quotas(const struct as_tree *tree, uint32_t *n)
{
	*n = tree->n_quotas;
	return tree->quota;
}

const struct as_tree_node *as_tree_at(const struct as_tree *tree, uint32_t i)
{
	as_assert(i < tree->n);
	return &tree->node[i];
}

uint32_t as_tree_child(const struct as_tree *tree, uint32_t dir, const char *name)
{
	for (uint32_t i = dir + 1; i < tree->node[dir].end; i = tree->node[i].end)
		if (strcmp(tree->node[i].name, name) == 0)
			return i;
	return AS_TREE_NONE;
}

uint32_t as_tree_find(const struct as_tree *tree, const char *path)
{
	uint32_t at = 0;

	while (*path == '/' && path[1]) {
		size_t len = strcspn(path + 1, "/");
		uint32_t i = at + 1, end = tree->node[at].end;

		while (i < end &&
		       (strncmp(tree->node[i].name, path + 1, len) != 0 || tree->node[i].name[len]))
			i = tree->node[i].end;
		if (i >= end)
			return AS_TREE_NONE;
		at = i;
		path += len + 1;
	}
	return at;
}

void as_tree_path(const struct as_tree *tree, uint32_t i, struct as_buf *out)
{
	if (i == 0) {
		as_buf_addc(out, '/');
		return;
	}
	if (tree->node[i].parent)
		as_tree_path(tree, tree->node[i].parent, out);
	as_buf_addc(out, '/');
	as_buf_adds(out, tree->node[i].name);
}

static uint64_t content_memory(const struct as_content *content)
{
	uint64_t bytes = sizeof(*content) + content->n * sizeof(content->piece[0]);

	for (uint32_t i = 0; i < content->n; i++)
		if (content->piece[i].kind == AS_PIECE_BYTES)
			bytes += content->piece[i].len;
	return bytes;
}

uint64_t as_tree_memory(const struct as_tree *tree)
{
	uint64_t bytes = sizeof(*tree) + tree->n * sizeof(tree->node[0]) +
			 tree->n_xattrs * sizeof(tree->xattr[0]) + tree->n_strings +
			 tree->n_quotas * sizeof(tree->quota[0]);

	for (uint32_t i = 0; i < tree->n; i++)
		if (tree->node[i].content)
			bytes += content_memory(tree->node[i].content);
	for (size_t i = 0; i < tree->n_xattrs; i++)
		bytes += content_memory(tree->xattr[i].value);
	return bytes;
}

/* ---- The digest ---- */

struct fixed {
	uint32_t parent, twin, mode, nlink, uid, gid;
	uint64_t size, rdev, name, text;
	struct as_digest content, xattrs;
};

static struct as_digest tree_digest_now(const struct as_tree *tree)
{
	struct as_digest sum = { tree->n, tree->cut };

	for (uint32_t i = 0; i < tree->n; i++) {
		const struct as_tree_node *node = &tree->node[i];
		struct fixed fixed = {
			.parent = node->parent,
			.twin = node->twin,
			.mode = node->mode,
			.nlink = node->nlink,
			.uid = node->uid,
			.gid = node->gid,
			.size = S_ISREG(node->mode) ? node->size : 0,
			.rdev = node->rdev,
			.name = as_hash64(node->name, strlen(node->name)),
			.text = node->text ? as_hash64(node->text, strlen(node->text)) : 0,
			.content = node->content ? node->content->digest : AS_DIGEST_ZERO,
		};

		for (uint32_t k = 0; k < node->n_xattrs; k++) {
			const char *name = node->xattr[k].name;
			struct as_digest value = node->xattr[k].value->digest;

			value = as_digest_bind(value, as_hash64(name, strlen(name)));
			fixed.xattrs = as_digest_add(fixed.xattrs, value);
		}
		/* The number of the node is its place in the walk: order counts. */
		sum = as_digest_add(sum, as_hash_seeded(&fixed, sizeof(fixed), i));
	}
	return sum;
}

static struct as_digest tree_rest_now(const struct as_tree *tree)
{
	struct as_digest sum = AS_DIGEST_ZERO;

	for (uint32_t i = 0; i < tree->n; i++) {
		const struct as_tree_node *node = &tree->node[i];
		const uint64_t rest[] = { (uint64_t)node->atime_ns, (uint64_t)node->mtime_ns,
					  (uint64_t)node->ctime_ns, node->blocks, node->hidden };

		if (S_ISREG(node->mode) && node->twin == i)
			sum = as_digest_add(sum, as_hash_seeded(rest, sizeof(rest), i));
	}
	return sum;
}

/* Whether all that is below a directory are directories whose names begin like this. */
static bool has_only(const struct as_tree *tree, uint32_t dir, const char *litter)
{
	for (uint32_t i = dir + 1; i < tree->node[dir].end; i++)
		if (!litter || !S_ISDIR(tree->node[i].mode) ||
		    strncmp(tree->node[i].name, litter, strlen(litter)) != 0)
			return false;
	return true;
}

struct as_tree *as_tree_without(const struct as_tree *tree, const char *name, const char *litter)
{
	uint32_t gone = as_tree_child(tree, 0, name), n = as_tree_len(tree), *now;
	struct as_tree_maker *maker;

	if (gone == AS_TREE_NONE || !S_ISDIR(tree->node[gone].mode) ||
	    !has_only(tree, gone, litter))
		return NULL;
	maker = as_tree_maker_new();
	now = as_xcalloc(n, sizeof(*now));
	for (uint32_t i = 0; i < n; i = i + 1 == gone ? tree->node[gone].end : i + 1) {
		struct as_tree_node node = tree->node[i];

		/* Its ".." was a link to the root, where such links are counted. */
		if (!i && node.nlink > 2)
			node.nlink--;
		now[i] = as_tree_maker_add(maker, i ? now[node.parent] : AS_TREE_NONE,
					   (uint64_t)node.twin + 1, &node);
	}
	if (as_tree_is_cut(tree))
		as_tree_maker_cut(maker);
	free(now);
	return as_tree_maker_done(maker);
}
