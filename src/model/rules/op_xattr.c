/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * op_xattr: extended attributes. Rules of xattr(7), setxattr(2), getxattr(2) and Linux's
 * fs/xattr.c.
 */
#include "model/mark.h"
#include "model/rules/rule.h"
#include "work/acl.h"

#include <stdlib.h>
#include <string.h>

#define XATTR_NAME_MAX_BYTES 255u
#define XATTR_SIZE_MAX_BYTES 65536u

static struct as_walk walk_target(const struct as_rule_step *s)
{
	return as_walk_path(s->m, s->op->path, s->op->nofollow ? WALK_NOFOLLOW : WALK_FOLLOW);
}

/* strncpy_from_user() in fs/xattr.c: an empty or over-long name is ERANGE. */
static int name_error(const char *name)
{
	size_t len = strlen(name);

	return len == 0 || len > XATTR_NAME_MAX_BYTES ? ERANGE : 0;
}

struct space {
	const char *prefix;
	uint64_t feature;
};

static const struct space spaces[] = {
	{ "user.", AS_FEAT_XATTR_USER },
	{ "trusted.", AS_FEAT_XATTR_TRUSTED },
	{ "security.", AS_FEAT_XATTR_SECURITY },
};

/* xattr_permission() and xattr_resolve_name(): the errno a name meets on this inode, or 0. */
static int space_error(struct as_rule_step *s, const struct as_inode *inode, const char *name,
		       bool write)
{
	for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
		size_t len = strlen(spaces[i].prefix);

		if (strncmp(name, spaces[i].prefix, len) != 0)
			continue;
		/* xattr(7): user attributes live on regular files and directories only. */
		if (i == 0 && !is_reg(inode) && !is_dir(inode))
			return write ? EPERM : ENODATA;
		if (i != 0 && as_rule_has(s, AS_FEAT_UNPRIVILEGED)) {
			/* trusted needs CAP_SYS_ADMIN; what security modules say to the rest
			 * varies. */
			if (i == 2)
				as_rule_allow(s, EOPNOTSUPP);
			return write ? EPERM : ENODATA;
		}
		if (!as_rule_has(s, spaces[i].feature))
			return EOPNOTSUPP;
		return name[len] ? 0 : EINVAL;
	}
	return EOPNOTSUPP;
}

/* setxattr(2), ENOSPC and E2BIG: how much a file system can hold differs; what fits into half of
 * its stated limit must succeed. */
static void allow_too_big(struct as_rule_step *s, const struct as_inode *inode)
{
	uint64_t total = s->op->len + strlen(s->op->name) + 32;

	for (uint32_t i = 0; inode->xattrs && i < inode->xattrs->n; i++)
		total += inode->xattrs->x[i].len + inode->xattrs->x[i].name->len + 32;
	if (total > s->m->traits->xattr_value_max) {
		as_rule_allow(s, ENOSPC);
		as_rule_allow(s, E2BIG);
		as_rule_allow(s, ERANGE);
	}
}

/* The checks of setxattr_copy(). Linux made them after the path walk before 6.13 and before it
 * since: when both fail, either errno may come. */
static int set_error(const struct as_rule_step *s)
{
	if (s->op->flags & ~(int64_t)AS_XATTR_ALL)
		return EINVAL;
	if (name_error(s->op->name))
		return ERANGE;
	return s->op->len > XATTR_SIZE_MAX_BYTES ? E2BIG : 0;
}

/* ext4_xattr_set_handle() leaves everything, ctime too, if the attribute has this value. */
static enum as_event put_event(const struct as_xattr *old, const struct as_op *op)
{
	return old && old->len == op->len && (old->pattern == op->fill || !op->len)
		       ? AS_EVENT_SAME_ATTRS
		       : AS_EVENT_ATTRS;
}

