/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * paint: how much stack a call uses. The stack below the caller is painted, the call is made, and
 * then the deepest place is looked for that has lost its paint.
 */
#ifndef AS_OS_PAINT_H
#define AS_OS_PAINT_H

#include <stddef.h>

struct as_paint {
	const char *top; /* where the stack of the call begins */
	const char *from, *to; /* what is painted */
	size_t before; /* what was used when it was held */
	unsigned held;
};

/* Paints up to `bytes` of the stack of this thread below `top`, the frame address of the caller.
 * Less is painted where the stack ends before that, and nothing if `top` is not on it. */
void as_paint(struct as_paint *paint, const void *top, size_t bytes);
/* How far below `top` the paint is gone; 0: nowhere, or nothing was painted. A
 * call that uses less than about a KiB may not be seen. If no paint is left,
 * more may have been used. */
size_t as_paint_used(const struct as_paint *paint);

/* Around our own code that the call comes to: what it uses does not count, but for its first few
 * hundred bytes. Nothing happens in a thread whose stack is not painted. */
extern __thread struct as_paint *as_paint_now;
void as_paint_hold_now(void);
void as_paint_release_now(void);

static inline void as_paint_hold(void)
{
	if (__builtin_expect(as_paint_now != NULL, 0))
		as_paint_hold_now();
}

static inline void as_paint_release(void)
{
	if (__builtin_expect(as_paint_now != NULL, 0))
		as_paint_release_now();
}

#endif
