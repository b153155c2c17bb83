/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_ptrace_priv: what record_ptrace.c and the files that work for it share.
 *
 * A tracer that stops a process at each call is slow. record_inprocess.c puts code into each traced
 * process (inside/), which writes the process's own calls into memory that it shares with the
 * tracer. The tracer puts the code there when a program starts. When it meets a call in the text of
 * the program, it redirects that call to the code. It still sees every call that was not
 * redirected: the filter lets only the one call of that code through.
 */
#ifndef AS_RECORD_RECORD_PTRACE_PRIV_H
#define AS_RECORD_RECORD_PTRACE_PRIV_H

#include "record/record.h"

struct as_inside;
struct as_inside_space; /* an address space */
struct user_regs_struct;

struct as_task {
	pid_t tid, tgid;
	bool in_call;
	bool known; /* to the world */
	bool waits; /* stopped until the world knows it */
	bool newborn; /* it has not run yet */
	bool vforked; /* its parent waits for it */
	struct as_inside_space *space; /* NULL: the code is not in it */
	unsigned slot; /* its part of the pool, 0: none */
	struct as_task *older, *newer;
};

/* Reads memory of a traced task; returns how much could be read. */
size_t as_tracer_read(pid_t tid, uint64_t address, void *out, size_t len);
/* For struct as_memory: ctx points to the task's number. */
size_t as_tracer_text(void *ctx, uint64_t address, void *out, size_t len, bool text);

/* What /proc says of a task; all 0: it is gone. */
struct as_tracer_status {
	pid_t tgid, parent, tracer;
	char state;
};
struct as_tracer_status as_tracer_status(pid_t tid);

/* NULL: it cannot be done here, and *err says why. */
struct as_inside *as_inside_new(const struct as_spec *spec, struct as_err *err);
void as_inside_free(struct as_inside *in);
/* The address after the call that the filter is to let through. */
uint64_t as_inside_allowed(const struct as_inside *in);

/* Reports the calls that were recorded until now, in order. */
void as_inside_drain(struct as_inside *in, struct as_receiver *to);

/* All of these are about a task that is stopped. After exec: puts the code in. False: something
 * else happened to the task meanwhile; *status says what, and the caller must handle it. */
bool as_inside_exec(struct as_inside *in, struct as_task *task, int *status);
/* A new task, before it first runs. */
void as_inside_born(struct as_inside *in, const struct as_task *parent, struct as_task *child,
		    uint64_t flags);
void as_inside_release(struct as_inside *in, struct as_task *child);
/* How many of its calls never returned. */
unsigned as_inside_gone(struct as_inside *in, struct as_task *task);
/* It is about to make a call that was not redirected to the code: redirects it, if that can be
 * done, and lets the task make it again. False: it was not redirected. *status: 0, or what else
 * happened meanwhile. */
bool as_inside_hit(struct as_inside *in, struct as_task *task, struct user_regs_struct *regs,
		   int *status);
/* It has mapped text, by a call at `caller`. */
void as_inside_mapped(struct as_inside *in, struct as_task *task, uint64_t address, uint64_t len,
		      int fd, uint64_t offset, uint64_t caller);
/* True: it was a fault of our own code, and is repaired. */
bool as_inside_fault(struct as_inside *in, struct as_task *task);

#endif
