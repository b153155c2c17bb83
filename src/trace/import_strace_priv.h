/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * import_strace_priv: what the files import_strace*.c share: a call of a log while it is turned
 * into an operation. Lines and values are read by the same code as for coverage (read_strace.h,
 * strace_value.h). Descriptors, working directories and paths come from the world.
 */
#ifndef AS_TRACE_IMPORT_STRACE_PRIV_H
#define AS_TRACE_IMPORT_STRACE_PRIV_H

#include "trace/import_tree.h"
#include "trace/read_strace.h"
#include "trace/strace_value.h"

/* AT_ flags. */
enum {
	AS_AT_NOFOLLOW = 0x100,
	AS_AT_REMOVEDIR = 0x200,
	AS_AT_FOLLOW = 0x400,
	AS_AT_EMPTY = 0x1000
};

/* The open file in a slot. To the world it has the number of the slot, + 1. */
struct as_tracing_file {
	unsigned refs; /* descriptors of all processes */
	int64_t at; /* its offset, -1: not known */
	bool appends; /* O_APPEND */
	bool listed; /* its entries were read */
};

#define AS_TRACING_LEFT_OUT AS_WORLD_FILES /* an open file of the tree that is in no slot */

struct as_tracing {
	struct as_receiver to; /* what the reader reports to */
	struct as_strace_now now;
	struct as_importing *x;
	struct as_import_tree tree;
	struct as_scan_room room;
	struct as_tracing_file files[AS_SLOT_MAX + 1];
	struct as_tracing_closed {
		int fd, slot;
	} * closed; /* descriptors that were closed and are not handled yet */
	size_t n_closed, closed_cap;
	unsigned *tids; /* in the order in which they first appeared */
	size_t n_tids, tids_cap;
	/* The current call: */
	unsigned tid;
	const struct as_scan *scan;
	int64_t ret; /* -1: failed, or not known */
	bool failed;
	unsigned inside, outside, unknown;
	const char *bad; /* which argument cannot be read */
	int64_t at_flags;
};

/* ---- import_strace_files.c ---- */

/* For the world (as_world_changed): a descriptor of the file in a slot is made, or goes away. */
void as_tracing_file_changed(void *ctx, unsigned file, int fd, int by);
/* Adds the operations that close the files whose last descriptor has gone away. */
void as_tracing_close_files(struct as_tracing *t);
int as_tracing_free_slot(const struct as_tracing *t);
/* The descriptor in an argument; -1: there is none. */
int as_tracing_fd_in(struct as_tracing *t, size_t arg);
/* What a call does to the offsets of its descriptors, as far as the log tells. */
void as_tracing_move_offset(struct as_tracing *t, enum as_opcode code);
void as_tracing_forget_offsets(struct as_tracing *t);
/* copy_file_range without offsets works at those of the descriptors and moves them. The operation
 * has offsets and moves nothing: a seek follows. */
void as_tracing_seek_after(struct as_tracing *t, size_t arg);
/* Listing a directory takes several calls; the operation is all of them. */
bool as_tracing_listed_again(struct as_tracing *t);

/* ---- import_strace_args.c ---- */

/* The string with a NUL after it, valid until the next line; NULL: it was cut, or is no string. */
const char *as_tracing_text(struct as_tracing *t, struct as_span arg);
/* said: the path that -y printed, empty if there is none. */
bool as_tracing_fd(struct as_tracing *t, struct as_span arg, int *fd, struct as_span *said);
/* The slot of a descriptor, AS_SLOT_NONE: it has none. */
int as_tracing_slot(struct as_tracing *t, int fd);
/* Its path in the tree; NULL: it is elsewhere, or unknown. */
const char *as_tracing_fd_path(struct as_tracing *t, int fd, bool *known);
/* A path of the tree, or NULL; counts whether it is inside, outside or unknown. dirfd: NULL for the
 * working directory. */
const char *as_tracing_path(struct as_tracing *t, const struct as_span *dirfd, struct as_span arg);
bool as_tracing_number(struct as_tracing *t, struct as_span arg, int64_t *number);
/* All arguments of a call, by the letters of its row in import_strace.def. */
void as_tracing_args(struct as_tracing *t, const char *letters, struct as_op *op);

#endif
