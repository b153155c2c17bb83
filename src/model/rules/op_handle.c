/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * op_handle: handles of files: name_to_handle_at(2) and open_by_handle_at(2). A handle is
 * remembered under the path it was asked for, as the workload spells it; what the path names later
 * does not matter. Handles outlive names, descriptors, mounts and power cuts. An inode of the model
 * never gets the number of another one, so that a handle leads to its inode or to nothing.
 */
#include "model/rules/rule.h"

#include <stdlib.h>
#include <string.h>

#define HANDLES_MAX 64u /* what is beyond is not judged */

struct as_handle_of {
	struct as_name *name; /* the path, as the workload spells it */
	uint32_t ino; /* 0: nothing is known of it */
};

struct as_handles {
	uint32_t ref, n;
	struct as_handle_of h[];
};

struct as_handles *as_handles_get(struct as_handles *handles)
{
	if (handles)
		handles->ref++;
	return handles;
}

void as_handles_put(struct as_handles *handles)
{
	if (!handles || --handles->ref)
		return;
	for (uint32_t i = 0; i < handles->n; i++)
		as_name_put(handles->h[i].name);
	free(handles);
}

static uint32_t find(const struct as_model *m, const char *path)
{
	for (uint32_t i = 0; m->handles && i < m->handles->n; i++)
		if (!strcmp(m->handles->h[i].name->s, path))
			return m->handles->h[i].ino;
	return 0;
}

static void remember(struct as_model *m, const char *path, uint32_t ino)
{
	uint32_t n = m->handles ? m->handles->n : 0;
	struct as_handles *fresh = as_xmalloc(sizeof(*fresh) + (n + 1) * sizeof(fresh->h[0]));

	fresh->ref = 1;
	fresh->n = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!strcmp(m->handles->h[i].name->s, path))
			continue;
		fresh->h[fresh->n] = m->handles->h[i];
		as_name_get(fresh->h[fresh->n++].name);
	}
	if (fresh->n < HANDLES_MAX)
		fresh->h[fresh->n++] =
			(struct as_handle_of){ as_name_new(path, strlen(path)), ino };
	as_handles_put(m->handles);
	m->handles = fresh;
}

void as_rule_handle(struct as_rule_step *s)
{
	struct as_walk w =
		as_walk_path(s->m, s->op->path, s->op->nofollow ? WALK_NOFOLLOW : WALK_FOLLOW);
	bool known = as_rule_has(s, AS_FEAT_HANDLE);

	if (w.err)
		return as_rule_refuse(s, w.err);
	/* name_to_handle_at(2), EOPNOTSUPP: a type without export operations. Of one that we do not
	 * know, handles may be given out and may not last. */
	if (!known)
		as_rule_refuse(s, EOPNOTSUPP);
	if ((known || (s->got && s->got->ret >= 0)) && as_rule_accept(s, 0))
		remember(s->m, s->op->path, known ? w.ino : 0);
}

/* An inode that the kernel has not let go yet has no name, and so is no other file. */
static bool lingers(const struct as_rule_step *s)
{
	return s->got && s->got->ret >= 0 && s->got->payload == AS_PAYLOAD_STAT &&
	       s->got->st.nlink == 0;
}

void as_rule_openhandle(struct as_rule_step *s)
{
	uint32_t ino = find(s->m, s->op->path);
	const struct as_inode *inode = ino ? inode_at(s->m, ino) : NULL;

	/* CAP_DAC_READ_SEARCH, which root of a user namespace has not. */
	if (as_rule_has(s, AS_FEAT_UNPRIVILEGED))
		as_rule_allow(s, EPERM);
	if (!ino) {
		/* The executor says EBADF where it has none, and may have one of before. */
		as_rule_allow(s, ESTALE);
		as_rule_refuse(s, EBADF);
		if (s->got && s->got->ret >= 0)
			(void)as_rule_accept(s, -1);
		return;
	}
	if (!inode) {
		as_rule_refuse(s, ESTALE);
		if (lingers(s))
			(void)as_rule_accept(s, 0);
		return;
	}
	/* A removed directory has no way to the root (reconnect_path()). */
	if (is_dir(inode) && inode->nlink == 0)
		as_rule_allow(s, ESTALE);
	if (as_rule_accept(s, 0))
		as_rule_check_stat(s, inode);
}
