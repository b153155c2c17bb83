/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * receiver: what calls are reported to. Readers of traces and live recorders report to this one
 * struct of functions, and do not know what is done with the calls: the tally counts them
 * (cover/tally.h), and the import of workloads turns them into operations (trace/import_strace.c).
 *
 * A receiver embeds the struct as its first member. Its function `call` updates the world; sources
 * tell the world directly what is not a call (a new process, the beginning of a call).
 */
#ifndef AS_CALLS_RECEIVER_H
#define AS_CALLS_RECEIVER_H

#include "calls/world.h"

/* What a source says besides calls, each with a number. */
enum as_remark {
	AS_REMARK_LINES, /* lines or records read */
	AS_REMARK_UNFINISHED, /* calls that did not come back */
	AS_REMARK_OTHER_ARCH, /* calls of another architecture (32 bit) */
	AS_REMARK_FORGOTTEN, /* unfinished calls that a full table of a reader had to drop */
	AS_REMARKS
};

struct as_receiver {
	const struct as_spec *spec;
	struct as_world *world;
	bool wants_commands; /* wants program and arguments of every exec, even if slow */
	/* A call that came back (or ended with its process). */
	void (*call)(struct as_receiver *to, const struct as_syscall *call);
	/* A thread came back from a signal's handler: -EINTR is what an interrupted call answers
	 * then. A source that reports rt_sigreturn as a call need not call this. */
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
