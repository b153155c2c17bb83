/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node: the counted pieces a model state is made of: names, directory entries, inodes, and the
 * sparse vectors that hold them. Sharing rule: a piece with one reference belongs to the path that
 * leads to it and is changed in place; one with more is copied, level by level, on the way down.
 */
#include "model/state.h"
#include "model/walk.h"

#include <stdlib.h>
#include <string.h>

/* ---- Names ---- */

struct as_name *as_name_new(const char *s, size_t len)
{
	struct as_name *name = as_xmalloc(sizeof(*name) + len + 1);

	name->ref = 1;
	name->len = (uint32_t)len;
	name->hash = as_hash64(s, len);
	memcpy(name->s, s, len);
	name->s[len] = '\0';
	return name;
}

struct as_name *as_name_get(struct as_name *name)
{
	name->ref++;
	return name;
}

void as_name_put(struct as_name *name)
{
	if (name && --name->ref == 0)
		free(name);
}

int as_name_cmp(const struct as_name *a, const char *s, size_t len)
{
	size_t n = a->len < len ? a->len : len;
	int cmp = memcmp(a->s, s, n);

	if (cmp)
		return cmp;
	return a->len < len ? -1 : a->len > len;
}

/* ---- Entries: a treap with hashed priorities ---- */

static uint64_t priority(const struct as_entry *entry)
{
	return as_mix64(entry->name->hash);
}

/* Strictly above in the heap; names break ties, so the shape depends on the set alone. */
static bool above(const struct as_entry *a, const struct as_entry *b)
{
	uint64_t pa = priority(a), pb = priority(b);

	if (pa != pb)
		return pa > pb;
	return as_name_cmp(a->name, b->name->s, b->name->len) < 0;
}

static struct as_entry *entry_get(struct as_entry *entry)
{
	if (entry)
		entry->ref++;
	return entry;
}

static void entries_put(struct as_entry *root)
{
	while (root && --root->ref == 0) {
		struct as_entry *right = root->right;

		entries_put(root->left);
		as_name_put(root->name);
		free(root);
		root = right;
	}
}

/* Consumes the reference; the result has one owner. */
static struct as_entry *entry_own(struct as_entry *entry)
{
	struct as_entry *copy;

	if (entry->ref == 1)
		return entry;
	copy = as_xmalloc(sizeof(*copy));
	*copy = *entry;
	copy->ref = 1;
	as_name_get(copy->name);
	entry_get(copy->left);
	entry_get(copy->right);
	entry->ref--;
	return copy;
}

struct as_entry *as_entries_find(struct as_entry *root, const char *s, size_t len)
{
	while (root) {
		int cmp = as_name_cmp(root->name, s, len);

		if (cmp == 0)
			return root;
		root = cmp > 0 ? root->left : root->right;
	}
	return NULL;
}

static struct as_entry *rotate(struct as_entry *root, struct as_entry *child)
{
	if (root->left == child) {
		root->left = child->right;
		child->right = root;
	} else {
		root->right = child->left;
		child->left = root;
	}
	return child;
}

static struct as_entry *insert(struct as_entry *root, struct as_entry *fresh)
{
	struct as_entry **side;

	if (!root)
		return fresh;
	root = entry_own(root);
	side = as_name_cmp(root->name, fresh->name->s, fresh->name->len) > 0 ? &root->left
									     : &root->right;
	*side = insert(*side, fresh);
	return above(*side, root) ? rotate(root, *side) : root;
}

struct as_entry *as_entries_add(struct as_entry *root, struct as_name *name, uint32_t ino)
{
	struct as_entry *fresh = as_xcalloc(1, sizeof(*fresh));

	fresh->ref = 1;
	fresh->ino = ino;
	fresh->name = as_name_get(name);
	return insert(root, fresh);
}

static struct as_entry *join(struct as_entry *left, struct as_entry *right)
{
	if (!left)
		return right;
	if (!right)
		return left;
	if (above(left, right)) {
		left = entry_own(left);
		left->right = join(left->right, right);
		return left;
	}
	right = entry_own(right);
	right->left = join(left, right->left);
	return right;
}

struct as_entry *as_entries_del(struct as_entry *root, const char *s, size_t len)
{
	int cmp;

