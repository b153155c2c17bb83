/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node: the counted pieces a model state is made of: names, directory entries, inodes, and the
 * sparse vectors that hold them. Sharing rule: a piece with one reference belongs to the path that
 * leads to it and is changed in place; one with more is copied, level by level, on the way down.
 */
#include "model/state.h"

#include <stdlib.h>
#include <string.h>

/* ---- Names ---- */

struct name *name_new(const char *s, size_t len)
{
	struct name *name = as_xmalloc(sizeof(*name) + len + 1);

	name->ref = 1;
	name->len = (uint32_t)len;
	name->hash = as_hash64(s, len);
	memcpy(name->s, s, len);
	name->s[len] = '\0';
	return name;
}

struct name *name_get(struct name *name)
{
	name->ref++;
	return name;
}

void name_put(struct name *name)
{
	if (name && --name->ref == 0)
		free(name);
}

int name_cmp(const struct name *a, const char *s, size_t len)
{
	size_t n = a->len < len ? a->len : len;
	int cmp = memcmp(a->s, s, n);

	if (cmp)
		return cmp;
	return a->len < len ? -1 : a->len > len;
}

/* ---- Entries: a treap with hashed priorities ---- */

static uint64_t priority(const struct entry *entry)
{
	return as_mix64(entry->name->hash);
}

/* Strictly above in the heap; names break ties, so the shape depends on the set alone. */
static bool above(const struct entry *a, const struct entry *b)
{
	uint64_t pa = priority(a), pb = priority(b);

	if (pa != pb)
		return pa > pb;
	return name_cmp(a->name, b->name->s, b->name->len) < 0;
}

static struct entry *entry_get(struct entry *entry)
{
	if (entry)
		entry->ref++;
	return entry;
}

void entries_put(struct entry *root)
{
	while (root && --root->ref == 0) {
		struct entry *right = root->right;

		entries_put(root->left);
		name_put(root->name);
		free(root);
		root = right;
	}
}

/* Consumes the reference; the result has one owner. */
static struct entry *entry_own(struct entry *entry)
{
	struct entry *copy;

	if (entry->ref == 1)
		return entry;
	copy = as_xmalloc(sizeof(*copy));
	*copy = *entry;
	copy->ref = 1;
	name_get(copy->name);
	entry_get(copy->left);
	entry_get(copy->right);
	entry->ref--;
	return copy;
}

struct entry *entries_find(struct entry *root, const char *s, size_t len)
{
	while (root) {
		int cmp = name_cmp(root->name, s, len);

		if (cmp == 0)
			return root;
		root = cmp > 0 ? root->left : root->right;
	}
	return NULL;
}

static struct entry *rotate(struct entry *root, struct entry *child)
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

static struct entry *insert(struct entry *root, struct entry *fresh)
{
	struct entry **side;

	if (!root)
		return fresh;
	root = entry_own(root);
	side = name_cmp(root->name, fresh->name->s, fresh->name->len) > 0 ? &root->left
									  : &root->right;
	*side = insert(*side, fresh);
	return above(*side, root) ? rotate(root, *side) : root;
}

struct entry *entries_add(struct entry *root, struct name *name, uint32_t ino)
{
	struct entry *fresh = as_xcalloc(1, sizeof(*fresh));

	fresh->ref = 1;
	fresh->ino = ino;
	fresh->name = name_get(name);
	return insert(root, fresh);
}

static struct entry *join(struct entry *left, struct entry *right)
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

struct entry *entries_del(struct entry *root, const char *s, size_t len)
{
	int cmp;

	as_assert(root);
	root = entry_own(root);
	cmp = name_cmp(root->name, s, len);
	if (cmp == 0) {
		struct entry *rest = join(root->left, root->right);

		name_put(root->name);
		free(root);
		return rest;
	}
	if (cmp > 0)
		root->left = entries_del(root->left, s, len);
	else
		root->right = entries_del(root->right, s, len);
	return root;
}

struct entry *entries_set(struct entry *root, const char *s, size_t len, uint32_t ino)
{
	int cmp;

	as_assert(root);
	root = entry_own(root);
	cmp = name_cmp(root->name, s, len);
	if (cmp == 0)
		root->ino = ino;
	else if (cmp > 0)
		root->left = entries_set(root->left, s, len, ino);
	else
		root->right = entries_set(root->right, s, len, ino);
	return root;
}

/* ---- Sparse vectors ---- */

static bool vec_holds(const struct vec *vec, uint32_t index)
{
	return vec->height >= 11 || (uint64_t)index >> (RADIX_BITS * vec->height) == 0;
}

static unsigned digit(uint32_t index, uint32_t level)
{
	return index >> (RADIX_BITS * level) & (RADIX_FAN - 1);
}

void *vec_at(const struct vec *vec, uint32_t index)
{
	void *at = vec->root;

	if (!at || !vec_holds(vec, index))
		return NULL;
	for (uint32_t level = vec->height; level-- > 0 && at;)
		at = ((struct radix *)at)->slot[digit(index, level)];
	return at;
}

static void elem_get(void *elem)
{
	if (elem)
		++*(uint32_t *)elem;
}

static struct radix *radix_own(struct radix *node)
{
	struct radix *copy;

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

static struct radix *radix_new(void)
{
	struct radix *node = as_xcalloc(1, sizeof(*node));

