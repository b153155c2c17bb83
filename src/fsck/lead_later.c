/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lead_later: see lead_priv.h. */
#include "fsck/lead_priv.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define MORE_MS 5000u /* to judge one again, beside the deadline */

void as_laters_add(struct as_laters *l, const char *signature, enum as_fsck_problem problem,
		   uint64_t lot, struct as_damage *damage)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->items[i].signature, signature))
			return;
	AS_ARRAY_ROOM(l->items, l->n, l->cap);
	l->items[l->n++] = (struct as_later){ as_xstrdup(signature), problem, lot, *damage };
	*damage = (struct as_damage){ .base = damage->base };
}

int64_t as_laters_us(const struct as_laters *l, const struct as_fsck_args *args)
{
	unsigned told_ms = args->setup->deadline_ms;
	unsigned each_ms = (told_ms ? told_ms : AS_SUBJECT_PATIENT_MS) + MORE_MS;
	int64_t each_us = (int64_t)each_ms * 1000;
	uint64_t fit = (uint64_t)(args->for_us / 2 / each_us);

	return (int64_t)(l->n < fit ? l->n : fit) * each_us;
}

uint64_t as_laters_first(const struct as_laters *l, size_t from, uint64_t next)
{
	for (size_t i = from; i < l->n; i++)
		if (l->items[i].lot < next)
			next = l->items[i].lot;
	return next;
}

void as_laters_clear(struct as_laters *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->items[i].signature);
		as_damage_free(&l->items[i].damage);
	}
	free(l->items);
	*l = (struct as_laters){ 0 };
}

/* ---- Put aside ------------------------------------------------------------------------------- */

void as_asides_add(struct as_asides *a, const struct lead_task *task)
{
	AS_ARRAY_ROOM(a->items, a->n, a->cap);
	a->items[a->n++] = *task;
}

bool as_asides_left(const struct as_asides *a)
{
	return a->at < a->n;
}

bool as_asides_next(struct as_asides *a, struct lead_task *task)
{
	if (!as_asides_left(a))
		return false;
	*task = a->items[a->at++];
	return true;
}

uint64_t as_asides_first(const struct as_asides *a, uint64_t next)
{
	for (size_t i = a->at; i < a->n; i++)
		if (a->items[i].lot < next)
			next = a->items[i].lot;
	return next;
}

void as_asides_clear(struct as_asides *a)
{
	free(a->items);
	*a = (struct as_asides){ 0 };
}
