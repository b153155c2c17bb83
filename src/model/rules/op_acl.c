/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * op_acl: setting and reading access control lists, by operations of their own and as attributes:
 * system.posix_acl_access and system.posix_acl_default. Order of errors as in Linux's
 * fs/posix_acl.c, vfs_set_acl() and set_posix_acl(), which was the same before Linux 6.2.
 */
#include "model/acl.h"
#include "model/mark.h"
#include "model/rules/rule.h"

#include <string.h>

static struct as_walk walk_target(const struct as_rule_step *s)
{
	return as_walk_path(s->m, s->op->path, s->op->nofollow ? WALK_NOFOLLOW : WALK_FOLLOW);
}

/* Whether an inode can have lists; false: the answer is that it cannot. */
static bool has_lists(struct as_rule_step *s, const struct as_inode *inode)
{
	bool known = as_traits_may(s->m->traits, AS_FEAT_ACL);

	if (as_rule_has(s, AS_FEAT_ACL) && !s->m->acls_off && !S_ISLNK(inode->mode))
		return true;
	as_rule_refuse(s, EOPNOTSUPP);
	if (known && !(s->m->traits->features & AS_FEAT_ACL))
		as_rule_allow(s, EINVAL);
	if (known || as_rule_has(s, AS_FEAT_LIBRARY) || S_ISLNK(inode->mode))
		return false;
	/* A server of FUSE may keep them as attributes without a meaning. What is said of a type
	 * that we do not know is believed, and nothing is said of it from now on. */
	as_rule_allow(s, ENODATA);
	as_rule_allow(s, EPERM);
	as_rule_allow(s, EACCES);
	as_rule_allow(s, EINVAL);
	if (s->got && s->got->ret >= 0 && as_rule_accept(s, -1))
		s->m->lost = true;
	return false;
}

/* As a mark: whether it is the same list as before. */
static bool same_list(const struct as_inode *inode, bool is_default, const struct as_acl *acl)
{
	struct as_buf was = { 0 }, is = { 0 };
	struct as_acl old;
	bool same;

	(void)as_inode_acl(inode, is_default, &old);
	as_acl_print(&old, &was);
	as_acl_print(acl, &is);
	same = !strcmp(as_buf_str(&was), as_buf_str(&is));
	as_buf_free(&was);
	as_buf_free(&is);
	return same;
}

/* posix_acl_update_mode(): the permission bits follow an access list, which is not kept if it says
 * no more than they do. The power may be cut between the two: xfs_set_acl() sets the mode in a
 * transaction of its own. */
static void set_list(struct as_rule_step *s, uint32_t ino, bool is_default, struct as_acl *acl)
{
	const struct as_inode *inode = inode_at(s->m, ino);
	uint32_t mode = inode->mode & 0777;
	bool same, kept;

	if (acl->n && !is_default && as_acl_to_mode(acl, &mode))
		acl->n = 0;
	kept = same_list(inode, is_default, acl);
	same = kept && mode == (inode->mode & 0777u);
	as_rule_changes(s);
	if (!kept)
		as_node_set_acl(s->m, ino, is_default, acl);
	if (kept || !s->one_call) {
		struct as_ino_pair before;
		struct as_inode *edit = as_node_edit(s->m, ino, &before);

		edit->mode = (uint16_t)((edit->mode & ~0777u) | mode);
		as_node_finish(s->m, edit, &before);
	}
	as_stamp(s->m, ino, same ? AS_EVENT_SAME_ATTRS : AS_EVENT_ATTRS);
}

