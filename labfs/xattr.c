/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xattr.c: extended attributes. All attributes of an inode are packed into one block; -ENOSPC: it
 * is full.
 */
#include "fs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define VALUE_MAX 65536u /* Linux's own limit; ours is the size of the block */

static struct lab_xattr_head *head_of(struct lab_buf *b)
{
	return (struct lab_xattr_head *)b->data;
}

/* The entry at `off` of a verified block; NULL after the last. */
static struct lab_xattr *entry_at(struct lab_buf *b, uint32_t off)
{
	uint32_t used = head_of(b)->used_bytes;
	struct lab_xattr *x = (struct lab_xattr *)(b->data + off);

	if (off + 4 > used || !x->name_len || off + LAB_XATTR_LEN(x->name_len, x->value_len) > used)
		return NULL;
	return x;
}

static uint32_t find(struct lab_buf *b, const char *name, size_t name_len)
{
	uint32_t off = sizeof(struct lab_xattr_head);
	struct lab_xattr *x;

	while ((x = entry_at(b, off))) {
		if (x->name_len == name_len && !memcmp(x->data, name, name_len))
			return off;
		off += LAB_XATTR_LEN(x->name_len, x->value_len);
	}
	return 0;
}

/* Whether we store this namespace, and the name is possible. */
static int check_name(const char *name)
{
	static const char *const ours[] = { "user.", "trusted.", "security." };
	size_t len = strlen(name);

	if (!len || len > LAB_NAME_MAX)
		return -ERANGE;
	for (unsigned i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		size_t prefix = strlen(ours[i]);

		if (!strncmp(name, ours[i], prefix))
			return name[prefix] ? 0 : -EINVAL;
	}
	return -EOPNOTSUPP;
}

static bool user_refused(const struct lab_node *node, const char *name)
{
	return !strncmp(name, "user.", 5) && !S_ISREG(node->raw->mode) && !S_ISDIR(node->raw->mode);
}

/* NULL: the inode has no block. Otherwise put_block() gives it back. */
static int get_block(struct as_fs *fs, struct lab_node *node, struct lab_buf **b)
{
	int rc;

	*b = NULL;
	if (!node->raw->xattr_block)
		return 0;
	rc = lab_bread(fs, node->raw->xattr_block, LAB_K_XATTR, b);
	if (!rc && head_of(*b)->ino != node->ino)
		rc = lab_corrupt(fs, "attribute block of another inode:", node->raw->xattr_block);
	if (rc)
		*b = NULL;
	else
		as_pair(fs->host, AS_PAIR_OPERATION, LAB_PAIR_ATTRS, 1);
	return rc;
}

static void put_block(struct as_fs *fs, const struct lab_buf *b)
{
	if (b)
		as_pair(fs->host, AS_PAIR_OPERATION, LAB_PAIR_ATTRS, -1);
}

static void cut(struct lab_buf *b, uint32_t off)
{
	struct lab_xattr *x = (struct lab_xattr *)(b->data + off);
	uint32_t len = LAB_XATTR_LEN(x->name_len, x->value_len);
	uint32_t used = head_of(b)->used_bytes;

	memmove(b->data + off, b->data + off + len, used - off - len);
	memset(b->data + used - len, 0, len);
	head_of(b)->used_bytes = used - len;
}

static int new_block(struct as_fs *fs, struct lab_node *node, struct lab_buf **b)
{
	uint32_t block;
	int rc = lab_balloc(fs, &block);

	if (!rc)
		rc = lab_bfresh(fs, block, LAB_K_XATTR, LAB_S_META, b);
	if (rc)
		return rc;
	*head_of(*b) = (struct lab_xattr_head){
		.magic = LAB_XATTR_MAGIC,
		.ino = node->ino,
		.used_bytes = sizeof(struct lab_xattr_head),
	};
	node->raw->xattr_block = block;
	node->raw->blocks++;
	return 0;
}

static int set_in(struct as_fs *fs, struct lab_node *node, struct lab_buf *b, const char *name,
		  const void *value, size_t len, unsigned flags)
{
	size_t name_len = strlen(name), need;
	uint32_t off = 0, used = sizeof(struct lab_xattr_head);
	struct lab_xattr *x;
	int rc;

	if (b) {
		off = find(b, name, name_len);
		used = head_of(b)->used_bytes;
	}
	if (off && flags & XATTR_CREATE && !LAB_BUG_ON(fs, XATTR_CREATE))
		return -EEXIST;
	if (!off && flags & XATTR_REPLACE)
		return -ENODATA;
	if (off) {
		x = (struct lab_xattr *)(b->data + off);
		used -= LAB_XATTR_LEN(x->name_len, x->value_len);
	}
	need = LAB_XATTR_LEN(name_len, len);
	if (need > LAB_BLOCK - used)
		return -ENOSPC;
	rc = lab_idirty(fs, node, LAB_WHY_XATTR);
	if (!rc)
		rc = b ? lab_dirty(fs, b, LAB_S_META) : new_block(fs, node, &b);
	if (rc)
		return rc;
	if (off)
		cut(b, off);
	x = (struct lab_xattr *)(b->data + used);
	x->name_len = (uint8_t)name_len;
	x->value_len = (uint16_t)len;
	memcpy(x->data, name, name_len);
	if (len)
		memcpy(x->data + name_len, value, len);
	head_of(b)->used_bytes = used + (uint32_t)need;
	node->raw->ctime_ns = (int64_t)lab_now(fs);
	return 0;
}