	as_assert(root);
	root = entry_own(root);
	cmp = as_name_cmp(root->name, s, len);
	if (cmp == 0) {
		struct as_entry *rest = join(root->left, root->right);

		as_name_put(root->name);
		free(root);
		return rest;
	}
	if (cmp > 0)
		root->left = as_entries_del(root->left, s, len);
	else
		root->right = as_entries_del(root->right, s, len);
	return root;
}

/* ---- Sparse vectors ---- */

static void elem_get(void *elem)
{
	if (elem)
		++*(uint32_t *)elem;
}

static struct as_radix *radix_own(struct as_radix *node)
{
	struct as_radix *copy;

	if (node->ref == 1)
		return node;
	copy = as_xmalloc(sizeof(*copy));
	*copy = *node;
	copy->ref = 1;
	for (unsigned i = 0; i < RADIX_FAN; i++)
		elem_get(copy->slot[i]);
	node->ref--;
	return copy;
}

static struct as_radix *radix_new(void)
{
	struct as_radix *node = as_xcalloc(1, sizeof(*node));

	node->ref = 1;
	return node;
}

void *as_vec_edit(struct as_vec *vec, uint32_t index, void *(*dup)(const void *),
		  void (*put)(void *))
{
	void **at = (void **)&vec->root;

	as_assert(as_vec_holds(vec, index));
	for (uint32_t level = vec->height; level-- > 0;) {
		as_assert(*at);
		*at = radix_own(*at);
		at = &((struct as_radix *)*at)->slot[as_radix_digit(index, level)];
	}
	as_assert(*at);
	if (*(uint32_t *)*at > 1) {
		void *copy = dup(*at);

		put(*at);
		*at = copy;
	}
	return *at;
}

static bool radix_empty(const struct as_radix *node)
{
	for (unsigned i = 0; i < RADIX_FAN; i++)
		if (node->slot[i])
			return false;
	return true;
}

static struct as_radix *radix_clear(struct as_radix *node, uint32_t level, uint32_t index,
				    void (*put)(void *))
{
	void **at;

	if (!node)
		return NULL;
	node = radix_own(node);
	at = &node->slot[as_radix_digit(index, level)];
	if (level > 0) {
		*at = radix_clear(*at, level - 1, index, put);
	} else if (*at) {
		put(*at);
		*at = NULL;
	}
	if (!radix_empty(node))
		return node;
	free(node);
	return NULL;
}

void as_vec_set(struct as_vec *vec, uint32_t index, void *elem, void (*put)(void *))
{
	void **at = (void **)&vec->root;

	if (!elem) {
		if (vec->root && as_vec_holds(vec, index))
			vec->root = radix_clear(vec->root, vec->height - 1, index, put);
		if (!vec->root)
			vec->height = 0;
		return;
	}
	while (!vec->root || !as_vec_holds(vec, index)) {
		struct as_radix *root = radix_new();

		root->slot[0] = vec->root;
		vec->root = root;
		vec->height++;
	}
	for (uint32_t level = vec->height; level-- > 0;) {
		*at = *at ? radix_own(*at) : radix_new();
		at = &((struct as_radix *)*at)->slot[as_radix_digit(index, level)];
	}
	if (*at)
		put(*at);
	*at = elem;
}

struct as_vec as_vec_copy(const struct as_vec *vec)
{
	if (vec->root)
		vec->root->ref++;
	return *vec;
}

static void radix_put(void *at, uint32_t height, void (*put)(void *))
{
	struct as_radix *node = at;

	if (!at)
		return;
	if (height == 0) {
		put(at);
		return;
	}
	if (--node->ref)
		return;
	for (unsigned i = 0; i < RADIX_FAN; i++)
		radix_put(node->slot[i], height - 1, put);
	free(node);
}

void as_vec_free(struct as_vec *vec, void (*put)(void *))
{
	radix_put(vec->root, vec->height, put);
	vec->root = NULL;
	vec->height = 0;
}

