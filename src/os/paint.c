/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * paint: see paint.h.
 *
 * Method. A call need not write to all of its frame, so there is paint left between places that
 * were used: the search begins at the far end. Memory below the stack pointer belongs to nobody
 * but signal handlers; those of assay have a stack of their own.
 *
 * Invariants:
 *   1. What is painted ends MARGIN bytes below the frame of the function that paints: its own frame
 *      and its red zone are not touched. It calls nothing.
 *   2. The lowest KEEP bytes of the stack are not painted: there may be a guard page.
 */
#include "os/paint.h"

#include <pthread.h>
#include <stdint.h>

#define PAINT UINT64_C(0x9e3779b97f4a7c15)
#ifdef __OPTIMIZE__
#define MARGIN 256u
#else
#define MARGIN 512u
#endif
#define KEEP 16384u
#define AT_ONCE 8u /* words */

#define UNSEEN __attribute__((noinline, no_sanitize("address", "undefined")))

__thread struct as_paint *as_paint_now;

/* The lowest address of the stack of this thread that may be used; NULL: unknown. */
static const char *lowest(void)
{
	static __thread const char *known;
	pthread_attr_t attr;
	void *at;
	size_t bytes;

	if (!known && !pthread_getattr_np(pthread_self(), &attr)) {
		if (!pthread_attr_getstack(&attr, &at, &bytes))
			known = (const char *)at + KEEP;
		pthread_attr_destroy(&attr);
	}
	return known;
}

/* Whole groups of words, below its own frame. */
UNSEEN static void fill(struct as_paint *paint, uintptr_t low, size_t bytes)
{
	uintptr_t end = ((uintptr_t)__builtin_frame_address(0) - MARGIN) & ~(uintptr_t)63;
	uintptr_t at = (uintptr_t)paint->top - bytes;

	at = ((at > low ? at : low) + 63) & ~(uintptr_t)63;
	if ((uintptr_t)paint->top <= end || at >= end)
		return;
	paint->from = (const char *)at;
	if (!paint->to)
		paint->to = (const char *)end;
	for (; at < end; at += AT_ONCE * sizeof(uint64_t)) {
		uint64_t *word = (uint64_t *)at;

		for (unsigned i = 0; i < AT_ONCE; i++)
			word[i] = PAINT;
		/* It must not become a call of memset(). */
		__asm__ volatile("" : : "r"(word) : "memory");
	}
}

void as_paint(struct as_paint *paint, const void *top, size_t bytes)
{
	const char *low = lowest();

	*paint = (struct as_paint){ .top = top };
	if (low && (const char *)top > low && bytes < (uintptr_t)top)
		fill(paint, (uintptr_t)low, bytes);
	as_paint_now = paint->from ? paint : NULL;
}

UNSEEN static size_t scan(const struct as_paint *paint)
{
	const uint64_t *word = (const uint64_t *)(const void *)paint->from;
	const uint64_t *end = (const uint64_t *)(const void *)paint->to;

	__asm__ volatile("" : : "r"(word) : "memory");
	for (; word < end; word += AT_ONCE) {
		uint64_t differs = 0;

		for (unsigned i = 0; i < AT_ONCE; i++)
			differs |= word[i] ^ PAINT;
		if (differs)
			break;
	}
	if (word >= end)
		return 0;
	while (*word == PAINT)
		word++;
	return (size_t)(paint->top - (const char *)word);
}

size_t as_paint_used(const struct as_paint *paint)
{
	size_t used = scan(paint);

	as_paint_now = NULL;
	return used > paint->before ? used : paint->before;
}

void as_paint_hold_now(void)
{
	size_t used;

	if (as_paint_now->held++)
		return;
	used = scan(as_paint_now);
	if (used > as_paint_now->before)
		as_paint_now->before = used;
}

void as_paint_release_now(void)
{
	struct as_paint *paint = as_paint_now;

	if (!--paint->held)
		fill(paint, (uintptr_t)paint->from, (size_t)(paint->top - paint->from));
}
