/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loose: files of which the model knows names and attributes, but no longer what they contain. */
#include "base/array.h"
#include "model/state.h"

#include <stdlib.h>

struct loosening {
	struct as_model *m;
	uint32_t *ino;
	size_t n, cap;
	bool all;
};

static void note(struct loosening *l, uint32_t ino)
{
	AS_ARRAY_ROOM(l->ino, l->n, l->cap);
	l->ino[l->n++] = ino;
}

/* The vectors may not change while they are walked. */
static int note_inode(void *ctx, uint32_t index, void *elem)
{
	struct loosening *l = ctx;
	const struct as_inode *inode = elem;

	(void)index;
	if (is_reg(inode) && l->all)
		note(l, inode->ino);
	return 0;
}

static int note_open(void *ctx, uint32_t slot, void *elem)
{
	struct loosening *l = ctx;
	const struct as_file *file = elem;
	const struct as_inode *inode = inode_at(l->m, file->ino);

	(void)slot;
	if (inode && is_reg(inode) && file->flags & (AS_O_WRONLY | AS_O_RDWR))
		note(l, file->ino);
	return 0;
}

void as_model_loosen(struct as_model *m, bool all)
{
	struct loosening l = { .m = m, .all = all };

	if (all)
		(void)as_vec_each(&m->inodes, note_inode, &l);
	else
		(void)as_vec_each(&m->files, note_open, &l);
	for (size_t i = 0; i < l.n; i++) {
		struct as_inode *inode =
			as_vec_edit(&m->inodes, l.ino[i], as_inode_dup, as_inode_put);

		inode->flags |= INODE_LOOSE;
	}
	free(l.ino);
}

bool as_model_is_loose(const struct as_model *m, uint32_t ino)
{
	const struct as_inode *inode = ino ? inode_at(m, ino) : NULL;

	return inode && inode->flags & INODE_LOOSE;
}
