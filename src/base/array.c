/* SPDX-License-Identifier: GPL-2.0-or-later */
/* array: see array.h. */
#include "base/array.h"

#include "base/err.h"

void *as_array_grow(void *items, size_t n, size_t more, size_t *cap, size_t item_bytes)
{
	size_t want = *cap ? *cap : AS_ARRAY_FIRST;

	as_assert(more <= SIZE_MAX / 2 - n);
	if (n + more <= *cap)
		return items;
	while (want < n + more)
		want *= 2;
	as_assert(want <= SIZE_MAX / item_bytes);
	*cap = want;
	return as_xrealloc(items, want * item_bytes);
}