	node->ref = 1;
	return node;
}

void *vec_edit(struct vec *vec, uint32_t index, void *(*dup)(const void *), void (*put)(void *))
{
	void **at = (void **)&vec->root;

	as_assert(vec_holds(vec, index));
	for (uint32_t level = vec->height; level-- > 0;) {
		as_assert(*at);
		*at = radix_own(*at);
		at = &((struct radix *)*at)->slot[digit(index, level)];
	}
	as_assert(*at);
	if (*(uint32_t *)*at > 1) {
		void *copy = dup(*at);

		put(*at);
		*at = copy;
	}
	return *at;
}

static bool radix_empty(const struct radix *node)
{
	for (unsigned i = 0; i < RADIX_FAN; i++)
		if (node->slot[i])
			return false;
	return true;
}

static struct radix *radix_clear(struct radix *node, uint32_t level, uint32_t index,
				 void (*put)(void *))
{
	void **at;

	if (!node)
		return NULL;
	node = radix_own(node);
	at = &node->slot[digit(index, level)];
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

void vec_set(struct vec *vec, uint32_t index, void *elem, void (*put)(void *))
{
	void **at = (void **)&vec->root;

	if (!elem) {
		if (vec->root && vec_holds(vec, index))
			vec->root = radix_clear(vec->root, vec->height - 1, index, put);
		if (!vec->root)
			vec->height = 0;
		return;
	}
	while (!vec->root || !vec_holds(vec, index)) {
		struct radix *root = radix_new();

		root->slot[0] = vec->root;
		vec->root = root;
		vec->height++;
	}
	for (uint32_t level = vec->height; level-- > 0;) {
		*at = *at ? radix_own(*at) : radix_new();
		at = &((struct radix *)*at)->slot[digit(index, level)];
	}
	if (*at)
		put(*at);
	*at = elem;
}

struct vec vec_copy(const struct vec *vec)
{
	if (vec->root)
		vec->root->ref++;
	return *vec;
}

static void radix_put(void *at, uint32_t height, void (*put)(void *))
{
	struct radix *node = at;

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

void vec_free(struct vec *vec, void (*put)(void *))
{
	radix_put(vec->root, vec->height, put);
	vec->root = NULL;
	vec->height = 0;
}

static int radix_each(void *at, uint32_t height, uint32_t base,
		      int (*fn)(void *ctx, uint32_t index, void *elem), void *ctx)
{
	struct radix *node = at;
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

int vec_each(const struct vec *vec, int (*fn)(void *ctx, uint32_t index, void *elem), void *ctx)
{
	return radix_each(vec->root, vec->height, 0, fn, ctx);
}

/* ---- Inodes and open files ---- */

void times_put(struct times *times)
{
	if (times && --times->ref == 0)
		free(times);
}

void xattrs_put(struct xattrs *xattrs)
{
	if (!xattrs || --xattrs->ref)
		return;
	for (uint32_t i = 0; i < xattrs->n; i++)
		name_put(xattrs->x[i].name);
	free(xattrs);
}

static size_t inode_bytes(uint32_t mode)
{
	if (S_ISDIR(mode))
		return sizeof(struct inode);
	return offsetof(struct inode, reg) + sizeof(((struct inode *)NULL)->reg);
}

static struct inode *inode_alloc(uint32_t mode)
{
	return as_xcalloc(1, inode_bytes(mode));
}

struct inode *inode_new(uint32_t ino, uint32_t mode)
{
	struct inode *inode = inode_alloc(mode);

	inode->ref = 1;
	inode->ino = ino;
	inode->mode = (uint16_t)mode;
	return inode;
}

void inode_put(void *ptr)
{
	struct inode *inode = ptr;

	if (--inode->ref)
		return;
	if (inode->flags & INODE_MANY) {
		for (uint32_t i = 0; i < inode->many->n; i++)
			name_put(inode->many->link[i].name);
		free(inode->many);
	} else {
		name_put(inode->link.name);
	}
	xattrs_put(inode->xattrs);
	times_put(inode->times);
	if (S_ISDIR(inode->mode))
		entries_put(inode->dir.entries);
	else if (S_ISREG(inode->mode))
		runs_put(inode->reg.runs);
	else if (S_ISLNK(inode->mode))
		name_put(inode->text);
	free(inode);
}

static struct links *links_dup(const struct links *links)
{
	size_t bytes = sizeof(*links) + links->n * sizeof(links->link[0]);
	struct links *copy = as_xmalloc(bytes);

	memcpy(copy, links, bytes);
	copy->cap = copy->n;
	for (uint32_t i = 0; i < copy->n; i++)
		name_get(copy->link[i].name);
	return copy;
}

void *inode_dup(const void *ptr)
{
	const struct inode *inode = ptr;
	struct inode *copy = as_xmalloc(inode_bytes(inode->mode));

	memcpy(copy, inode, inode_bytes(inode->mode));
	copy->ref = 1;
	if (inode->flags & INODE_MANY)
		copy->many = links_dup(inode->many);
	else if (copy->link.name)
		name_get(copy->link.name);
	elem_get(copy->xattrs);
	elem_get(copy->times);
	if (S_ISDIR(copy->mode))
		entry_get(copy->dir.entries);
	else if (S_ISREG(copy->mode))
		elem_get(copy->reg.runs);
	else if (S_ISLNK(copy->mode))
		name_get(copy->text);
	return copy;
}

void file_put(void *ptr)
{
	struct file *file = ptr;

	if (--file->ref == 0)
		free(file);
}

void *file_dup(const void *ptr)
{
	struct file *copy = as_xmalloc(sizeof(*copy));

	memcpy(copy, ptr, sizeof(*copy));
	copy->ref = 1;
	return copy;
}
