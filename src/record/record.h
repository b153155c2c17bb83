/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record: what live sources share: how a command is started under watch, and how the caller can end
 * the recording early.
 *
 * A recording ends when the last process of the command's tree has ended. With ptrace and
 * in-process, the tree cannot run without the recorder, since the filter asks it about calls: if
 * the recorder dies, the tree is killed. With eBPF the tree goes on and is not seen any more.
 */
#ifndef AS_RECORD_RECORD_H
#define AS_RECORD_RECORD_H

#include "trace/source.h"

#include <signal.h>
#include <stdatomic.h>

extern const struct as_source_ops as_source_inprocess, as_source_ptrace, as_source_ebpf;

/* Shared with a signal handler of the caller, who does `asked++` and passes the signal on to
 * `child` (unless the terminal has done so). After the first request, the recording continues until
 * the command has ended; after the second, its processes are killed. In both cases the counts are
 * partial. */
struct as_record_control {
	_Atomic pid_t child; /* 0: not running */
	volatile sig_atomic_t asked;
	unsigned setuid_programs; /* setuid programs that ran without their rights */
	uint64_t cut_short; /* texts or lists that were too long and were cut */
	int exec_errno; /* why the command could not be run; 0: it could */
	unsigned ring_bytes; /* size of the buffer that eBPF fills, a power of 2; 0: a default */
};

/* ---- For the sources ---- */

struct as_record_child {
	pid_t pid;
	int go_fd, said_fd;
};

/* Forks. The child waits for as_record_go, calls prepare(ctx) (0 or an errno), and becomes the
 * command. */
AS_MUST_CHECK int as_record_fork(char **argv, int (*prepare)(void *ctx), void *ctx,
				 struct as_record_child *child, struct as_err *err);
void as_record_go(struct as_record_child *child);
/* To be called when the child has ended: says why it did not become the command, if it did not.
 * Closes all descriptors. */
AS_MUST_CHECK int as_record_said(struct as_record_child *child, const struct as_source_input *input,
				 struct as_err *err);

/* For a process that is stopped after an exec: puts its program and its arguments into `call`. They
 * point into `room` until that is used again. */
struct as_record_command {
	char program[AS_SYSCALL_TEXT_MAX], args[AS_SYSCALL_TEXT_MAX];
};
void as_record_command(pid_t pid, struct as_record_command *room, struct as_syscall *call);

/* Tells the world what the child starts with: working directory and descriptors. `tid` is what the
 * source calls it. */
void as_record_inherited(struct as_world *world, pid_t pid, unsigned tid);

/* A thread that is not the first has called exec: it takes the number of the first thread, and
 * keeps its own state. */
void as_record_renamed(struct as_world *world, unsigned former, unsigned tid);

/* The seccomp program that asks the tracer about the calls of the table. It leaves out calls that
 * the tracer learns of by events of ptrace, and the call just before the address `allowed` (0:
 * none). It also asks about calls of another architecture. */
#define AS_RECORD_OTHER_ARCH 1
struct sock_filter;
unsigned as_record_filter(const struct as_spec *spec, uint64_t allowed, struct sock_filter *out,
			  unsigned cap);
/* Whether ptrace reports it by an event: fork, exec, exit and similar calls. */
bool as_record_by_event(const struct as_spec_call *call);

#endif