static int radix_each(void *at, uint32_t height, uint32_t base,
		      int (*fn)(void *ctx, uint32_t index, void *elem), void *ctx)
{
	struct as_radix *node = at;
	int rc = 0;

	if (!at)
		return 0;
	if (height == 0)
		return fn(ctx, base, at);
	for (unsigned i = 0; i < RADIX_FAN && !rc; i++)
		rc = radix_each(node->slot[i], height - 1, base | i << (RADIX_BITS * (height - 1)),
				fn, ctx);
	return rc;
}

int as_vec_each(const struct as_vec *vec, int (*fn)(void *ctx, uint32_t index, void *elem),
		void *ctx)
{
	return radix_each(vec->root, vec->height, 0, fn, ctx);
}

/* ---- Inodes and open files ---- */

void as_times_put(struct as_times *times)
{
	if (times && --times->ref == 0)
		free(times);
}

void as_xattrs_put(struct as_xattrs *xattrs)
{
	if (!xattrs || --xattrs->ref)
		return;
	for (uint32_t i = 0; i < xattrs->n; i++)
		as_name_put(xattrs->x[i].name);
	free(xattrs);
}

static size_t inode_bytes(uint32_t mode)
{
	if (S_ISDIR(mode))
		return sizeof(struct as_inode);
	return offsetof(struct as_inode, reg) + sizeof(((struct as_inode *)NULL)->reg);
}

static struct as_inode *inode_alloc(uint32_t mode)
{
	return as_xcalloc(1, inode_bytes(mode));
}

struct as_inode *as_inode_new(uint32_t ino, uint32_t mode)
{
	struct as_inode *inode = inode_alloc(mode);

	inode->ref = 1;
	inode->ino = ino;
	inode->mode = (uint16_t)mode;
	return inode;
}

void as_inode_put(void *ptr)
{
	struct as_inode *inode = ptr;

	if (--inode->ref)
		return;
	if (inode->flags & INODE_MANY) {
		for (uint32_t i = 0; i < inode->many->n; i++)
			as_name_put(inode->many->link[i].name);
		free(inode->many);
	} else {
		as_name_put(inode->link.name);
	}
	as_xattrs_put(inode->xattrs);
	as_times_put(inode->times);
	if (S_ISDIR(inode->mode))
		entries_put(inode->dir.entries);
	else if (S_ISREG(inode->mode))
		as_runs_put(inode->reg.runs);
	else if (S_ISLNK(inode->mode))
		as_name_put(inode->text);
	free(inode);
}

static struct as_links *links_dup(const struct as_links *links)
{
	size_t bytes = sizeof(*links) + links->n * sizeof(links->link[0]);
	struct as_links *copy = as_xmalloc(bytes);

	memcpy(copy, links, bytes);
	copy->cap = copy->n;
	for (uint32_t i = 0; i < copy->n; i++)
		as_name_get(copy->link[i].name);
	return copy;
}

void *as_inode_dup(const void *ptr)
{
	const struct as_inode *inode = ptr;
	struct as_inode *copy = as_xmalloc(inode_bytes(inode->mode));

	memcpy(copy, inode, inode_bytes(inode->mode));
	copy->ref = 1;
	if (inode->flags & INODE_MANY)
		copy->many = links_dup(inode->many);
	else if (copy->link.name)
		as_name_get(copy->link.name);
	elem_get(copy->xattrs);
	elem_get(copy->times);
	if (S_ISDIR(copy->mode))
		entry_get(copy->dir.entries);
	else if (S_ISREG(copy->mode))
		elem_get(copy->reg.runs);
	else if (S_ISLNK(copy->mode))
		as_name_get(copy->text);
	return copy;
}

void as_file_put(void *ptr)
{
	struct as_file *file = ptr;

	if (--file->ref)
		return;
	if (file->view)
		as_runs_put(file->view);
	if (file->base)
		as_runs_put(file->base);
	free(file);
}

void *as_file_dup(const void *ptr)
{
	struct as_file *copy = as_xmalloc(sizeof(*copy));

	memcpy(copy, ptr, sizeof(*copy));
	copy->ref = 1;
	if (copy->view)
		copy->view->ref++;
	if (copy->base)
		copy->base->ref++;
	return copy;
}

bool as_node_mode_is(const struct as_inode *inode, uint32_t mode)
{
	uint32_t known = inode->flags & INODE_SETID_UNSURE ? 01777 : 07777;

	return !((mode ^ inode->mode) & known);
}
