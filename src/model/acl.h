/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * acl: access control lists of inodes, and how they and the permission bits follow each other
 * (acl(5), Linux's fs/posix_acl.c). A list is a mark (mark.h) that has all of it in its name.
 *
 *   1. An access list that says no more than permission bits can say is not kept: only the bits
 *      are. So a list that is kept has a mask, and the bits of the group are those of the mask.
 *   2. A default list is kept whatever it says, by directories alone. It does nothing to its
 *      directory; what is made there gets it, cut down by the mode, as its access list, and a
 *      directory also gets it as its default list.
 */
#ifndef AS_MODEL_ACL_H
#define AS_MODEL_ACL_H

#include "model/state.h"
#include "work/acl.h"

/* posix_acl_valid(): what is there, in which order, and a mask where somebody is named. */
bool as_acl_valid(const struct as_acl *acl);
/* posix_acl_equiv_mode(): the permission bits of a valid list; true: they say all of it. */
bool as_acl_to_mode(const struct as_acl *acl, uint32_t *mode);

/* The list of an inode; false: it has none. */
bool as_inode_acl(const struct as_inode *inode, bool is_default, struct as_acl *acl);
/* A list without entries: none from now on. */
void as_node_set_acl(struct as_model *m, uint32_t ino, bool is_default, const struct as_acl *acl);

/* Whether lists count now: the type has them, and the mount has not turned them off. */
bool as_model_acls(const struct as_model *m);
/* posix_acl_chmod(): the list of an inode whose permission bits are others now. */
void as_model_acl_follows(struct as_model *m, uint32_t ino);

/* posix_acl_create(): what a new inode of that mode in `dir` gets. *mode is cut down. */
struct as_acl_new {
	struct as_acl access, deflt; /* no entries: none */
};
void as_acl_inherit(const struct as_inode *dir, uint32_t *mode, struct as_acl_new *fresh);

#endif
