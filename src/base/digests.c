/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * digests: see digests.h. A digest is its own key and item: the low half is the hash, which the
 * table keeps whole, and the item is the high half. AS_TABLE_NONE cannot be an item, so a high half
 * of ones only is taken for the one before it.
 */
#include "base/digests.h"

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "an item is half of a digest");

static size_t item_of(struct as_digest digest)
{
	return digest.hi - (digest.hi == AS_TABLE_NONE);
}

static bool is_item(const void *ctx, size_t item)
{
	return item == *(const size_t *)ctx;
}

bool as_digests_has(const struct as_digests *set, struct as_digest digest)
{
	size_t item = item_of(digest);

	return as_table_find(&set->table, digest.lo, is_item, &item) != AS_TABLE_NONE;
}

bool as_digests_add(struct as_digests *set, struct as_digest digest)
{
	if (as_digests_has(set, digest) || as_table_is_full(&set->table))
		return false;
	as_table_add(&set->table, digest.lo, item_of(digest));
	return true;
}

size_t as_digests_n(const struct as_digests *set)
{
	return set->table.n;
}

void as_digests_free(struct as_digests *set)
{
	as_table_free(&set->table);
}
