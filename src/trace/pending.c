/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pending: see pending.h. */
#include "trace/pending.h"
#include "base/array.h"

#include <stdlib.h>

#define PENDING_MAX 16384u
#define KEEP_BYTES 4096
#define BYTES_MAX ((size_t)32 << 20)

void as_pendings_open(struct as_pendings *p)
{
	*p = (struct as_pendings){ 0 };
}

void as_pendings_close(struct as_pendings *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->at[i].text);
	free(p->at);
	as_table_free(&p->table);
}

/* The last one takes its place. */
static void remove_at(struct as_pendings *p, size_t i)
{
	p->bytes -= p->at[i].cap;
	free(p->at[i].text);
	as_table_remove(&p->table, p->at[i].key, i);
	p->last = 0;
	if (i == --p->n)
		return;
	p->at[i] = p->at[p->n];
	as_table_move(&p->table, p->at[i].key, p->n, i);
}

#define LOOK 64

/* Removes the next one that has nothing pending; if there is none near by, the next of all. It goes
 * on where it ended last, so that each has its turn. There is at least one. */
static void make_room(struct as_pendings *p)
{
	size_t next = p->hand % p->n;

	for (size_t n = 0; n < LOOK; n++) {
		size_t i = (p->hand + n) % p->n;

		if (!p->at[i].active) {
			next = i;
			break;
		}
	}
	p->hand = next + 1;
	p->dropped += p->at[next].active;
	remove_at(p, next);
}

/* Frees texts in turn, all but that of `but`, until there is room for `more` bytes. */
static void make_bytes(struct as_pendings *p, const struct as_pending *but, size_t more)
{
	for (size_t n = 0; n < p->n && p->bytes + more > BYTES_MAX; n++) {
		struct as_pending *at = &p->at[p->hand++ % p->n];

		if (at == but || !at->text)
			continue;
		p->dropped += at->active;
		at->active = false;
		p->bytes -= at->cap;
		free(at->text);
		at->text = NULL;
		at->cap = at->len = 0;
	}
}

struct as_pending *as_pendings_find(struct as_pendings *p, unsigned key)
{
	size_t i;

	if (p->last && p->at[p->last - 1].key == key)
		return &p->at[p->last - 1];
	i = as_table_get(&p->table, key);
	return i == AS_TABLE_NONE ? NULL : &p->at[i];
}

struct as_pending *as_pendings_get(struct as_pendings *p, unsigned key)
{
	struct as_pending *found = as_pendings_find(p, key);

	if (!found) {
		if (p->n >= PENDING_MAX)
			make_room(p);
		AS_ARRAY_ROOM(p->at, p->n, p->cap);
		as_table_add(&p->table, key, p->n);
		found = &p->at[p->n++];
		*found = (struct as_pending){ .key = key };
	}
	p->last = (size_t)(found - p->at) + 1;
	return found;
}

void as_pendings_end(struct as_pendings *p, unsigned key)
{
	struct as_pending *found = as_pendings_find(p, key);

	if (found)
		remove_at(p, (size_t)(found - p->at));
}

void as_pending_room(struct as_pendings *p, struct as_pending *pending, size_t len)
{
	size_t cap = len > 512 ? len : 512;

	if (len <= pending->cap && (pending->cap <= KEEP_BYTES || len > KEEP_BYTES))
		return;
	if (cap > pending->cap)
		make_bytes(p, pending, cap - pending->cap);
	p->bytes += cap - pending->cap;
	pending->cap = cap;
	pending->text = as_xrealloc(pending->text, cap);
}

uint64_t as_pendings_active(const struct as_pendings *p)
{
	uint64_t n = p->dropped;

	for (size_t i = 0; i < p->n; i++)
		n += p->at[i].active;
	return n;
}