void as_rule_write_xattr(struct as_rule_step *s)
{
	struct as_walk w = walk_target(s);
	int err = set_error(s);
	const struct as_inode *inode;
	enum as_event event;
	struct as_xattr *old;
	bool both, lax;

	if (w.err && err)
		as_rule_allow(s, err);
	if (w.err)
		return as_rule_refuse(s, w.err);
	/* path_setxattr(): before or after those checks, as they are before or after the walk. */
	if (s->m->readonly && err)
		as_rule_allow(s, err);
	if (as_rule_read_only(s))
		return;
	if (err)
		return as_rule_refuse(s, err);
	if (as_rule_acl_attribute(s, w.ino))
		return;
	inode = inode_at(s->m, w.ino);
	/* xattr_permission(), before it looks at the name. */
	err = as_flags_bar(as_inode_flags(inode)) ? EPERM
						  : space_error(s, inode, s->op->name, true);
	if (err)
		return as_rule_refuse(s, err);
	old = as_xattr_find(inode, s->op->name);
	lax = s->m->traits->quirks & AS_QUIRK_XATTR_LAX && s->got && s->got->ret >= 0;
	/* setxattr(2) does not say what both flags together mean: later kernels' xfs looks at
	 * XATTR_CREATE alone (xfs_xattr_flags_to_op()), ntfs-3g at neither. */
	both = s->op->flags == AS_XATTR_ALL;
	lax = lax || (both && s->got && s->got->ret >= 0);
	if (s->m->traits->quirks & AS_QUIRK_XATTR_LAX)
		allow_too_big(s, inode);
	/* btrfs_setxattr_trans() and xfs_attr_set() set space aside before they look. */
	as_rule_allow_full(s);
	if (old && (s->op->flags & AS_XATTR_CREATE) && !lax)
		return as_rule_refuse(s, EEXIST);
	if (!old && (s->op->flags & AS_XATTR_REPLACE) && !lax)
		return as_rule_refuse(s, ENODATA);
	allow_too_big(s, inode);
	if (!as_rule_accept(s, 0))
		return;
	as_rule_changes(s);
	event = put_event(old, s->op);
	as_node_put_xattr(s->m, w.ino, s->op->name, s->op->len, s->op->fill);
	as_stamp(s->m, w.ino, event);
}

/* The attribute named, for reading or removing; NULL when that was refused, or done. As in
 * set_error, name and path are checked in either order. */
static const struct as_xattr *named(struct as_rule_step *s, bool write, uint32_t *ino)
{
	int err = name_error(s->op->name);
	struct as_walk w = walk_target(s);
	const struct as_xattr *x;

	if (w.err && err)
		as_rule_allow(s, err);
	if (w.err)
		err = w.err;
	*ino = w.ino;
	if (write && !w.err && s->m->readonly) {
		if (err)
			as_rule_allow(s, err);
		if (as_rule_read_only(s))
			return NULL;
	}
	if (!err && as_rule_acl_attribute(s, w.ino))
		return NULL;
	if (!err && write && as_flags_bar(as_inode_flags(inode_at(s->m, w.ino))))
		err = EPERM;
	if (!err)
		err = space_error(s, inode_at(s->m, w.ino), s->op->name, write);
	x = err ? NULL : as_xattr_find(inode_at(s->m, w.ino), s->op->name);
	if (!err && write)
		as_rule_allow_full(s);
	if (!x)
		as_rule_refuse(s, err ? err : ENODATA);
	return x;
}

void as_rule_read_xattr(struct as_rule_step *s)
{
	uint32_t ino;
	const struct as_xattr *x = named(s, false, &ino);
	size_t at;

	if (!x || !as_rule_accept(s, (int64_t)x->len))
		return;
	as_rule_tell_pattern(s, x->len, x->pattern);
	if (!s->got || s->got->payload != AS_PAYLOAD_BYTES)
		return;
	at = as_pattern_check(x->pattern, 0, s->got->data, s->got->len);
	if (at < s->got->len)
		as_rule_wrong(s, "byte %zu of the value is 0x%02x, not what was set", at,
			      ((const uint8_t *)s->got->data)[at]);
}

