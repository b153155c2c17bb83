/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * receiver: who is told of calls. Readers of traces and live recorders report to this one struct of
 * functions, and do not know what becomes of the calls: the tally counts them (cover/tally.h), the
 * import of workloads turns them into operations (trace/import_strace.c).
 *
 * Whoever receives embeds the struct as its first member. The world is kept by the receiver's
 * `call`; sources tell it directly what is no call (a new process, a call that begins).
 */
#ifndef AS_CALLS_RECEIVER_H
#define AS_CALLS_RECEIVER_H

#include "calls/world.h"

/* What a source says besides calls, each with a number. */
enum as_remark {
	AS_REMARK_LINES, /* lines or records read */
	AS_REMARK_UNFINISHED, /* calls that did not come back */
	AS_REMARK_OTHER_ARCH, /* calls of another architecture (32 bit) */
	AS_REMARK_FORGOTTEN, /* calls under way that were beyond the limits of a reader's tables */
	AS_REMARKS
};

struct as_receiver {
	const struct as_spec *spec;
	struct as_world *world;
	bool wants_commands; /* program and arguments of every exec, where that costs something */
	/* A call that came back (or ended with its process). */
	void (*call)(struct as_receiver *to, const struct as_syscall *call);
	/* A thread came back from a signal's handler: -EINTR is what an interrupted call answers
	 * then. A source that reports rt_sigreturn as a call need not say it. */
	void (*sigreturn)(struct as_receiver *to, unsigned tid, int64_t ret);
	void (*remark)(struct as_receiver *to, enum as_remark remark, uint64_t n);
	/* A call that is in no table. */
	void (*unknown_call)(struct as_receiver *to, const char *name, size_t len);
	/* A line or record that the source does not understand. */
	void (*not_understood)(struct as_receiver *to, const char *text, size_t len);
	/* Calls that the source knows it has missed. */
	void (*lost)(struct as_receiver *to, uint64_t n);
};

#endif
