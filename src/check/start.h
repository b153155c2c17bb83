/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * start: a state other than the empty file system that a check begins with. It is made by a
 * workload: one of a table (start.def), which is sized by what the target has and answers, or one
 * that the user has written. The workload is carried out once, and the disk that it leaves after an
 * unmount takes the place of the fresh disk: so a state is brought back from there, and what it
 * takes to make the start is paid once.
 *
 * A trace that begins with a start is its text, then that of the trace. The text ends with an
 * unmount and a mount, so that such a trace is a workload that any run can repeat.
 */
#ifndef AS_CHECK_START_H
#define AS_CHECK_START_H

#include "base/err.h"
#include "run/run.h"

struct as_checking;
struct as_model;
struct as_seq;

/* Calls that are counted while it is made (failing.c and asks.c count from there on). */
enum as_start_call {
	AS_START_READ,
	AS_START_WRITE,
	AS_START_FLUSH,
	AS_START_ALLOC,
	AS_START_ASK,
	AS_START_CALLS
};

struct as_start {
	char *name; /* "large", or the file */
	char *text;
	size_t n_ops; /* of the text */
	const char *ops; /* that are tried besides the usual ones, with commas; "": none */
	/* Disk and model after it. */
	struct as_run_fresh aged;
	struct as_model *model;
	uint64_t after_ns; /* its clock at the end */
	uint64_t calls[AS_START_CALLS];
	uint64_t free_bytes; /* of the disk; UINT64_MAX: it does not tell */
	bool refused; /* something was full meanwhile: an operation was refused that need not be */
	/* Of each inode of the model, by its number: whether no operation names it. There may be
	 * hundreds that are alike: of those, the first and the last are named. */
	uint8_t *hidden;
	uint32_t n_hidden;
	unsigned nodes, named; /* without the root */
	/* What the target did wrong meanwhile; NULL: nothing. Then the text ends there, and nothing
	 * else is set. */
	char *wrong;
};

struct as_start_args {
	const struct as_target *target;
	const struct as_run_options *run;
	struct as_run_fresh fresh;
	/* The workload, if it is known; it ends with an unmount. NULL: the name says it. */
	const struct as_seq *given;
	volatile uint64_t *alive; /* counts on with every operation; NULL: nobody looks */
};

/* name: of a row of start.def, or of a file. A workload that does not end in a state that is known,
 * because its power was cut, is AS_EUSE. */
AS_MUST_CHECK int as_start_make(const struct as_start_args *args, const char *name,
				struct as_start **start, struct as_err *err);
/* The same where the file system is in a sandbox: it is made there (start_away.c). Of *start, the
 * disk, the model and what is counted are not set: each kernel in a sandbox makes its own. */
AS_MUST_CHECK int as_start_away(const struct as_checking *checking, const char *name,
				struct as_start **start, struct as_err *err);
void as_start_free(struct as_start *start); /* takes NULL */

/* How a sandbox is told of a start: the name of a row, AS_INSIDE_GIVEN for a file, or "" for
 * NULL. */
const char *as_start_told(const char *name);
/* Row number i: its name; NULL: there are no more. */
const char *as_start_name(unsigned i, const char **help);

#endif
