/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store_priv: what a store is made of: see store.c. Only files of this room include it. */
#ifndef AS_CHECK_STORE_PRIV_H
#define AS_CHECK_STORE_PRIV_H

#include "check/store.h"

#include "base/table.h"

#include <pthread.h>

#define AS_STORE_IDENT_MAX 4000u

/* A number in a file that a process may be killed at, and whose bits may flip: with its complement
 * in the upper half, written in one piece. */
typedef volatile uint64_t as_store_twice;

struct as_store_header {
	char magic[16], ident[AS_STORE_IDENT_MAX];
	as_store_twice n; /* states */
	as_store_twice gaps;
	uint32_t max; /* states */
	uint32_t text; /* bytes of lines */
	uint32_t replaced; /* states */
	size_t room_state, room_text; /* bytes of the parts that have blocks */
};

struct as_store_place {
	uint64_t rank;
	uint32_t id;
};

struct as_store {
	/* Shared: */
	pthread_mutex_t lock;
	struct as_table table;
	volatile size_t n_heap, in_work;
	uint64_t choices; /* that were made */
	/* The same in all processes: */
	struct as_store_header *header;
	struct as_store_state *state;
	char *text;
	struct as_store_place *heap;
	struct as_table_slot *slots;
	size_t file_bytes, heap_bytes, slot_bytes, text_bytes;
	int fd; /* -1: no file */
	size_t most; /* states in the frontier; 0: any number */
	uint64_t seed;
};

static inline uint64_t as_store_twice_of(uint32_t n)
{
	return n | (uint64_t)~n << 32;
}

static inline uint32_t as_store_once(uint64_t twice)
{
	return (uint32_t)twice;
}

/* ---- store.c ---- */

uint32_t as_store_find(const struct as_store *store, struct as_digest digest);
/* Puts it into the frontier; nobody else may have the store. */
void as_store_put_back(struct as_store *store, uint32_t id, uint64_t rank);
/* The state is not the one with the shortest trace any more. */
void as_store_replace(struct as_store *store, uint32_t known, uint32_t by);
void as_store_set_flags(struct as_store *store, uint32_t id, unsigned flags);
/* The depth of a state that the line leads to from its parent. */
uint16_t as_store_depth_after(const struct as_store *store, uint32_t parent, const char *line,
			      size_t len);
/* Of all that is kept of a state: it tells whether its bits are those that were written. */
uint16_t as_store_sum(const struct as_store *store, const struct as_store_state *state);

#endif
