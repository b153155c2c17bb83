/* SPDX-License-Identifier: GPL-2.0-or-later */
/* grow.h: arrays that grow in memory of the host. */
#ifndef LABFS_GROW_H
#define LABFS_GROW_H

#include <assay/target.h>
#include <stdint.h>
#include <string.h>

/* Doubles the room of a full array (*cap items; the first room is `first`) and returns the array,
 * which may have moved. New items are zero. NULL: there is no memory, and nothing has changed. */
static inline void *lab_grow(const struct as_host *host, void *items, uint32_t *cap, uint32_t first,
			     size_t item_bytes)
{
	uint32_t more = *cap ? *cap * 2 : first;
	void *grown = as_malloc(host, more * item_bytes);

	if (!grown)
		return NULL;
	if (items)
		memcpy(grown, items, *cap * item_bytes);
	as_free(host, items);
	*cap = more;
	return grown;
}

#endif
