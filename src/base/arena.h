/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arena: memory that is freed all at once. Pointers stay valid until reset or free. */
#ifndef AS_BASE_ARENA_H
#define AS_BASE_ARENA_H

#include <stddef.h>

struct as_arena_block;

/* An arena that is all zero is empty and ready for use. */
struct as_arena {
	struct as_arena_block *head;
	size_t used_bytes; /* handed out since the last reset */
};

/* The memory is zeroed and aligned to 16 bytes. The process ends when there is no memory. */
void *as_arena_alloc(struct as_arena *arena, size_t len);
/* Returns a NUL-terminated copy of len bytes. */
char *as_arena_strndup(struct as_arena *arena, const char *s, size_t len);
/* Forgets everything but keeps one block for reuse. */
void as_arena_reset(struct as_arena *arena);
void as_arena_free(struct as_arena *arena);

#endif