/* Puts a list, which may be none, in place of the old one. */
static void put(struct as_rule_step *s, uint32_t ino, bool is_default, struct as_acl *acl)
{
	const struct as_inode *inode = inode_at(s->m, ino);

	/* may_write_xattr() */
	if (as_flags_bar(as_inode_flags(inode)))
		return as_rule_refuse(s, EPERM);
	if (!has_lists(s, inode))
		return;
	if (is_default && !is_dir(inode)) {
		/* set_posix_acl(): "acl ? -EACCES : 0" */
		if (acl->n) {
			as_rule_refuse(s, EACCES);
			/* A user namespace may lack an id: posix_acl_from_xattr(), before that. */
			if (as_rule_has(s, AS_FEAT_UNPRIVILEGED))
				as_rule_allow(s, EINVAL);
		} else
			(void)as_rule_accept(s, 0);
		return;
	}
	if (acl->n && !as_acl_valid(acl))
		return as_rule_refuse(s, EINVAL);
	/* A user namespace may lack an id: posix_acl_from_xattr(). */
	if (as_rule_has(s, AS_FEAT_UNPRIVILEGED))
		as_rule_allow(s, EINVAL);
	/* As of other attributes: how much fits differs. */
	as_rule_allow_full(s);
	as_rule_allow(s, E2BIG);
	if (as_rule_accept(s, 0))
		set_list(s, ino, is_default, acl);
}

void as_rule_setacl(struct as_rule_step *s)
{
	struct as_acl acl;
	struct as_walk w;

	/* Decided by the executor: docs/FORMAT.md. */
	if (!as_acl_parse(s->op->name, &acl))
		return as_rule_refuse(s, EINVAL);
	w = walk_target(s);
	if (w.err)
		return as_rule_refuse(s, w.err);
	if (as_rule_read_only(s))
		return;
	put(s, w.ino, s->op->flags, &acl);
}

static void get(struct as_rule_step *s, uint32_t ino, bool is_default)
{
	const struct as_inode *inode = inode_at(s->m, ino);
	uint8_t bytes[AS_ACL_BYTES];
	struct as_acl acl, told;
	struct as_buf text = { 0 };
	size_t len;

	if (!has_lists(s, inode))
		return;
	if (!as_inode_acl(inode, is_default, &acl))
		return as_rule_refuse(s, ENODATA);
	len = as_acl_encode(&acl, bytes);
	as_rule_tell_text(s, bytes, len);
	if (s->got && s->got->payload == AS_PAYLOAD_BYTES &&
	    (s->got->len != len || memcmp(s->got->data, bytes, len) != 0)) {
		if (as_acl_decode(s->got->data, s->got->len, &told))
			as_acl_print(&told, &text);
		else
			as_buf_addf(&text, "%zu bytes that are no list", s->got->len);
		as_buf_adds(&text, ", model says ");
		as_acl_print(&acl, &text);
		as_rule_wrong(s, "says %s", as_buf_str(&text));
		as_buf_free(&text);
	}
	(void)as_rule_accept(s, (int64_t)len);
}

void as_rule_getacl(struct as_rule_step *s)
{
	struct as_walk w = walk_target(s);

	if (w.err)
		return as_rule_refuse(s, w.err);
	get(s, w.ino, s->op->flags);
}

bool as_rule_acl_attribute(struct as_rule_step *s, uint32_t ino)
{
	struct as_acl none = { 0 };
	bool is_default;

	if (!as_acl_is_attribute(s->op->name, &is_default))
		return false;
	if (s->op->code == AS_OP_READ_XATTR) {
		get(s, ino, is_default);
	} else if (s->op->code == AS_OP_REMOVEXATTR) {
		put(s, ino, is_default, &none);
	} else if (s->op->len) {
		/* A pattern is no list: posix_acl_from_xattr(). */
		if (as_flags_bar(as_inode_flags(inode_at(s->m, ino))))
			as_rule_allow(s, EPERM);
		as_rule_allow(s, EINVAL);
		if (has_lists(s, inode_at(s->m, ino)))
			as_rule_refuse(s, EOPNOTSUPP);
	} else {
		/* Linux since 6.2 takes it for no list; before, it was EINVAL. */
		as_rule_allow(s, EINVAL);
		put(s, ino, is_default, &none);
	}
	return true;
}
