/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table: see table.h. Open addressing with linear probing.
 *
 *  1. At most three quarters of the slots are in use, so that every search ends.
 *  2. All slots from the one that a hash leads to up to the one that holds its index are in use.
 *     Removing moves those after it up, so there are no tombstones.
 */
#include "base/table.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

#define FIRST 16u

struct as_table_slot {
	uint32_t hash;
	uint32_t next; /* the index plus one; 0: free */
};

/* The product mixes all bits of the hash, so that a poor hash works, too. */
static uint32_t fold(uint64_t hash)
{
	return (uint32_t)((hash * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

static void put(struct as_table *t, struct as_table_slot slot)
{
	size_t i = slot.hash & t->mask;

	while (t->slots[i].next)
		i = (i + 1) & t->mask;
	t->slots[i] = slot;
}

static void grow(struct as_table *t)
{
	struct as_table_slot *old = t->slots;
	size_t n_old = old ? t->mask + 1 : 0, n = n_old ? 2 * n_old : FIRST;

	t->slots = as_xcalloc(n, sizeof(*t->slots));
	t->mask = n - 1;
	for (size_t i = 0; i < n_old; i++)
		if (old[i].next)
			put(t, old[i]);
	free(old);
}

size_t as_table_find(const struct as_table *t, uint64_t hash, as_table_same_fn same,
		     const void *ctx)
{
	uint32_t want = fold(hash);

	if (!t->slots)
		return AS_TABLE_NONE;
	for (size_t i = want & t->mask; t->slots[i].next; i = (i + 1) & t->mask)
		if (t->slots[i].hash == want && same(ctx, t->slots[i].next - 1))
			return t->slots[i].next - 1;
	return AS_TABLE_NONE;
}

void as_table_add(struct as_table *t, uint64_t hash, size_t index)
{
	as_assert(index < UINT32_MAX);
	if (!t->slots || 4 * (t->n + 1) > 3 * (t->mask + 1))
		grow(t);
	put(t, (struct as_table_slot){ fold(hash), (uint32_t)index + 1 });
	t->n++;
}

void as_table_remove(struct as_table *t, uint64_t hash, size_t index)
{
	size_t at = fold(hash) & t->mask, next;

	as_assert(t->slots);
	while (t->slots[at].next != index + 1) {
		as_assert(t->slots[at].next);
		at = (at + 1) & t->mask;
	}
	for (next = (at + 1) & t->mask; t->slots[next].next; next = (next + 1) & t->mask) {
		size_t home = t->slots[next].hash & t->mask;

		/* It may move up to `at` unless its home is after `at`. */
		if (((next - home) & t->mask) >= ((next - at) & t->mask)) {
			t->slots[at] = t->slots[next];
			at = next;
		}
	}
	t->slots[at].next = 0;
	t->n--;
}

void as_table_clear(struct as_table *t)
{
	if (t->slots)
		memset(t->slots, 0, (t->mask + 1) * sizeof(*t->slots));
	t->n = 0;
}

void as_table_free(struct as_table *t)
{
	free(t->slots);
	*t = (struct as_table){ 0 };
}
