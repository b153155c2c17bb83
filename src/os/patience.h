/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * patience: a deadline for a process that counts only the time in which the process could run. On a
 * machine with too much to do, a process may wait for a processor for longer than the deadline:
 * that is no hang. The kernel tells for how long each thread has waited
 * (/proc/PID/task/TID/schedstat). It also tells how busy the machine is (/proc/pressure/cpu), for a
 * process that waits for threads of the kernel. Where it does not tell, all time counts.
 *
 * The kernel of a sandbox does not see when the sandbox itself waits for a processor of the
 * machine. Who runs there is told by the machine how long that was (as_patience_told()).
 */
#ifndef AS_OS_PATIENCE_H
#define AS_OS_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What the threads of a process and of its descendants had of the processors so far. */
struct as_patience_use {
	int64_t ran_us, waited_us;
	bool wants; /* one of them runs, or waits for its turn */
	bool blocked; /* one of them waits in the kernel, and no signal ends that */
};

struct as_patience {
	pid_t pid;
	unsigned deadline_ms; /* 0: there is none */
	int64_t since_us; /* the deadline counts from here */
	int64_t looked_us; /* when we looked last, and what we saw */
	struct as_patience_use use;
	int64_t told_us; /* what the machine had told then */
	int64_t granted_us; /* so much has been given so far because it waited */
};

/* The number at `us` grows by the time in which nothing here could run. NULL: nobody tells; that is
 * so at the start. */
void as_patience_told(const volatile int64_t *us);

/* For a process that was started a moment ago. */
struct as_patience as_patience_of(pid_t pid, unsigned deadline_ms);
/* It showed that it is alive: the deadline counts from now. */
void as_patience_restart(struct as_patience *p);
/* How many milliseconds are left; 0: the deadline has passed. */
int64_t as_patience_left(struct as_patience *p);

struct as_patience_use as_patience_use(pid_t pid);

#endif
