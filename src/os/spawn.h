/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spawn: child processes with a deadline. The child gets its own process group, dies with us
 * (PR_SET_PDEATHSIG; "us" is the thread that called), and at the deadline the whole group is killed
 * with SIGKILL. What is left of the group when the child ends by itself is killed too; a daemon
 * that should outlive it calls setsid(), as daemons do. Every wait has an end: a child that cannot
 * be killed, because it waits in the kernel, is helped (os/stuck.h). If that does not end it, it is
 * left and reported as stuck.
 */
#ifndef AS_OS_SPAWN_H
#define AS_OS_SPAWN_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum as_end { AS_END_EXIT, AS_END_SIGNAL, AS_END_DEADLINE, AS_END_STOPPED };

struct as_ended {
	enum as_end how;
	int status; /* the exit status, or the signal */
	int64_t wall_us;
	pid_t stuck; /* the child if it was killed and still lives, else 0 */
};

struct as_halt;

struct as_spawn {
	char *const *argv; /* argv[0] is looked up in PATH */
	char *const *envp; /* NULL: a small fixed environment (PATH, LC_ALL=C, TZ=UTC, TMPDIR) */
	const char *cwd; /* NULL: unchanged */
	unsigned deadline_ms; /* 0: none */
	const struct as_halt *halt; /* it is ended then (AS_END_STOPPED); may be NULL */
	struct as_buf *output; /* stdout and stderr together, NULL: /dev/null */
	size_t output_max; /* the rest is read and dropped; 0: 1 MiB */
	const char *input; /* fed to stdin, NULL: /dev/null */
};

/*
 * When the work of this process is over, whatever it waits for: somebody asked it to stop, or the
 * time that its user gave it has passed. Who waits for what may take long takes one of these, ends
 * what it waits for, and answers AS_ESTOP. NULL: it is never over.
 */
struct as_halt {
	const volatile int *stop; /* a signal handler sets it; may be NULL */
	int64_t until_us; /* as as_now_us(); 0: there is no such moment */
};
bool as_halted(const struct as_halt *halt);
/* How long to wait at most before as_halted() is asked again. */
int as_halt_wait_ms(const struct as_halt *halt, int64_t wish_ms);

/* Runs a program to its end. A program that cannot be started is a tool error. */
AS_MUST_CHECK int as_spawn_run(const struct as_spawn *spawn, struct as_ended *ended,
			       struct as_err *err);

/* Runs fn(ctx) in a forked child, whose exit status is what fn returns. The caller may share memory
 * or a pipe with it. `alive` (may be NULL) is a counter in shared memory that the child keeps
 * raising: the deadline counts from its last change. A child that runs out of memory, or that the
 * kernel kills because there is none left, is an error of ours (AS_ENOMEM). */
AS_MUST_CHECK int as_spawn_fork(int (*fn)(void *ctx), void *ctx, unsigned deadline_ms,
				const volatile uint64_t *alive, struct as_ended *ended,
				struct as_err *err);

/* Does the same, and ends the child early (AS_END_STOPPED) when *stop is set, for example by a
 * signal handler. */
struct as_spawn_limits {
	unsigned deadline_ms; /* 0: none */
	const volatile uint64_t *alive; /* may be NULL */
	const volatile int *stop; /* may be NULL */
	const struct as_halt *halt; /* the same, and by a moment; may be NULL */
	struct as_buf *where; /* gets os/stuck.h's when the deadline passes; may be NULL */
};
AS_MUST_CHECK int as_spawn_fork_limited(int (*fn)(void *ctx), void *ctx,
					const struct as_spawn_limits *limits,
					struct as_ended *ended, struct as_err *err);

/*
 * fork(2) for a process that goes on in this program, and returns as it does; nearly every fork of
 * this program is here. The child dies with the thread that called, also if that one dies before
 * the child can ask for this. It waits for no signals that were blocked here.
 */
enum as_birth {
	AS_BIRTH_GROUP = 1, /* it has a process group of its own */
	/* What signals that ask a process to end do in it. Neither: what they do here. */
	AS_BIRTH_DEAF = 2, /* nothing: the parent hears them, and decides */
	AS_BIRTH_PLAIN = 4, /* they end it, unless they are ignored here */
};
pid_t as_spawn_child(unsigned how);

/* For a child that may be left running: closes our outputs in it, whose readers would otherwise
 * wait for its end. */
void as_spawn_be_silent(void);

/* Where programs are looked for: PATH of this process, and the sbin folders. */
void as_spawn_path(struct as_buf *out);
/* Finds a program in PATH and in the sbin folders; false if it is not there. */
bool as_spawn_which(const char *name, char *path, size_t cap);
/* "SIGSEGV" */
const char *as_signal_name(int sig);
/* Memory that is shared with forked children. It is zeroed and never NULL: the process ends with
 * as_out_of_memory() if there is none. */
void *as_shared_alloc(size_t len);
void as_shared_free(void *ptr, size_t len);
/* Monotonic time, for measuring only: no decision of the engine may depend on it. */
int64_t as_now_us(void);

#endif
