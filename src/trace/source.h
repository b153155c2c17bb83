/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source: who supplies traced calls (strace text, babeltrace text, LTTng natively, syzkaller
 * programs, eBPF, ptrace, the recorded process itself), as one struct of functions. All of them
 * report to a struct as_receiver.
 */
#ifndef AS_TRACE_SOURCE_H
#define AS_TRACE_SOURCE_H

#include "calls/receiver.h"

#include <sys/types.h>

#define AS_SOURCE_VERSION 1

enum as_source_flags {
	AS_SOURCE_LIVE = 1, /* runs a command (input.argv), else it reads a stream or a folder */
	AS_SOURCE_FOLDER = 2, /* reads a folder (input.path) */
	AS_SOURCE_PRIVILEGED = 4,
};

struct as_trace; /* trace.h: a file, perhaps compressed, read in pieces */
struct as_record_control;

struct as_source_input {
	const char *path; /* path of what is read, for messages */
	struct as_trace *trace;
	char **argv; /* arguments of the command, with a NULL after the last */
	int *exit_status; /* status of the command, as waitpid gives it */
	struct as_record_control *control; /* for a command: see record/record.h; NULL: none */
};

struct as_source_ops {
	const char *name; /* "strace" */
	const char *about;
	unsigned version; /* AS_SOURCE_VERSION */
	unsigned flags;
	/* How likely a trace that begins like this is of its format: 0 not, 100 certainly. */
	int (*recognise)(const char *head, size_t len);
	/* Of live ones: can it be used here? 0, or AS_ELACK and why not. */
	int (*usable)(struct as_err *err);
	/* Reports all calls. The contents of a trace are never an error; a trace that cannot be
	 * read is. */
	int (*run)(const struct as_source_input *input, struct as_receiver *to, struct as_err *err);
};

/* ---- Those that read traces; the live ones are in record/record.h ---- */

extern const struct as_source_ops as_source_strace, as_source_babeltrace, as_source_syzkaller;
extern const struct as_source_ops as_source_lttng; /* with libbabeltrace2 */

/* NULL: there is none of this name. */
const struct as_source_ops *as_source_named(const char *name);
/* The one whose traces begin like this one; a trace of no format that is known is AS_EUSE. */
AS_MUST_CHECK int as_source_choose(const char *path, struct as_trace *trace,
				   const struct as_source_ops **out, struct as_err *err);

#endif
