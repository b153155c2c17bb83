/* SPDX-License-Identifier: GPL-2.0-or-later */
/* acl: see acl.h. */
#include "model/acl.h"

#include "model/mark.h"

#include <string.h>

#define READ_WRITE_RUN 7u

bool as_acl_valid(const struct as_acl *acl)
{
	static const uint16_t order[] = { AS_ACL_USER_OBJ, AS_ACL_USER, AS_ACL_GROUP_OBJ,
					  AS_ACL_GROUP,	   AS_ACL_MASK, AS_ACL_OTHER };
	uint16_t seen = 0;
	size_t at = 0;

	for (uint32_t i = 0; i < acl->n; i++) {
		uint16_t tag = acl->entry[i].tag;

		while (at < sizeof(order) / sizeof(order[0]) && order[at] != tag)
			at++;
		if (at == sizeof(order) / sizeof(order[0]))
			return false;
		/* Only those with an id may come again. */
		if (tag & seen & ~(AS_ACL_USER | AS_ACL_GROUP))
			return false;
		seen |= tag;
	}
	if (seen & (AS_ACL_USER | AS_ACL_GROUP) && !(seen & AS_ACL_MASK))
		return false;
	return (seen & (AS_ACL_USER_OBJ | AS_ACL_GROUP_OBJ | AS_ACL_OTHER)) ==
	       (AS_ACL_USER_OBJ | AS_ACL_GROUP_OBJ | AS_ACL_OTHER);
}

/* The entry that permission bits stand for: of the group it is the mask, where there is one. NULL
 * in a list that is not valid. */
static struct as_acl_entry *entry_of(struct as_acl *acl, uint16_t tag)
{
	struct as_acl_entry *found = NULL;

	for (uint32_t i = 0; i < acl->n; i++) {
		uint16_t is = acl->entry[i].tag;

		if (is == tag || (tag == AS_ACL_GROUP_OBJ && is == AS_ACL_MASK))
			found = &acl->entry[i];
	}
	return found;
}

static const struct {
	uint16_t tag;
	unsigned shift; /* of its three bits in a mode */
} classes[] = { { AS_ACL_USER_OBJ, 6 }, { AS_ACL_GROUP_OBJ, 3 }, { AS_ACL_OTHER, 0 } };
#define CLASSES (sizeof(classes) / sizeof(classes[0]))

bool as_acl_to_mode(const struct as_acl *acl, uint32_t *mode)
{
	bool all = true;

	*mode = 0;
	for (size_t i = 0; i < CLASSES; i++) {
		const struct as_acl_entry *e = entry_of((struct as_acl *)acl, classes[i].tag);

		*mode |= e ? (uint32_t)e->perm << classes[i].shift : 0;
	}
	for (uint32_t i = 0; i < acl->n; i++)
		all &= !(acl->entry[i].tag & (AS_ACL_USER | AS_ACL_GROUP | AS_ACL_MASK));
	return all;
}

/* ---- Inodes ---- */

static const char *prefix_of(bool is_default)
{
	return is_default ? AS_MARK_ACL_DEFAULT : AS_MARK_ACL_ACCESS;
}

static const struct as_xattr *find_mark(const struct as_inode *inode, bool is_default)
{
	const char *prefix = prefix_of(is_default);

	for (uint32_t i = 0; inode->xattrs && i < inode->xattrs->n; i++)
		if (!strncmp(inode->xattrs->x[i].name->s, prefix, strlen(prefix)))
			return &inode->xattrs->x[i];
	return NULL;
}

bool as_inode_acl(const struct as_inode *inode, bool is_default, struct as_acl *acl)
{
	const struct as_xattr *mark = find_mark(inode, is_default);

	acl->n = 0;
	return mark && as_acl_parse(mark->name->s + strlen(prefix_of(is_default)), acl);
}

void as_node_set_acl(struct as_model *m, uint32_t ino, bool is_default, const struct as_acl *acl)
{
	const struct as_xattr *old = find_mark(inode_at(m, ino), is_default);
	struct as_buf name = { 0 };

	if (old) {
		as_buf_adds(&name, old->name->s);
		as_node_drop_xattr(m, ino, as_buf_str(&name));
		as_buf_clear(&name);
	}
	if (acl->n) {
		as_buf_adds(&name, prefix_of(is_default));
		as_acl_print(acl, &name);
		as_node_put_xattr(m, ino, as_buf_str(&name), 0, 0);
		m->has_acls = true;
	}
	as_buf_free(&name);
}

/* ---- Following ---- */

bool as_model_acls(const struct as_model *m)
{
	return m->has_acls && !m->acls_off;
}

void as_model_acl_follows(struct as_model *m, uint32_t ino)
{
	const struct as_inode *inode = inode_at(m, ino);
	struct as_acl acl;

	if (!as_model_acls(m) || !as_inode_acl(inode, false, &acl))
		return;
	for (size_t i = 0; i < CLASSES; i++) {
		struct as_acl_entry *e = entry_of(&acl, classes[i].tag);

		if (e)
			e->perm = inode->mode >> classes[i].shift & READ_WRITE_RUN;
	}
	as_node_set_acl(m, ino, false, &acl);
}

void as_acl_inherit(const struct as_inode *dir, uint32_t *mode, struct as_acl_new *fresh)
{
	uint32_t bits;

	fresh->access.n = 0;
	/* posix_acl_create(): a symbolic link gets none. */
	if (S_ISLNK(*mode) || !as_inode_acl(dir, true, &fresh->deflt)) {
		fresh->deflt.n = 0;
		return;
	}
	/* posix_acl_create_masq() */
	fresh->access = fresh->deflt;
	for (size_t i = 0; i < CLASSES; i++) {
		struct as_acl_entry *e = entry_of(&fresh->access, classes[i].tag);

		if (e)
			e->perm &= *mode >> classes[i].shift & READ_WRITE_RUN;
	}
	if (as_acl_to_mode(&fresh->access, &bits))
		fresh->access.n = 0;
	*mode = (*mode & ~0777u) | bits;
	if (!S_ISDIR(*mode))
		fresh->deflt.n = 0;
}
