/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xattrs: the extended attributes of an inode: a sorted list that copies of the inode share. */
#include "model/state.h"

#include <string.h>

struct as_xattr *as_xattr_find(const struct as_inode *inode, const char *name)
{
	for (uint32_t i = 0; inode->xattrs && i < inode->xattrs->n; i++)
		if (strcmp(inode->xattrs->x[i].name->s, name) == 0)
			return &inode->xattrs->x[i];
	return NULL;
}

/* A copy with room for one more, without `name`. */
static struct as_xattrs *without(const struct as_xattrs *old, const char *name)
{
	uint32_t n = old ? old->n : 0;
	struct as_xattrs *fresh = as_xmalloc(sizeof(*fresh) + (n + 1) * sizeof(fresh->x[0]));

	fresh->ref = 1;
	fresh->n = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (strcmp(old->x[i].name->s, name) == 0)
			continue;
		fresh->x[fresh->n] = old->x[i];
		as_name_get(fresh->x[fresh->n++].name);
	}
	return fresh;
}

static void replace(struct as_model *m, uint32_t ino, struct as_xattrs *fresh)
{
	struct as_ino_pair before;
	struct as_inode *inode = as_node_edit(m, ino, &before);

	as_xattrs_put(inode->xattrs);
	inode->xattrs = fresh;
	if (fresh->n == 0) {
		as_xattrs_put(fresh);
		inode->xattrs = NULL;
	}
	as_node_finish(m, inode, &before);
}

void as_node_put_xattr(struct as_model *m, uint32_t ino, const char *name, uint64_t len,
		       uint64_t pattern)
{
	struct as_xattrs *fresh = without(inode_at(m, ino)->xattrs, name);
	uint32_t at = fresh->n;

	while (at > 0 && strcmp(fresh->x[at - 1].name->s, name) > 0)
		at--;
	memmove(&fresh->x[at + 1], &fresh->x[at], (fresh->n - at) * sizeof(fresh->x[0]));
	fresh->x[at] = (struct as_xattr){ as_name_new(name, strlen(name)), len, pattern };
	fresh->n++;
	replace(m, ino, fresh);
}

void as_node_drop_xattr(struct as_model *m, uint32_t ino, const char *name)
{
	replace(m, ino, without(inode_at(m, ino)->xattrs, name));
}
