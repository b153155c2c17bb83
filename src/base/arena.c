/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arena: a list of blocks; the head is the one being filled. Invariant: head->used <= head->cap,
 * and only the head has room that will still be handed out. Something too big for a block gets its
 * own, which is put after the head in the list, so that the head's room is not lost.
 */
#include "base/arena.h"

#include "base/err.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN_BYTES 16
#define BLOCK_BYTES ((size_t)64 << 10)

struct as_arena_block {
	struct as_arena_block *next;
	size_t used, cap;
	alignas(ALIGN_BYTES) char data[];
};

static struct as_arena_block *block_new(size_t cap)
{
	struct as_arena_block *block = as_xmalloc(sizeof(*block) + cap);

	block->next = NULL;
	block->used = 0;
	block->cap = cap;
	return block;
}

void *as_arena_alloc(struct as_arena *arena, size_t len)
{
	struct as_arena_block *block = arena->head;
	size_t need;
	void *ptr;

	as_assert(len <= SIZE_MAX / 2);
	need = (len + ALIGN_BYTES - 1) & ~(size_t)(ALIGN_BYTES - 1);
	if (!block || need > block->cap - block->used) {
		block = block_new(need > BLOCK_BYTES ? need : BLOCK_BYTES);
		if (arena->head && need > BLOCK_BYTES) {
			block->next = arena->head->next;
			arena->head->next = block;
		} else {
			block->next = arena->head;
			arena->head = block;
		}
	}
	ptr = block->data + block->used;
	block->used += need;
	arena->used_bytes += need;
	return memset(ptr, 0, len);
}

char *as_arena_strndup(struct as_arena *arena, const char *s, size_t len)
{
	char *copy = as_arena_alloc(arena, len + 1);

	memcpy(copy, s, len);
	return copy;
}

static void free_list(struct as_arena_block *block)
{
	while (block) {
		struct as_arena_block *next = block->next;

		free(block);
		block = next;
	}
}

void as_arena_reset(struct as_arena *arena)
{
	arena->used_bytes = 0;
	if (!arena->head)
		return;
	free_list(arena->head->next);
	arena->head->next = NULL;
	arena->head->used = 0;
}

void as_arena_free(struct as_arena *arena)
{
	if (!arena)
		return;
	free_list(arena->head);
	*arena = (struct as_arena){ 0 };
}
