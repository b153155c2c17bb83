/* SPDX-License-Identifier: MIT */
/* solo_end.h: the last part of solo.h, which includes it: what is looked at in the end, and the
 * verdict. */
#ifndef ASSAY_SOLO_END_H
#define ASSAY_SOLO_END_H

#include <assay/solo.h>

/* ---- The verdict ----------------------------------------------------------------------------- */

/* A rule of the interface must have been broken. */
static inline void as_solo_trouble_wrong(struct as_solo *s)
{
	s->telling++;
	s->differing += !s->trouble[0];
	printf("%s\n", s->trouble[0] ? s->trouble : "no rule of the interface was broken");
}

/* After the unmount, memory must have been left. */
static inline void as_solo_leak_wrong(struct as_solo *s)
{
	s->telling++;
	s->differing += !s->n_live;
	printf("%" PRIu64 " allocations are left\n", s->n_live);
}

static inline int as_solo_end(struct as_solo *s)
{
	int reproduced = s->telling && !s->differing;

	s->dies = 0;
	as_solo_free_all(s);
	printf("%s\n", reproduced ? "REPRODUCED" : "NOT REPRODUCED");
	return !reproduced;
}

/* A wrong access to memory is told by the processor or by the heap, as the memory happens to be. */
static inline int as_solo_is_access(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS;
}

static inline int as_solo_is_same(int expected, int signal)
{
	if (expected == AS_SOLO_DAMAGE || as_solo_is_access(expected))
		return as_solo_is_access(signal) || signal == SIGABRT;
	return expected == signal;
}

static inline void as_solo_died(int signal)
{
	struct as_solo *s = as_solo_current;
	int same = s && as_solo_is_same(s->dies, signal);

	if (s)
		printf("%s: %s\n", s->doing,
		       signal == SIGALRM ? "does not come back" : strsignal(signal));
	printf("%s\n", same ? "REPRODUCED" : "NOT REPRODUCED");
	_exit(!same);
}

static inline void as_solo_left_early(void)
{
	struct as_solo *s = as_solo_current;

	if (!s || !s->dies)
		return;
	printf("%s: called exit()\n%s\n", s->doing,
	       s->dies == -1 ? "REPRODUCED" : "NOT REPRODUCED");
	_exit(s->dies != -1);
}

static inline void as_solo_mortal(struct as_solo *s, int signal_or_exit)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM, SIGTRAP };
	static char stack[65536];
	stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction act = { .sa_handler = as_solo_died, .sa_flags = SA_ONSTACK };

	s->dies = signal_or_exit;
	sigaltstack(&other, NULL);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &act, NULL);
	atexit(as_solo_left_early);
	alarm(AS_SOLO_HANG_S);
}

/* Whether it wrote outside of its memory: a guard of an allocation is not what it was. */
static inline int as_solo_is_damaged(const struct as_solo *s)
{
	uint64_t guard = AS_SOLO_GUARD;

	if (strstr(s->trouble, "past the end of an allocation"))
		return 1;
	for (const struct as_solo_block *b = s->live; b; b = b->next)
		if (b->guard != guard ||
		    memcmp((const char *)(b + 1) + b->len, &guard, sizeof(guard)))
			return 1;
	return 0;
}

/* The call came back. Where memory is damaged, dying of it is chance. */
static inline void as_solo_survived(struct as_solo *s)
{
	int damaged =
		(s->dies == AS_SOLO_DAMAGE || as_solo_is_access(s->dies)) && as_solo_is_damaged(s);

	alarm(0);
	s->telling++;
	s->differing += !damaged;
	s->dies = 0;
	printf("%s: came back%s\n", s->doing, damaged ? ", with damaged memory" : "");
}

#endif
