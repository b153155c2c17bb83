/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search: what every explorer of states needs: the set of states seen, and the queue of those to go
 * on from. Neither knows what a state is: the set holds digests, the queue items with a level (how
 * far from the start). In which order items are picked is a row of a table.
 */
#ifndef AS_GEN_SEARCH_H
#define AS_GEN_SEARCH_H

#include "base/digests.h"

#include <assay/choice.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- The set of digests ---- */

struct as_visited {
	struct as_digests set;
	size_t max; /* beyond so many it forgets everything and starts anew; 0: never */
	uint64_t forgotten; /* how often it did */
};

/* True when the digest was not there. Zero-initialised is empty and ready. */
bool as_visited_add(struct as_visited *visited, struct as_digest digest);
bool as_visited_has(const struct as_visited *visited, struct as_digest digest);
void as_visited_free(struct as_visited *visited);

/* ---- The queue ---- */

enum as_order {
	AS_ORDER_LONGER, /* a level by weight (level + 1)^bias, an item of it at random */
	AS_ORDER_UNIFORM, /* any item */
	AS_ORDER_DEPTH, /* the last of the highest level */
	AS_ORDER_BREADTH, /* the last of the lowest level */
	AS_ORDERS
};

const char *as_order_name(enum as_order order);

struct as_level {
	void **item;
	size_t n, cap;
};

struct as_queue {
	struct as_level *level;
	size_t n_levels, cap_levels;
	size_t n; /* items in all levels */
	enum as_order order;
	unsigned bias;
};

/* Where an item stands; good until the next push or removal. */
struct as_queue_place {
	size_t level, index;
};

void as_queue_push(struct as_queue *queue, size_t level, void *item);
/* One item, which stays; NULL when there is none. */
void *as_queue_pick(const struct as_queue *queue, struct as_choice *choice,
		    struct as_queue_place *place);
void as_queue_remove(struct as_queue *queue, struct as_queue_place place);
/* Takes a random item out of the fullest level: the others stay as they are, so that neither the
 * beginnings nor the long ones run out. */
void *as_queue_evict(struct as_queue *queue, struct as_choice *choice);
void as_queue_free(struct as_queue *queue); /* the items are the caller's */

#endif
