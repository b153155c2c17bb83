/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * host_usage: what a call of a library uses.
 *
 * Heap is what it has taken from the host's allocator and not given back: the most at a time while
 * the call runs, with what earlier calls have left. Stack is what lies between the caller and the
 * deepest place that the call wrote to (os/paint.h), without most of what the allocator and the
 * disk use (as_paint_hold()).
 */
#include "host/host_priv.h"

/* How much of the stack is painted: enough to say by how much a bound is exceeded. */
#define WINDOW_BYTES ((size_t)64 << 10)
#define WINDOW_MAX_BYTES ((size_t)2 << 20)

void as_host_measure(struct as_host_mem *h, struct as_usage *usage)
{
	h->usage = usage;
}

__attribute__((noinline)) void as_host_enter(struct as_host_mem *h)
{
	size_t window = WINDOW_BYTES;

	h->peak_bytes = h->live_bytes;
	if (!h->usage->measured[AS_RESOURCE_STACK])
		return;
	while (window < 2 * h->usage->max[AS_RESOURCE_STACK] && window < WINDOW_MAX_BYTES)
		window *= 2;
	as_paint(&h->paint, __builtin_frame_address(0), window);
}

void as_host_exit(struct as_host_mem *h, enum as_use use)
{
	struct as_usage *u = h->usage;
	uint64_t stack = u->measured[AS_RESOURCE_STACK] ? as_paint_used(&h->paint) : 0;
	uint64_t heap = h->peak_bytes;

	if (u->measured[AS_RESOURCE_HEAP] && as_usage_raise(u, AS_RESOURCE_HEAP, use, heap))
		as_host_note(h, AS_FIND_LIMIT,
			     "%s has %llu bytes of memory at a time, more than the %llu of "
			     "--max-heap",
			     as_use_name(use), (unsigned long long)heap,
			     (unsigned long long)u->max[AS_RESOURCE_HEAP]);
	if (stack && as_usage_raise(u, AS_RESOURCE_STACK, use, stack))
		as_host_note(h, AS_FIND_LIMIT,
			     "%s uses %llu bytes of stack, more than the %llu of --max-stack",
			     as_use_name(use), (unsigned long long)stack,
			     (unsigned long long)u->max[AS_RESOURCE_STACK]);
}
