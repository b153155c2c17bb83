/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source: who supplies traced calls (strace text, babeltrace text, LTTng natively, syzkaller
 * programs, eBPF, ptrace), behind one struct, and the tally that all of them report to.
 */
#ifndef AS_COVER_SOURCE_H
#define AS_COVER_SOURCE_H

#include "cover/counts.h"

#include <sys/types.h>

/* ---- The tally: world and counts together ---- */

struct as_split;

struct as_tally {
	const struct as_spec *spec;
	struct as_world *world;
	struct as_counts *counts;
	struct as_split *split; /* tests apart (split.h); NULL: all together */
};

/* A call that came back (or ended with its process). */
void as_tally_call(struct as_tally *tally, const struct as_syscall *call);
/* It came back from a signal's handler: -EINTR is what an interrupted call answers then. Whoever
 * reports rt_sigreturn as a call need not say it. */
void as_tally_sigreturn(struct as_tally *tally, unsigned tid, int64_t ret);
/* interrupt.c, for as_tally_call alone. */
bool as_tally_interrupt(struct as_tally *tally, const struct as_syscall *call);
/* A line or record that nobody understands. */
void as_tally_not_understood(struct as_tally *tally, const char *text, size_t len);
/* Calls that the source knows it has missed. */
void as_tally_lost(struct as_tally *tally, uint64_t n);

/* When all has been reported: what the world had to forget. */
void as_tally_ended(struct as_tally *tally);

/* ---- The seam ---- */

#define AS_SOURCE_VERSION 1

enum as_source_flags {
	AS_SOURCE_LIVE = 1, /* runs a command (input.argv), else it reads a stream or a folder */
	AS_SOURCE_FOLDER = 2, /* reads a folder (input.path) */
	AS_SOURCE_PRIVILEGED = 4,
};

struct as_trace; /* trace.h: a file, perhaps compressed, read in pieces */
struct as_record_control;

struct as_source_input {
	const char *path; /* of what is read, for messages */
	struct as_trace *trace;
	char **argv; /* of what is run, ends with NULL */
	int *exit_status; /* of what was run, as waitpid has it */
	struct as_record_control *control; /* of what is run: record.h; NULL: none */
};

struct as_source_ops {
	const char *name; /* "strace" */
	const char *about;
	unsigned version; /* AS_SOURCE_VERSION */
	unsigned flags;
	/* How sure it is that a trace that begins like this is its own: 0 not, 100 certainly. */
	int (*recognise)(const char *head, size_t len);
	/* Of live ones: can it be used here? 0, or AS_ELACK and why not. */
	int (*usable)(struct as_err *err);
	/* Reports all calls. What a trace holds is never an error: only what cannot be read is. */
	int (*run)(const struct as_source_input *input, struct as_tally *tally, struct as_err *err);
};

extern const struct as_source_ops as_source_strace, as_source_babeltrace, as_source_syzkaller;
extern const struct as_source_ops as_source_lttng; /* with libbabeltrace2 */
extern const struct as_source_ops as_source_inprocess, as_source_ptrace, as_source_ebpf;

#endif