void as_rule_removexattr(struct as_rule_step *s)
{
	uint32_t ino;

	if (!named(s, true, &ino)) {
		if (s->allowed.must == ENODATA &&
		    s->m->traits->quirks & (AS_QUIRK_XATTR_LAX | AS_QUIRK_XATTR_GONE))
			(void)as_rule_accept(s, 0);
		return;
	}
	if (!as_rule_accept(s, 0))
		return;
	as_rule_changes(s);
	as_node_drop_xattr(s->m, ino, s->op->name);
	as_stamp(s->m, ino, AS_EVENT_ATTRS);
}

/* The name by which an attribute is listed; NULL: it is not. */
static const char *listed(const struct as_model *m, const char *name)
{
	if (!strncmp(name, AS_MARK_ACL_ACCESS, strlen(AS_MARK_ACL_ACCESS)))
		return m->acls_off ? NULL : AS_ACL_ACCESS;
	if (!strncmp(name, AS_MARK_ACL_DEFAULT, strlen(AS_MARK_ACL_DEFAULT)))
		return m->acls_off ? NULL : AS_ACL_DEFAULT;
	return as_mark_is(name) || !as_traits_lists(m->traits, name) ? NULL : name;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool lists_others(const struct as_rule_step *s)
{
	return s->m->traits->quirks & AS_QUIRK_XATTR_PART_REPORTED;
}

static void check_names(struct as_rule_step *s, const char *const *wanted, uint32_t n)
{
	const char *at = s->got->data, *end = at + s->got->len;
	bool others = lists_others(s);

	for (uint32_t i = 0; i < n; i++) {
		const char *want = wanted[i];

		while (others && at < end && strcmp(at, want) < 0)
			at += strlen(at) + 1;
		if (at >= end || strcmp(at, want) > 0)
			return as_rule_wrong(s, "attribute \"%s\" is missing", want);
		if (strcmp(at, want) < 0)
			return as_rule_wrong(s, "attribute \"%s\" should not be there", at);
		at += strlen(at) + 1;
	}
	if (at < end && !others)
		as_rule_wrong(s, "attribute \"%s\" should not be there", at);
}

/* Those that are listed, sorted; *wanted is to be freed. */
static uint32_t names_of(const struct as_rule_step *s, const struct as_inode *inode,
			 const char ***wanted)
{
	const struct as_xattrs *all = inode->xattrs;
	uint32_t n = 0;

	*wanted = all ? as_xmalloc(all->n * sizeof(**wanted)) : NULL;
	for (uint32_t i = 0; all && i < all->n; i++) {
		const char *name = listed(s->m, all->x[i].name->s);

		if (name)
			(*wanted)[n++] = name;
	}
	if (n)
		qsort(*wanted, n, sizeof(**wanted), by_name);
	return n;
}

void as_rule_listxattr(struct as_rule_step *s)
{
	struct as_walk w = walk_target(s);
	const char **wanted;
	uint32_t n;

	if (w.err)
		return as_rule_refuse(s, w.err);
	/* listxattr(2), ENOTSUP: where there are no attributes at all. */
	if (!as_rule_has(s, AS_FEAT_XATTR_USER) && !as_rule_has(s, AS_FEAT_XATTR_TRUSTED))
		as_rule_allow(s, EOPNOTSUPP);
	n = names_of(s, inode_at(s->m, w.ino), &wanted);
	if (s->got && s->got->ret >= 0 && s->got->payload == AS_PAYLOAD_NAMES) {
		check_names(s, wanted, n);
		(void)as_rule_accept(s, -1);
	} else {
		(void)as_rule_accept(s, lists_others(s) ? -1 : (int64_t)n);
	}
	for (uint32_t i = 0; i < n; i++)
		as_rule_tell_name(s, 0, wanted[i]);
	as_rule_tell_names(s, lists_others(s));
	free(wanted);
}
