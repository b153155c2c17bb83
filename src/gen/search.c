/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search: see search.h. */
#include "gen/search.h"

#include "base/array.h"
#include "base/err.h"

#include <limits.h>
#include <stdlib.h>

/* ---- Digests ---- */

bool as_visited_add(struct as_visited *visited, struct as_digest digest)
{
	if (visited->max && as_digests_n(&visited->set) >= visited->max) {
		as_digests_free(&visited->set);
		visited->forgotten++;
	}
	return as_digests_add(&visited->set, digest);
}

bool as_visited_has(const struct as_visited *visited, struct as_digest digest)
{
	return as_digests_has(&visited->set, digest);
}

void as_visited_free(struct as_visited *visited)
{
	as_digests_free(&visited->set);
	*visited = (struct as_visited){ 0 };
}

/* ---- The queue ---- */

void as_queue_push(struct as_queue *queue, size_t level, void *item)
{
	struct as_level *l;

	while (level >= queue->n_levels) {
		AS_ARRAY_ROOM(queue->level, queue->n_levels, queue->cap_levels);
		queue->level[queue->n_levels++] = (struct as_level){ 0 };
	}
	l = &queue->level[level];
	AS_ARRAY_ROOM(l->item, l->n, l->cap);
	l->item[l->n++] = item;
	queue->n++;
}

/* A number below total, which may be more than as_choose() takes at once. */
static uint64_t choose_below(struct as_choice *choice, uint64_t total)
{
	uint64_t high;

	if (total <= UINT_MAX)
		return as_choose(choice, (unsigned)total);
	high = as_choose(choice, (unsigned)(total >> 31) + 1);
	high = high << 31 | as_choose(choice, 1u << 31);
	return high % total;
}

static uint64_t level_weight(const struct as_queue *q, size_t level)
{
	uint64_t weight = 1;

	if (!q->level[level].n)
		return 0;
	for (unsigned i = 0; i < q->bias; i++)
		weight *= level + 1;
	return weight;
}

static struct as_queue_place pick_longer(const struct as_queue *q, struct as_choice *choice)
{
	struct as_queue_place place = { 0 };
	uint64_t total = 0, at;

	for (size_t i = 0; i < q->n_levels; i++)
		total += level_weight(q, i);
	at = choose_below(choice, total);
	while (at >= level_weight(q, place.level))
		at -= level_weight(q, place.level++);
	place.index = (size_t)choose_below(choice, q->level[place.level].n);
	return place;
}

static struct as_queue_place pick_uniform(const struct as_queue *q, struct as_choice *choice)
{
	struct as_queue_place place = { .index = (size_t)choose_below(choice, q->n) };

	while (place.index >= q->level[place.level].n)
		place.index -= q->level[place.level++].n;
	return place;
}

static struct as_queue_place pick_depth(const struct as_queue *q, struct as_choice *choice)
{
	struct as_queue_place place = { .level = q->n_levels - 1 };

	(void)choice;
	while (!q->level[place.level].n)
		place.level--;
	place.index = q->level[place.level].n - 1;
	return place;
}

static struct as_queue_place pick_breadth(const struct as_queue *q, struct as_choice *choice)
{
	struct as_queue_place place = { 0 };

	(void)choice;
	while (!q->level[place.level].n)
		place.level++;
	place.index = q->level[place.level].n - 1;
	return place;
}

static const struct {
	const char *name;
	struct as_queue_place (*pick)(const struct as_queue *q, struct as_choice *choice);
} orders[AS_ORDERS] = {
	[AS_ORDER_LONGER] = { "longer", pick_longer },
	[AS_ORDER_UNIFORM] = { "uniform", pick_uniform },
	[AS_ORDER_DEPTH] = { "depth", pick_depth },
	[AS_ORDER_BREADTH] = { "breadth", pick_breadth },
};

const char *as_order_name(enum as_order order)
{
	return orders[order].name;
}

void *as_queue_pick(const struct as_queue *queue, struct as_choice *choice,
		    struct as_queue_place *place)
{
	if (!queue->n)
		return NULL;
	*place = orders[queue->order].pick(queue, choice);
	return queue->level[place->level].item[place->index];
}

void as_queue_remove(struct as_queue *queue, struct as_queue_place place)
{
	struct as_level *l = &queue->level[place.level];

	l->item[place.index] = l->item[--l->n];
	queue->n--;
}

void *as_queue_evict(struct as_queue *queue, struct as_choice *choice)
{
	struct as_queue_place place = { 0 };
	void *item;

	if (!queue->n)
		return NULL;
	for (size_t i = 1; i < queue->n_levels; i++)
		if (queue->level[i].n > queue->level[place.level].n)
			place.level = i;
	place.index = (size_t)choose_below(choice, queue->level[place.level].n);
	item = queue->level[place.level].item[place.index];
	as_queue_remove(queue, place);
	return item;
}

void as_queue_free(struct as_queue *queue)
{
	for (size_t i = 0; i < queue->n_levels; i++)
		free(queue->level[i].item);
	free(queue->level);
	*queue = (struct as_queue){ .order = queue->order, .bias = queue->bias };
}
