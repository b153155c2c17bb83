/* SPDX-License-Identifier: GPL-2.0-or-later */
/* turns: see turns.h. */
#include "crew/turns.h"

#include "base/array.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

struct turns_lane {
	struct turns_message {
		char *data;
		size_t len;
	} * messages;
	size_t first, n, cap; /* those before `first` were taken */
	uint64_t turn;
	bool over;
};

struct as_turns {
	struct turns_lane *lanes;
	size_t n;
};

struct as_turns *as_turns_new(size_t lanes)
{
	struct as_turns *t = as_xcalloc(1, sizeof(*t));

	t->lanes = as_xcalloc(lanes + 1, sizeof(*t->lanes));
	t->n = lanes;
	return t;
}

void as_turns_drop(struct as_turns *t, size_t lane)
{
	struct turns_lane *l = &t->lanes[lane];

	for (; l->first < l->n; l->first++)
		free(l->messages[l->first].data);
	l->first = l->n = 0;
}

void as_turns_free(struct as_turns *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++) {
		as_turns_drop(t, i);
		free(t->lanes[i].messages);
	}
	free(t->lanes);
	free(t);
}

void as_turns_set(struct as_turns *t, size_t lane, uint64_t turn)
{
	t->lanes[lane].turn = turn;
}

void as_turns_end(struct as_turns *t, size_t lane)
{
	t->lanes[lane].over = true;
}

void as_turns_put(struct as_turns *t, size_t lane, const void *data, size_t len)
{
	struct turns_lane *l = &t->lanes[lane];
	char *copy;

	if (l->first == l->n)
		l->first = l->n = 0;
	AS_ARRAY_ROOM(l->messages, l->n, l->cap);
	copy = as_xmalloc(len + 1);
	memcpy(copy, data, len);
	copy[len] = '\0';
	l->messages[l->n++] = (struct turns_message){ copy, len };
}

bool as_turns_has(const struct as_turns *t, size_t lane)
{
	return t->lanes[lane].first < t->lanes[lane].n;
}

bool as_turns_next(const struct as_turns *t, bool rest, size_t *lane)
{
	bool any = false;

	for (size_t i = 0; i < t->n; i++) {
		if (t->lanes[i].over || (rest && !as_turns_has(t, i)))
			continue;
		if (!any || t->lanes[i].turn < t->lanes[*lane].turn)
			*lane = i;
		any = true;
	}
	return any && as_turns_has(t, *lane);
}

char *as_turns_take(struct as_turns *t, size_t lane, size_t *len)
{
	struct turns_lane *l = &t->lanes[lane];
	struct turns_message m;

	as_assert(as_turns_has(t, lane));
	m = l->messages[l->first++];
	if (len)
		*len = m.len;
	return m.data;
}
