/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * interrupt: calls that a signal interrupted. The kernel answers a tracer with an error of its own
 * (ERESTARTSYS and the like) and decides afterwards what the program gets:
 *
 *  - no handler runs, or one with SA_RESTART: the call is made again, and the program sees only the
 *    end of that. It counts once, with its final result.
 *  - a handler without SA_RESTART runs: the program gets EINTR, which the tracer sees as the result
 *    of the return from the handler (rt_sigreturn). It counts with EINTR.
 *  - the process dies, or the handler jumps away: the program never sees an answer. It counts
 *    as one that did not come back. So does one in a trace that does not show rt_sigreturn.
 *
 * Handlers can be interrupted, too: a thread has a stack of such calls. A call that is the same as
 * the newest of them, with the same first argument, is that one made again.
 */
#include "calls/world_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STACK_MAX 4 /* interrupted calls of one thread */
#define ALL_MAX 4096

struct as_interrupted {
	struct as_interrupted *below;
	struct as_syscall call; /* its texts are after it */
};

static void pop(struct as_world *w, struct as_process *p)
{
	struct as_interrupted *top = p->interrupted;

	p->interrupted = top->below;
	w->n_interrupted--;
	free(top);
}

void as_world_no_interrupted(struct as_world *w, struct as_process *p)
{
	while (p->interrupted)
		pop(w, p);
}

static void push(struct as_world *w, const struct as_syscall *call)
{
	struct as_process *p = as_world_process(w, call->tid);
	struct as_interrupted *top, **at = &p->interrupted;
	unsigned n = 0;

	if (w->n_interrupted >= ALL_MAX)
		return;
	/* The oldest one is forgotten. */
	for (; *at; at = &(*at)->below)
		if (++n == STACK_MAX) {
			free(*at);
			*at = NULL;
			w->n_interrupted--;
			break;
		}
	top = as_xmalloc(offsetof(struct as_interrupted, call) + as_syscall_bytes(call));
	as_syscall_keep(call, &top->call);
	top->below = p->interrupted;
	p->interrupted = top;
	w->n_interrupted++;
}

static bool same_slot(const struct as_syscall_slot *a, const struct as_syscall_slot *b)
{
	return a->state == b->state && a->value == b->value && a->len == b->len &&
	       (!a->len || !memcmp(a->text, b->text, a->len));
}

struct as_interruption as_world_interruption(struct as_world *w, const struct as_syscall *call)
{
	struct as_interruption is = { .waits = as_syscall_interrupted(call) };
	struct as_process *p;

	if (!w->n_interrupted && !is.waits)
		return is;
	p = as_world_process(w, call->tid);
	if (p->interrupted && p->interrupted->call.spec == call->spec &&
	    (!call->spec->n_slots || same_slot(&p->interrupted->call.slots[0], &call->slots[0]))) {
		is.over = true;
		pop(w, p);
	}
	if (is.waits && call->spec->family >= 0)
		push(w, call);
	return is;
}

struct as_syscall *as_world_sigreturn(struct as_world *w, unsigned tid, int64_t ret)
{
	struct as_interrupted *top;
	struct as_process *p;

	if (!w->n_interrupted || ret != -EINTR)
		return NULL;
	p = as_world_process(w, tid);
	top = p->interrupted;
	if (!top)
		return NULL;
	p->interrupted = top->below;
	w->n_interrupted--;
	top->call.finished = true;
	top->call.err = EINTR;
	top->call.ret = -1;
	return &top->call;
}

void as_world_answered(struct as_syscall *call)
{
	free((char *)call - offsetof(struct as_interrupted, call));
}
