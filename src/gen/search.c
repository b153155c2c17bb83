/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search: see search.h. */
#include "gen/search.h"

#include "base/array.h"
#include "base/err.h"

#include <limits.h>
#include <stdlib.h>

#define FIRST_SLOTS 1024u

/* ---- Digests ---- */

/* Zero marks an empty slot. */
static struct as_digest storable(struct as_digest digest)
{
	if (!digest.lo && !digest.hi)
		digest.lo = 1;
	return digest;
}

static struct as_digest *find(const struct as_visited *v, struct as_digest digest)
{
	size_t at = (size_t)as_mix64(digest.lo ^ digest.hi) & (v->cap - 1);

	while ((v->slot[at].lo || v->slot[at].hi) && !as_digest_eq(v->slot[at], digest))
		at = (at + 1) & (v->cap - 1);
	return &v->slot[at];
}

static void grow(struct as_visited *v)
{
	struct as_visited bigger = { .cap = v->cap ? v->cap * 2 : FIRST_SLOTS };

	bigger.slot = as_xcalloc(bigger.cap, sizeof(*bigger.slot));
	for (size_t i = 0; i < v->cap; i++)
		if (v->slot[i].lo || v->slot[i].hi)
			*find(&bigger, v->slot[i]) = v->slot[i];
	free(v->slot);
	v->slot = bigger.slot;
	v->cap = bigger.cap;
}

bool as_visited_add(struct as_visited *visited, struct as_digest digest)
{
	struct as_digest *slot;

	digest = storable(digest);
	if (visited->max && visited->n >= visited->max) {
		free(visited->slot);
		visited->slot = NULL;
		visited->n = visited->cap = 0;
		visited->forgotten++;
	}
	if (visited->n * 4 >= visited->cap * 3)
		grow(visited);
	slot = find(visited, digest);
	if (as_digest_eq(*slot, digest))
		return false;
	*slot = digest;
	visited->n++;
	return true;
}

bool as_visited_has(const struct as_visited *visited, struct as_digest digest)
{
	digest = storable(digest);
	return visited->cap && as_digest_eq(*find(visited, digest), digest);
}

void as_visited_free(struct as_visited *visited)
{
	free(visited->slot);
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
