/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * array: arrays that grow. The owner keeps three fields: the items, how many there are (`n`) and
 * how many there is room for (`cap`). It makes room before it adds an item:
 *
 *	AS_ARRAY_ROOM(list->items, list->n, list->cap);
 *	list->items[list->n++] = item;
 *
 * The room doubles, so n items cost O(n). New items are not initialized. A pointer to an item is
 * good until the next item is added.
 */
#ifndef AS_BASE_ARRAY_H
#define AS_BASE_ARRAY_H

#include <stddef.h>

#define AS_ARRAY_FIRST 8u /* items that there is room for at first */

/* Makes room for one more item. */
#define AS_ARRAY_ROOM(items, n, cap) AS_ARRAY_ROOM_FOR(items, n, 1, cap)
/* Makes room for `more` items. `cap` is a size_t. The arguments are evaluated more than once. */
#define AS_ARRAY_ROOM_FOR(items, n, more, cap) \
	((n) + (more) <= (cap)                 \
		 ? (items)                     \
		 : ((items) = as_array_grow((items), (n), (more), &(cap), sizeof(*(items)))))

/* The macros call this. It ends the process when there is no memory. */
void *as_array_grow(void *items, size_t n, size_t more, size_t *cap, size_t item_bytes);

#endif
