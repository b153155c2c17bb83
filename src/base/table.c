/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table: see table.h. Open addressing with linear probing.
 *
 *  1. At most half of the slots are in use, so that every search ends, and soon. In a fixed place
 *     it may be three quarters, because such a table cannot have all the memory it likes.
 *  2. All slots from the one that a key leads to up to the one that holds its item are in use.
 *     Removing moves those after it up, so there are no tombstones.
 *  3. A table of more than FIRST slots has at least a sixteenth of them in use, unless it was
 *     cleared or has a fixed place. So a removal costs O(1) on average, whatever came before.
 */
#include "base/table.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

#define FIRST 16u

_Static_assert(sizeof(size_t) >= sizeof(void *), "an item may be a pointer");

static size_t slots_of(const struct as_table *t)
{
	return t->slots ? t->mask + 1 : 0;
}

static size_t room_in(size_t slots, bool fixed)
{
	return fixed ? slots / 4 * 3 : slots / 2;
}

static void set_slots(struct as_table *t, struct as_table_slot *slots, size_t n)
{
	t->slots = slots;
	t->mask = n - 1;
	t->room = room_in(n, t->most);
	t->few = t->most || n == FIRST ? 0 : n / 16;
}

static void put(struct as_table *t, struct as_table_slot slot)
{
	size_t i = slot.key & t->mask;

	while (t->slots[i].next)
		i = (i + 1) & t->mask;
	t->slots[i] = slot;
}

static void put_all(struct as_table *t, const struct as_table_slot *slots, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (slots[i].next)
			put(t, slots[i]);
}

static void resize(struct as_table *t, size_t n)
{
	struct as_table_slot *old = t->slots;
	size_t n_old = slots_of(t);

	set_slots(t, as_xcalloc(n, sizeof(*t->slots)), n);
	put_all(t, old, n_old);
	free(old);
}

/* The slots stay where they are, so what they hold is put aside. */
static void grow_in_place(struct as_table *t)
{
	size_t n = t->mask + 1;
	struct as_table_slot *old = as_xmalloc(n * sizeof(*old));

	as_assert(2 * n <= t->most);
	memcpy(old, t->slots, n * sizeof(*old));
	memset(t->slots, 0, n * sizeof(*old));
	set_slots(t, t->slots, 2 * n);
	put_all(t, old, n);
	free(old);
}

void as_table_grow(struct as_table *t)
{
	if (t->most)
		grow_in_place(t);
	else
		resize(t, t->slots ? 2 * slots_of(t) : FIRST);
}

/* The slot that holds the item, which must be there. */
static inline size_t slot_of(const struct as_table *t, uint64_t hash, size_t item)
{
	size_t at = as_table_mix(hash) & t->mask;

	as_assert(t->slots);
	while (t->slots[at].next != item + 1) {
		as_assert(t->slots[at].next);
		at = (at + 1) & t->mask;
	}
	return at;
}

void as_table_remove(struct as_table *t, uint64_t hash, size_t item)
{
	size_t at = slot_of(t, hash, item), next, n;

	for (next = (at + 1) & t->mask; t->slots[next].next; next = (next + 1) & t->mask) {
		size_t home = t->slots[next].key & t->mask;

		/* It may move up to `at` unless its home is after `at`. */
		if (((next - home) & t->mask) >= ((next - at) & t->mask)) {
			t->slots[at] = t->slots[next];
			at = next;
		}
	}
	t->slots[at].next = 0;
	if (--t->n >= t->few)
		return;
	n = slots_of(t) / 4;
	resize(t, n > FIRST ? n : FIRST);
}

void as_table_move(struct as_table *t, uint64_t hash, size_t from, size_t to)
{
	as_assert(to != AS_TABLE_NONE);
	t->slots[slot_of(t, hash, from)].next = to + 1;
}

void as_table_copy(struct as_table *t, const struct as_table *from)
{
	size_t n = slots_of(from);

	*t = (struct as_table){ .n = from->n };
	if (!n)
		return;
	set_slots(t, as_xmalloc(n * sizeof(*t->slots)), n);
	memcpy(t->slots, from->slots, n * sizeof(*t->slots));
}

void as_table_clear(struct as_table *t)
{
	if (t->slots)
		memset(t->slots, 0, slots_of(t) * sizeof(*t->slots));
	t->n = 0;
}

void as_table_free(struct as_table *t)
{
	if (!t->most)
		free(t->slots);
	*t = (struct as_table){ 0 };
}

size_t as_table_bytes(const struct as_table *t)
{
	return slots_of(t) * sizeof(*t->slots);
}

size_t as_table_next(const struct as_table *t, size_t *at)
{
	size_t i = *at;

	if (!t->n)
		return AS_TABLE_NONE;
	while (!t->slots[i & t->mask].next)
		i++;
	*at = i + 1;
	return t->slots[i & t->mask].next - 1;
}

/* ---- In a fixed place ------------------------------------------------------------------------ */

void as_table_place(struct as_table *t, void *place, size_t bytes)
{
	size_t most = FIRST;

	as_assert(bytes >= FIRST * sizeof(*t->slots));
	while (2 * most <= bytes / sizeof(*t->slots))
		most *= 2;
	*t = (struct as_table){ .most = most };
	set_slots(t, place, FIRST);
}

bool as_table_is_full(const struct as_table *t)
{
	return t->most && t->n >= room_in(t->most, true);
}
