/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sys_acl: access control lists through the attributes in which the kernel gives and takes them,
 * and lists of a tree that is read: they are marks (model/mark.h).
 */
#include "vfs/sys_priv.h"

#include "model/mark.h"
#include "work/acl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_BYTES 65536u

/* A list without entries is removed, as setfacl(1) does it. */
static int64_t set(struct as_vfs *vfs, const struct as_op *op, const struct as_acl *acl)
{
	uint64_t path = SYS_P(op->path), name = SYS_P(as_acl_attribute(op->flags));
	uint8_t bytes[AS_ACL_BYTES];
	size_t len = as_acl_encode(acl, bytes);

	if (!acl->n)
		return op->nofollow ? as_sys_do(vfs, lremovexattr, path, name)
				    : as_sys_do(vfs, removexattr, path, name);
	return op->nofollow ? as_sys_do(vfs, lsetxattr, path, name, SYS_P(bytes), len, 0)
			    : as_sys_do(vfs, setxattr, path, name, SYS_P(bytes), len, 0);
}

void as_sys_setacl(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	struct as_acl acl;

	if (as_acl_parse(op->name, &acl))
		as_sys_answer(out, set(vfs, op, &acl));
	else
		as_vfs_answer(out, -EINVAL);
}

void as_sys_getacl(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	struct as_op read = *op;

	read.name = as_acl_attribute(op->flags);
	as_sys_read_xattr(vfs, &read, out);
}

/* ---- Trees ---- */

/* The mark of a list; "?" for the list where it is none that we know. */
static int64_t add_mark(struct as_buf *to, bool is_default, const void *value, int64_t n)
{
	struct as_acl acl;

	if (n < 0)
		return n;
	as_buf_adds(to, is_default ? AS_MARK_ACL_DEFAULT : AS_MARK_ACL_ACCESS);
	if (as_acl_decode(value, (size_t)n, &acl))
		as_acl_print(&acl, to);
	else
		as_buf_addc(to, '?');
	return 0;
}

int64_t as_sys_acl_marks(char *list, int64_t n, size_t len,
			 int64_t (*get)(void *ctx, const char *path, const char *name, void *buf,
					size_t len),
			 void *ctx, const char *path)
{
	struct as_buf fresh = { 0 };
	void *value = NULL;
	int64_t rc = 0;
	bool is_default, any = false;

	for (const char *at = list; rc >= 0 && at < list + n; at += strlen(at) + 1) {
		if (!as_acl_is_attribute(at, &is_default)) {
			as_buf_adds(&fresh, at);
		} else {
			any = true;
			value = value ? value : as_xmalloc(VALUE_BYTES);
			rc = add_mark(&fresh, is_default, value,
				      get(ctx, path, at, value, VALUE_BYTES));
		}
		as_buf_addc(&fresh, '\0');
	}
	if (any && rc >= 0) {
		rc = fresh.len <= len ? 0 : -ERANGE;
		if (!rc)
			memcpy(list, fresh.data, fresh.len);
		n = (int64_t)fresh.len;
	}
	as_buf_free(&fresh);
	free(value);
	return rc < 0 ? rc : n;
}
