/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table: a hash table of indexes. Its owner keeps the items in an array, so that one table serves
 * every kind of item and key. The owner hashes the keys, and says whether the item at an index has
 * the key that is looked for:
 *
 *	struct key { const struct names *names; const char *name; };
 *	static bool is_name(const void *ctx, size_t index) { ... names->items[index] ... }
 *
 *	i = as_table_find(&names->table, as_hash64(name, len), is_name, &key);
 *	if (i == AS_TABLE_NONE)
 *		as_table_add(&names->table, as_hash64(name, len), names->n++);
 *
 * A table that is all zero is empty. An item that moves in the array is removed and added.
 */
#ifndef AS_BASE_TABLE_H
#define AS_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AS_TABLE_NONE SIZE_MAX

struct as_table {
	struct as_table_slot *slots; /* mask + 1 of them; NULL: the table is empty */
	size_t n, mask;
};

typedef bool (*as_table_same_fn)(const void *ctx, size_t index);

/* The index of the item with that hash for which `same` is true, or AS_TABLE_NONE. */
size_t as_table_find(const struct as_table *table, uint64_t hash, as_table_same_fn same,
		     const void *ctx);
/* `index` is less than 2^32 - 1. The caller makes sure that it is not in the table yet. */
void as_table_add(struct as_table *table, uint64_t hash, size_t index);
/* The index was added with the same hash. */
void as_table_remove(struct as_table *table, uint64_t hash, size_t index);
void as_table_clear(struct as_table *table);
void as_table_free(struct as_table *table);

#endif
