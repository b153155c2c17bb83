/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record_pin: see record_pin.h. */
#include "cover/record_pin.h"

#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#define CALLS_ALONE 64 /* before it is worth while */

static bool set_one(pid_t tid, int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return !sched_setaffinity(tid, sizeof(one), &one);
}

void as_pin_open(struct as_pin *pin)
{
	*pin = (struct as_pin){ .cpu = -1 };
	pin->off = sched_getaffinity(0, sizeof(pin->ours), &pin->ours) || CPU_COUNT(&pin->ours) < 2;
}

static void let_go(struct as_pin *pin)
{
	if (!pin->pinned)
		return;
	sched_setaffinity(pin->pinned, sizeof(pin->theirs), &pin->theirs);
	sched_setaffinity(0, sizeof(pin->ours), &pin->ours);
	pin->pinned = 0;
	pin->calls = 0;
}

void as_pin_close(struct as_pin *pin)
{
	let_go(pin);
}

static void take(struct as_pin *pin, pid_t tid)
{
	int cpu = sched_getcpu();

	pin->calls = 0;
	if (cpu < 0 || cpu >= CPU_SETSIZE ||
	    sched_getaffinity(tid, sizeof(pin->theirs), &pin->theirs) ||
	    !CPU_ISSET(cpu, &pin->theirs) || !set_one(0, cpu))
		return;
	if (set_one(tid, cpu)) {
		pin->pinned = tid;
		pin->cpu = cpu;
	} else {
		sched_setaffinity(0, sizeof(pin->ours), &pin->ours);
	}
}

void as_pin_company(struct as_pin *pin, pid_t tid)
{
	pin->tasks++;
	pin->calls = 0;
	/* It has inherited our doing. */
	if (pin->pinned)
		sched_setaffinity(tid, sizeof(pin->theirs), &pin->theirs);
	if (pin->tasks > 1)
		let_go(pin);
}

void as_pin_gone(struct as_pin *pin, pid_t tid)
{
	pin->tasks--;
	pin->calls = 0;
	if (tid == pin->pinned)
		let_go(pin);
}

/* It asked where it may run. */
static void told(const struct as_pin *pin, const struct user_regs_struct *r)
{
	struct iovec here = { (void *)&pin->theirs, (size_t)r->rax };
	struct iovec there = { (void *)(uintptr_t)r->rdx, (size_t)r->rax };

	if ((int64_t)r->rax > 0 && r->rax <= sizeof(pin->theirs))
		(void)!process_vm_writev(pin->pinned, &here, 1, &there, 1, 0);
}

/* It said where it wants to run, which has been done. */
static void moved(struct as_pin *pin, pid_t tid)
{
	if (sched_getaffinity(tid, sizeof(pin->theirs), &pin->theirs))
		return;
	if (!CPU_ISSET(pin->cpu, &pin->theirs) || !set_one(tid, pin->cpu)) {
		sched_setaffinity(0, sizeof(pin->ours), &pin->ours);
		pin->pinned = 0;
	}
}

void as_pin_call(struct as_pin *pin, pid_t tid, const struct user_regs_struct *r)
{
	bool self = !r->rdi || (pid_t)r->rdi == tid;

	if (pin->off || pin->tasks != 1)
		return;
	if (!pin->pinned) {
		if (++pin->calls >= CALLS_ALONE)
			take(pin, tid);
		return;
	}
	if (r->orig_rax == SYS_sched_getaffinity && self)
		told(pin, r);
	else if (r->orig_rax == SYS_sched_setaffinity && self && !r->rax)
		moved(pin, tid);
}
