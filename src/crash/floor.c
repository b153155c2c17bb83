/* SPDX-License-Identifier: GPL-2.0-or-later */
/* floor: see floor.h. */
#include "crash/floor.h"

#include "base/array.h"

#include <stdlib.h>

void as_floor_free(struct as_floor *floor)
{
	for (unsigned w = 0; w < AS_WAYS; w++)
		free(floor->step[w]);
	*floor = (struct as_floor){ 0 };
}

void as_floor_note(struct as_floor *floor, enum as_way way, size_t at, uint32_t point)
{
	size_t n = floor->n[way];

	/* Views repeat the same cuts; only what rises tells more. */
	if (n && (floor->step[way][n - 1].at >= at || floor->step[way][n - 1].point >= point))
		return;
	AS_ARRAY_ROOM(floor->step[way], floor->n[way], floor->cap[way]);
	floor->step[way][floor->n[way]++] = (struct as_floor_step){ at, point };
}

uint32_t as_floor_at(const struct as_floor *floor, enum as_way way, size_t stable)
{
	size_t n = floor->n[way];

	while (n > 0 && floor->step[way][n - 1].at > stable)
		n--;
	return n ? floor->step[way][n - 1].point : 0;
}
