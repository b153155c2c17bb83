/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table: the hash table of the project. It holds items of one word: an index of an array that the
 * owner keeps, or a pointer. So one table serves every kind of item and key. The owner hashes the
 * keys, and says whether an item has the key that is looked for:
 *
 *	struct key { const struct names *names; const char *name; };
 *	static bool is_name(const void *ctx, size_t index) { ... names->items[index] ... }
 *
 *	i = as_table_find(&names->table, as_hash64(name, len), is_name, &key);
 *	if (i == AS_TABLE_NONE)
 *		as_table_add(&names->table, as_hash64(name, len), names->n++);
 *
 * Two hashes are never mixed up, so a key that is a number needs no such function: the number is
 * its own hash, and as_table_get() finds it. An owner that needs its items in the order in which
 * they came keeps them in an array and walks that.
 *
 * A table that is all zero is empty. It grows and shrinks with what it holds. as_table_place()
 * gives it a fixed place instead, for memory that processes share.
 */
#ifndef AS_BASE_TABLE_H
#define AS_BASE_TABLE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AS_TABLE_NONE SIZE_MAX

struct as_table_slot {
	uint64_t key; /* the hash, mixed */
	size_t next; /* the item plus one; 0: free */
};

struct as_table {
	struct as_table_slot *slots; /* mask + 1 of them; NULL: the table is empty */
	size_t n, mask;
	size_t room, few; /* with `room` items it grows, with fewer than `few` it shrinks */
	size_t most; /* slots that its place has room for; 0: it has no fixed place */
};

typedef bool (*as_table_same_fn)(const void *ctx, size_t item);

/* The item was added with the same hash. */
void as_table_remove(struct as_table *table, uint64_t hash, size_t item);
/* The item `from` is called `to` from now on; its key stays the same. */
void as_table_move(struct as_table *table, uint64_t hash, size_t from, size_t to);
/* A copy of `from`, to hold the same items. `table` is not initialized before. */
void as_table_copy(struct as_table *table, const struct as_table *from);
void as_table_clear(struct as_table *table);
void as_table_free(struct as_table *table);
/* Memory that the slots take. */
size_t as_table_bytes(const struct as_table *table);

/* Walks the items in no particular order: the one in slot *at or in the first slot after it that is
 * in use, round and round. *at may be any number at first. AS_TABLE_NONE: the table is empty. */
size_t as_table_next(const struct as_table *table, size_t *at);

/*
 * Puts an empty table into `bytes` bytes of zeros at `place`, which it never leaves. If the struct
 * and the place are in memory that is shared with children forked later, all of them have the same
 * table. One process at a time may use it. The place is touched only as far as the table has grown.
 * as_table_free() does not free it.
 */
void as_table_place(struct as_table *table, void *place, size_t bytes);
/* Whether no further item has room. Only a table in a fixed place is ever full. */
bool as_table_is_full(const struct as_table *table);

/* The product spreads the bits of a poor hash, and both steps can be undone, so that different
 * hashes stay different. */
static inline uint64_t as_table_mix(uint64_t hash)
{
	hash *= UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

/* The item with that hash for which `same` is true, or AS_TABLE_NONE. It is inline so that `same`
 * is, too. */
static inline size_t as_table_find(const struct as_table *table, uint64_t hash,
				   as_table_same_fn same, const void *ctx)
{
	const struct as_table_slot *slots = table->slots;
	uint64_t key = as_table_mix(hash);

	if (!slots)
		return AS_TABLE_NONE;
	for (size_t i = key & table->mask; slots[i].next; i = (i + 1) & table->mask)
		if (slots[i].key == key && same(ctx, slots[i].next - 1))
			return slots[i].next - 1;
	return AS_TABLE_NONE;
}

/* For as_table_add(): makes room for one more item. */
void as_table_grow(struct as_table *table);
/* The item is less than AS_TABLE_NONE. The caller makes sure that it is not in the table yet, and
 * that a table in a fixed place has room for it. */
static inline void as_table_add(struct as_table *table, uint64_t hash, size_t item)
{
	struct as_table_slot slot = { as_table_mix(hash), item + 1 };
	size_t i;

	as_assert(slot.next);
	if (table->n >= table->room)
		as_table_grow(table);
	for (i = slot.key & table->mask; table->slots[i].next;)
		i = (i + 1) & table->mask;
	table->slots[i] = slot;
	table->n++;
}

static inline bool as_table_any(const void *ctx, size_t item)
{
	(void)ctx;
	(void)item;
	return true;
}

/* The item whose key is a number. */
static inline size_t as_table_get(const struct as_table *table, uint64_t number)
{
	return as_table_find(table, number, as_table_any, NULL);
}

/* ---- Items that are pointers ---- */

/* The item as a pointer; NULL: AS_TABLE_NONE. The item is the address less one, so that this needs
 * no comparison. */
static inline void *as_table_ptr(size_t item)
{
	return (void *)(item + 1);
}

static inline void as_table_add_ptr(struct as_table *table, uint64_t hash, const void *ptr)
{
	as_table_add(table, hash, (size_t)ptr - 1);
}

static inline void as_table_remove_ptr(struct as_table *table, uint64_t hash, const void *ptr)
{
	as_table_remove(table, hash, (size_t)ptr - 1);
}

#endif
