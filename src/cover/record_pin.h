/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_pin: tracer and tracee on one processor, as long as there is one tracee.
 *
 * They never run at the same time: a tracee that is stopped at a call waits for us, we wait for its
 * next stop. On two processors each of these is woken from sleep by the other one; on one it is
 * a plain switch. So a tracee that is alone, and makes one call after the other, is kept where we
 * are. As soon as there is a second one both are let go again. Tracees see nothing of it: what
 * sched_getaffinity tells them is what it would be without us, and what they ask of
 * sched_setaffinity holds.
 */
#ifndef AS_COVER_RECORD_PIN_H
#define AS_COVER_RECORD_PIN_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

struct user_regs_struct;

struct as_pin {
	bool off; /* one processor, or more than a cpu_set_t can hold */
	pid_t pinned; /* 0: nobody */
	unsigned tasks, calls;
	int cpu;
	cpu_set_t ours, theirs; /* without us doing this */
};

void as_pin_open(struct as_pin *pin);
void as_pin_close(struct as_pin *pin);
/* A task more; one less. */
void as_pin_company(struct as_pin *pin, pid_t tid);
void as_pin_gone(struct as_pin *pin, pid_t tid);
/* It is stopped behind a call. */
void as_pin_call(struct as_pin *pin, pid_t tid, const struct user_regs_struct *regs);

#endif
