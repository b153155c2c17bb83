/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * patience: whether something hangs: it has done nothing for longer than its deadline. Who watches
 * a process asks here; what may take long, and what its sign of life is, says a table (patience.c).
 *
 * A deadline counts only the time in which the process could run. On a machine with too much to do,
 * a process may wait for a processor for longer than the deadline: that is no hang. The kernel
 * tells for how long each thread has waited (/proc/PID/task/TID/schedstat). It also tells how busy
 * the machine is (/proc/pressure/cpu), for a process that waits for threads of the kernel. Where it
 * does not tell, all time counts.
 *
 * If we, or the whole machine, were stopped, the process most likely was, too: such time does not
 * count. We know of it because we look at the clock at least every AS_PATIENCE_STEP_MS.
 *
 * The kernel of a sandbox does not see when the sandbox itself waits for a processor of the
 * machine. Who runs there is told by the machine how long that was (as_patience_told()).
 */
#ifndef AS_OS_PATIENCE_H
#define AS_OS_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum as_patience_kind {
	AS_PATIENCE_CHILD,
	AS_PATIENCE_PROGRAM,
	AS_PATIENCE_CHECKER,
	AS_PATIENCE_SERVER,
	AS_PATIENCE_MATE,
};

#define AS_PATIENCE_STEP_MS 500

/* What the threads of a process and of its descendants had of the processors so far. */
struct as_patience_use {
	int64_t ran_us, waited_us;
	bool wants; /* one of them runs, or waits for its turn */
	bool blocked; /* one of them waits in the kernel, and no signal ends that */
};

/* What it had when we looked last. */
struct as_patience_look {
	int64_t us; /* when that was */
	struct as_patience_use use;
};

struct as_patience {
	enum as_patience_kind kind;
	pid_t pid;
	unsigned deadline_ms; /* 0: there is none */
	int64_t since_us; /* the deadline counts from here */
	int64_t asked_us; /* when we were asked last */
	struct as_patience_look look;
	bool knows_ours;
	int64_t ours_us; /* for how long we had waited then, if we know */
	int64_t told_us; /* what the machine had told then */
	int64_t granted_us; /* so much has been given so far because it waited */
};

/* The number at `us` grows by the time in which nothing here could run. NULL: nobody tells; that is
 * so at the start. */
void as_patience_told(const volatile int64_t *us);

/* For a process that was started a moment ago. */
struct as_patience as_patience_of(enum as_patience_kind kind, pid_t pid, unsigned deadline_ms);
/* It showed that it is alive: the deadline counts from now. */
void as_patience_restart(struct as_patience *p);
/* 0: it hangs. Else so many milliseconds may be waited until this is asked again. */
int64_t as_patience_left(struct as_patience *p);
/* For how long a process waited for a processor since the last look, of which *look is a note. If
 * it wants one at this moment, all that it did not run was a wait. A first look, of which `us` is
 * 0, finds no wait. */
int64_t as_patience_waited(struct as_patience_look *look, pid_t pid);

#endif
