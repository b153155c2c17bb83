/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_filter: the seccomp program of a recording.
 *
 * The calls of interest are runs of numbers; a binary search over the runs decides in about eight
 * instructions. The kernel remembers the numbers that are allowed with any arguments, and does not
 * run the program for them again. Mappings without a file are allowed, too: they are frequent and
 * do not concern files. The tracer is asked about calls of another architecture, so that it can
 * count them.
 */
#include "record/record.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define FIELD(name) ((unsigned)offsetof(struct seccomp_data, name))

struct filter_program {
	struct sock_filter *out;
	unsigned n, cap;
	uint64_t allowed; /* 0: there is none */
};

static unsigned add(struct filter_program *p, struct sock_filter instruction)
{
	as_assert(p->n < p->cap);
	p->out[p->n] = instruction;
	return p->n++;
}

static struct sock_filter jump(unsigned code, unsigned k, unsigned yes, unsigned no)
{
	as_assert(yes < 256 && no < 256);
	return (struct sock_filter)BPF_JUMP(BPF_JMP | code | BPF_K, k, (unsigned char)yes,
					    (unsigned char)no);
}

static void answer(struct filter_program *p, unsigned what)
{
	add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what));
}

static struct sock_filter load(unsigned field)
{
	return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, field);
}

/* For a call of interest: the tracer is asked, unless the code of inside/ makes the call. */
static void ask_about(struct filter_program *p)
{
	if (p->allowed) {
		add(p, load(FIELD(instruction_pointer)));
		add(p, jump(BPF_JEQ, (unsigned)p->allowed, 0, 3));
		add(p, load(FIELD(instruction_pointer) + 4));
		add(p, jump(BPF_JEQ, (unsigned)(p->allowed >> 32), 0, 1));
		answer(p, SECCOMP_RET_ALLOW);
	}
	answer(p, SECCOMP_RET_TRACE);
}

/* For the numbers from lo to hi, whose answers are ask[]: a tree of comparisons. */
static void decide(struct filter_program *p, const bool *ask, unsigned lo, unsigned hi)
{
	unsigned run = lo, mid = lo, from, best = 0;

	while (run < hi && ask[run + 1] == ask[lo])
		run++;
	if (run == hi) {
		if (ask[lo])
			ask_about(p);
		else
			answer(p, SECCOMP_RET_ALLOW);
		return;
	}
	/* Cut between two runs, near the middle. The middle of the numbers is near enough. */
	for (unsigned i = lo; i < hi; i++) {
		unsigned left = i - lo + 1, right = hi - i, less = left < right ? left : right;

		if (ask[i] != ask[i + 1] && less > best) {
			best = less;
			mid = i;
		}
	}
	from = add(p, jump(BPF_JGT, mid, 0, 0));
	decide(p, ask, lo, mid);
	/* A conditional jump reaches 255 instructions: for longer distances it leads to an
	 * unconditional one. */
	if (p->n - from - 1 < 256) {
		p->out[from].jt = (unsigned char)(p->n - from - 1);
	} else {
		unsigned len = p->n - from - 1;

		as_assert(p->n < p->cap);
		for (unsigned i = p->n; i > from + 1; i--)
			p->out[i] = p->out[i - 1];
		p->n++;
		p->out[from] = jump(BPF_JGT, mid, 0, 1);
		p->out[from + 1] = (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, len);
	}
	decide(p, ask, mid + 1, hi);
}

bool as_record_by_event(const struct as_spec_call *call)
{
	switch (call->act) {
	case AS_ACT_FORK:
	case AS_ACT_VFORK:
	case AS_ACT_CLONE:
	case AS_ACT_EXEC:
	case AS_ACT_EXIT:
	case AS_ACT_EXIT_GROUP:
		return true;
	default:
		return false;
	}
}

unsigned as_record_filter(const struct as_spec *spec, uint64_t allowed, struct sock_filter *out,
			  unsigned cap)
{
	struct filter_program p = { .out = out, .cap = cap, .allowed = allowed };
	bool ask[AS_SPEC_NR_MAX];

	for (unsigned nr = 0; nr < AS_SPEC_NR_MAX; nr++)
		ask[nr] = spec->by_nr[nr] && !as_record_by_event(spec->by_nr[nr]);
	/* The last number stands for all larger ones; no call has it. */
	as_assert(!ask[AS_SPEC_NR_MAX - 1]);
	add(&p, load(FIELD(arch)));
	add(&p, jump(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0));
	answer(&p, SECCOMP_RET_TRACE | AS_RECORD_OTHER_ARCH);
	add(&p, load(FIELD(nr)));
	/* The numbers of x32 are those of another architecture. */
	add(&p, jump(BPF_JSET, 0x40000000, 0, 1));
	answer(&p, SECCOMP_RET_TRACE | AS_RECORD_OTHER_ARCH);
	if (ask[SYS_mmap]) {
		unsigned at = add(&p, jump(BPF_JEQ, SYS_mmap, 0, 0));

		add(&p, load(FIELD(args[3])));
		add(&p, jump(BPF_JSET, MAP_ANONYMOUS, 0, 1));
		answer(&p, SECCOMP_RET_ALLOW);
		ask_about(&p);
		p.out[at].jf = (unsigned char)(p.n - at - 1);
	}
	decide(&p, ask, 0, AS_SPEC_NR_MAX - 1);
	return p.n;
}
