/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pending: see pending.h. A hash table with open addressing. */
#include "trace/pending.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

#define PENDING_MAX 16384u
#define SIZE (PENDING_MAX * 2)
#define KEEP_BYTES 4096
#define BYTES_MAX ((size_t)32 << 20)

void as_pendings_open(struct as_pendings *p)
{
	*p = (struct as_pendings){ .size = SIZE };
	p->at = as_xcalloc(SIZE, sizeof(*p->at));
}

void as_pendings_close(struct as_pendings *p)
{
	for (unsigned i = 0; i < p->size; i++)
		free(p->at[i].text);
	free(p->at);
}

static unsigned place(const struct as_pendings *p, unsigned key)
{
	unsigned i = (unsigned)as_mix64(key) % SIZE;

	while (p->at[i].used && p->at[i].key != key)
		i = (i + 1) % SIZE;
	return i;
}

/* Those after it move up, so that all are still found. */
static void remove_at(struct as_pendings *p, unsigned i)
{
	p->bytes -= p->at[i].cap;
	free(p->at[i].text);
	p->at[i] = (struct as_pending){ 0 };
	p->n--;
	p->last = 0;
	for (;;) {
		struct as_pending moved;

		i = (i + 1) % p->size;
		moved = p->at[i];
		if (!moved.used)
			return;
		p->at[i] = (struct as_pending){ 0 };
		p->at[place(p, moved.key)] = moved;
	}
}

#define LOOK 64

/* Removes the next one that has nothing pending; if there is none near by, the next of all. It goes
 * on where it ended last, so that the table stays evenly filled. */
static void make_room(struct as_pendings *p)
{
	unsigned first = p->size, i;

	for (unsigned n = 0; n < LOOK || first == p->size; n++) {
		i = (p->hand + n) % p->size;
		if (!p->at[i].used)
			continue;
		if (first == p->size || !p->at[i].active)
			first = i;
		if (!p->at[i].active)
			break;
	}
	p->hand = (first + 1) % p->size;
	p->dropped += p->at[first].active;
	remove_at(p, first);
}

/* Frees texts in turn, all but that of `but`, until there is room for `more` bytes. */
static void make_bytes(struct as_pendings *p, const struct as_pending *but, size_t more)
{
	for (unsigned n = 0; n < p->size && p->bytes + more > BYTES_MAX; n++) {
		struct as_pending *at = &p->at[p->hand];

		p->hand = (p->hand + 1) % p->size;
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
	unsigned i;

	if (p->last && p->at[p->last - 1].used && p->at[p->last - 1].key == key)
		return &p->at[p->last - 1];
	i = place(p, key);
	return p->at[i].used ? &p->at[i] : NULL;
}

struct as_pending *as_pendings_get(struct as_pendings *p, unsigned key)
{
	struct as_pending *found = as_pendings_find(p, key);
	unsigned i;

	if (found) {
		p->last = (unsigned)(found - p->at) + 1;
		return found;
	}
	if (p->n >= PENDING_MAX)
		make_room(p);
	i = place(p, key);
	p->at[i].used = true;
	p->at[i].key = key;
	p->n++;
	p->last = i + 1;
	return &p->at[i];
}

void as_pendings_end(struct as_pendings *p, unsigned key)
{
	struct as_pending *found = as_pendings_find(p, key);

	if (found)
		remove_at(p, (unsigned)(found - p->at));
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

	for (unsigned i = 0; i < p->size; i++)
		n += p->at[i].used && p->at[i].active;
	return n;
}
