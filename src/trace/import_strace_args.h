/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import_strace_args: a call of a log on its way to an operation: what its arguments say. */
#ifndef AS_TRACE_IMPORT_STRACE_ARGS_H
#define AS_TRACE_IMPORT_STRACE_ARGS_H

#include "trace/import_strace_line.h"
#include "trace/import_strace_world.h"

/* AT_ flags. */
enum {
	AS_AT_NOFOLLOW = 0x100,
	AS_AT_REMOVEDIR = 0x200,
	AS_AT_FOLLOW = 0x400,
	AS_AT_EMPTY = 0x1000
};

struct as_tracing {
	struct as_importing *x;
	struct as_tr_world world;
	struct as_tr_process *p;
	const struct as_strace_call *call;
	/* Of the call at hand: */
	unsigned inside, outside, unknown;
	const char *bad; /* which argument cannot be read */
	const char *from, *to; /* first and second path on the machine */
	const char *about; /* the path of the descriptor it is about, in the tree */
	int64_t at_flags;
};

/* A path of the tree, or NULL; counts where it leads. *machine is the path on the machine. */
const char *as_tracing_path(struct as_tracing *t, const struct as_piece *dirfd, struct as_piece arg,
			    const char **machine);
bool as_tracing_number(struct as_tracing *t, struct as_piece arg, int64_t *number);
/* All arguments of a call, by the letters of its row in strace.def. */
void as_tracing_args(struct as_tracing *t, const char *letters, struct as_op *op);

#endif
