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
	printf("%s\n", reproduced ? "REPRODUCED" : "NOT REPRODUCED");
	return !reproduced;
}

static inline void as_solo_died(int signal)
{
	struct as_solo *s = as_solo_current;
	int same = s && s->dies == signal;

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
	printf("%s: called exit()\n%s\n", s->doing, s->dies < 0 ? "REPRODUCED" : "NOT REPRODUCED");
	_exit(s->dies >= 0);
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

static inline void as_solo_survived(struct as_solo *s)
{
	alarm(0);
	s->telling++;
	s->differing++;
	s->dies = 0;
	printf("%s: came back\n", s->doing);
}

#endif
