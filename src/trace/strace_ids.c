/* SPDX-License-Identifier: GPL-2.0-or-later */
/* strace_ids: see strace_ids.h. This is a list, since there are few processes. If there are too
 * many to search, only the first are kept. */
#include "trace/strace_ids.h"
#include "base/array.h"

#include <stdlib.h>

#define MOST 1024

void as_strace_ids_open(struct as_strace_ids *ids, unsigned first)
{
	*ids = (struct as_strace_ids){ .nameless = first };
	as_strace_ids_add(ids, first);
}

void as_strace_ids_close(struct as_strace_ids *ids)
{
	free(ids->at);
}

bool as_strace_ids_has(const struct as_strace_ids *ids, unsigned tid)
{
	for (unsigned i = 0; i < ids->n; i++)
		if (ids->at[i] == tid)
			return true;
	return false;
}

void as_strace_ids_add(struct as_strace_ids *ids, unsigned tid)
{
	if (ids->n >= MOST || as_strace_ids_has(ids, tid))
		return;
	AS_ARRAY_ROOM(ids->at, ids->n, ids->cap);
	ids->at[ids->n++] = tid;
}

void as_strace_ids_named(struct as_strace_ids *ids, unsigned tid)
{
	as_strace_ids_ended(ids, ids->nameless);
	ids->nameless = 0;
	as_strace_ids_add(ids, tid);
}

void as_strace_ids_ended(struct as_strace_ids *ids, unsigned tid)
{
	for (unsigned i = 0; i < ids->n; i++)
		if (ids->at[i] == tid) {
			ids->at[i] = ids->at[--ids->n];
			return;
		}
}

unsigned as_strace_ids_only(const struct as_strace_ids *ids)
{
	if (ids->nameless || !ids->n)
		return ids->nameless ? ids->nameless : 1;
	return ids->at[0];
}
