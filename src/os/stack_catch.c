/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack_catch: see stack.h. This file also becomes part of the shim of checkers, so it needs
 * nothing but the C library.
 *
 * Method. The handler runs on a stack of its own, because the usual one may have overflowed. It
 * first notes the signal and the instruction, then asks the unwinder. If the unwinder cannot go on,
 * or dies, what was noted so far is there. After the handler the signal kills as it would have
 * without it. A call of a bad address has left the place of the call on the stack.
 */
#include "os/stack.h"

#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define HANDLER_BYTES (64u << 10)
#define DEPTH 64 /* frames of the handler and of what failed, together */

static struct as_stack *noted;
static struct as_abort_text *const *aborted; /* NULL: nobody keeps one */

static bool holds(const struct dl_phdr_info *info, uint64_t pc)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && pc >= info->dlpi_addr + p->p_vaddr &&
		    pc < info->dlpi_addr + p->p_vaddr + p->p_memsz)
			return true;
	}
	return false;
}

struct search {
	uint64_t pc;
	struct as_stack_frame *frame;
};

static int look(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct search *s = ctx;
	size_t cap = sizeof(s->frame->module) - 1, len;
	long n;

	(void)size;
	if (!holds(info, s->pc))
		return 0;
	s->frame->at = s->pc - info->dlpi_addr;
	if (info->dlpi_name && *info->dlpi_name) {
		/* Of a longer path its end is kept: that has the name. */
		len = strlen(info->dlpi_name);
		memcpy(s->frame->module, info->dlpi_name + (len > cap ? len - cap : 0),
		       (len > cap ? cap : len) + 1);
	} else {
		n = syscall(SYS_readlink, "/proc/self/exe", s->frame->module, cap);
		s->frame->module[n > 0 ? n : 0] = '\0';
	}
	return 1;
}

/* False: no code is there. */
static bool note(uint64_t pc)
{
	struct search s = { .pc = pc, .frame = &noted->frame[noted->n] };

	if (noted->n == AS_STACK_FRAMES || !dl_iterate_phdr(look, &s))
		return false;
	noted->n++;
	return true;
}

static void on_death(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *user = context;
	uint64_t pc = (uint64_t)user->uc_mcontext.gregs[REG_RIP];
	uint64_t sp = (uint64_t)user->uc_mcontext.gregs[REG_RSP], from;
	void *frames[DEPTH];
	int n, i = 0;

	noted->signal = sig;
	/* Not of one that was sent by somebody. */
	noted->has_address = sig != SIGABRT && info->si_code > 0;
	noted->address = noted->has_address ? (uint64_t)(uintptr_t)info->si_addr : 0;
	if (sig == SIGABRT && aborted && *aborted)
		strncpy(noted->abort, (*aborted)->text, sizeof(noted->abort) - 1);
	if (!note(pc)) {
		memcpy(&from, (const void *)(uintptr_t)sp, sizeof(from));
		(void)note(from);
	}
	n = backtrace(frames, DEPTH);
	while (i < n && (uint64_t)(uintptr_t)frames[i] != pc)
		i++;
	/* What a frame returns to may already be the next function: it is the call that counts. */
	for (i++; i < n; i++)
		(void)note((uint64_t)(uintptr_t)frames[i] - 1);
	raise(sig); /* comes when this handler returns; it is the default action by then */
}

void as_stack_here(struct as_stack *stack)
{
	struct as_stack *before = noted;
	void *frames[DEPTH];
	int n = backtrace(frames, DEPTH);

	stack->n = 0;
	noted = stack;
	for (int i = 1; i < n; i++)
		(void)note((uint64_t)(uintptr_t)frames[i] - 1);
	noted = before;
}

void as_stack_catch_text(struct as_abort_text *const *text)
{
	aborted = text;
}

void as_stack_catch(struct as_stack *stack)
{
	static const int deadly[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS };
	static char memory[HANDLER_BYTES];
	stack_t place = { .ss_sp = memory, .ss_size = sizeof(memory) };
	struct sigaction act = { .sa_sigaction = on_death };
	void *frame;

	memset(stack, 0, sizeof(*stack));
	noted = stack;
	/* The first call loads the unwinder, which a handler must not do. */
	(void)backtrace(&frame, 1);
	sigaltstack(&place, NULL);
	sigfillset(&act.sa_mask);
	act.sa_flags = SA_SIGINFO | SA_ONSTACK | (int)SA_RESETHAND;
	for (unsigned i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
		sigaction(deadly[i], &act, NULL);
}