static int do_set(struct as_fs *fs, struct lab_node *node, const char *name, const void *value,
		  size_t len, unsigned flags)
{
	struct lab_buf *b;
	int rc = get_block(fs, node, &b);

	if (!rc)
		rc = set_in(fs, node, b, name, value, len, flags);
	put_block(fs, b);
	return rc;
}

int lab_setxattr(struct as_fs *fs, const char *path, const char *name, const void *value,
		 size_t len, unsigned flags)
{
	struct lab_node *node;
	int rc;

	if (flags & ~(unsigned)(XATTR_CREATE | XATTR_REPLACE))
		return -EINVAL;
	if (len > VALUE_MAX)
		return -E2BIG;
	rc = lab_walk(fs, path, &node);
	if (!rc)
		rc = check_name(name);
	if (!rc && user_refused(node, name))
		rc = -EPERM;
	return rc ? rc : LAB_RUN(fs, 6, do_set(fs, node, name, value, len, flags));
}

/* The length of a value, which goes to `value` if there is room for it. */
static int64_t get_value(const struct as_fs *fs, struct lab_buf *b, const char *name, void *value,
			 size_t len)
{
	uint32_t off = b ? find(b, name, strlen(name)) : 0;
	struct lab_xattr *x;

	if (!off)
		return -ENODATA;
	x = (struct lab_xattr *)(b->data + off);
	if (len && len + 8 * LAB_BUG_ON(fs, XATTR_RANGE) < x->value_len)
		return -ERANGE;
	if (len && len == x->value_len && LAB_BUG_ON(fs, XATTR_EXACT))
		return -ERANGE;
	if (len && x->value_len)
		memcpy(value, x->data + x->name_len, x->value_len);
	return x->value_len;
}

int64_t lab_getxattr(struct as_fs *fs, const char *path, const char *name, void *value, size_t len)
{
	struct lab_node *node;
	struct lab_buf *b;
	int64_t n;
	int rc = lab_walk(fs, path, &node);

	if (!rc)
		rc = check_name(name);
	if (!rc && user_refused(node, name))
		rc = -ENODATA;
	if (!rc)
		rc = get_block(fs, node, &b);
	if (rc)
		return rc;
	n = get_value(fs, b, name, value, len);
	if (n != -ENODATA || !LAB_BUG_ON(fs, ATTRS_KEPT))
		put_block(fs, b);
	return n;
}

static int64_t list_names(struct lab_buf *b, char *list, size_t len)
{
	uint32_t off = sizeof(struct lab_xattr_head);
	struct lab_xattr *x;
	size_t total = 0;

	while (b && (x = entry_at(b, off))) {
		if (len) {
			if (total + x->name_len + 1u > len)
				return -ERANGE;
			memcpy(list + total, x->data, x->name_len);
			list[total + x->name_len] = 0;
		}
		total += x->name_len + 1u;
		off += LAB_XATTR_LEN(x->name_len, x->value_len);
	}
	return (int64_t)total;
}

int64_t lab_listxattr(struct as_fs *fs, const char *path, char *list, size_t len)
{
	struct lab_node *node;
	struct lab_buf *b;
	int64_t n;
	int rc = lab_walk(fs, path, &node);

	if (!rc)
		rc = get_block(fs, node, &b);
	if (rc)
		return rc;
	n = list_names(b, list, len);
	put_block(fs, b);
	return n;
}

static int remove_from(struct as_fs *fs, struct lab_node *node, struct lab_buf *b, const char *name)
{
	uint32_t off;
	int rc;

	off = b ? find(b, name, strlen(name)) : 0;
	if (!off)
		return -ENODATA;
	rc = lab_idirty(fs, node, LAB_WHY_XATTR);
	if (!rc)
		rc = lab_dirty(fs, b, LAB_S_META);
	if (rc)
		return rc;
	cut(b, off);
	node->raw->ctime_ns = (int64_t)lab_now(fs);
	if (head_of(b)->used_bytes > sizeof(struct lab_xattr_head))
		return 0;
	rc = lab_bfree(fs, node->raw->xattr_block, !LAB_BUG_ON(fs, XATTR_UNREVOKED));
	if (!rc) {
		node->raw->xattr_block = 0;
		node->raw->blocks--;
	}
	return rc;
}

static int do_remove(struct as_fs *fs, struct lab_node *node, const char *name)
{
	struct lab_buf *b;
	int rc = get_block(fs, node, &b);

	if (!rc)
		rc = remove_from(fs, node, b, name);
	put_block(fs, b);
	return rc;
}

int lab_removexattr(struct as_fs *fs, const char *path, const char *name)
{
	struct lab_node *node;
	int rc = lab_walk(fs, path, &node);

	if (!rc)
		rc = check_name(name);
	if (!rc && user_refused(node, name))
		rc = -EPERM;
	return rc ? rc : LAB_RUN(fs, 6, do_remove(fs, node, name));
}
