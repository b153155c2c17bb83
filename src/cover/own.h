/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * own: the calls of assay's own runs, counted without tracing. The executor reports what it calls
 * through struct as_watch (vfs/watch.h), whose functions are implemented here; ctx is the struct
 * as_own.
 *
 * Method. Workloads run in children that may die at any moment. A child writes each call, with the
 * memory that its arguments point to, into memory that it shares with the process that started it;
 * that process counts them when the child has ended. In the world, every workload is a process of
 * its own, with "/" as its directory; all its calls are about the files under test.
 *
 *  1. A record is complete before its length is set: no incomplete record is read if a child dies.
 *  2. A call for which there is no room is counted as lost; no process waits.
 *
 * If the target is a library, no system calls are made. Its operations are counted as the calls
 * they stand for (work/op.def). remove, prune, deepen, enlarge and readdir stand for many calls,
 * which the result does not show: they are noted as not visible.
 */
#ifndef AS_COVER_OWN_H
#define AS_COVER_OWN_H

#include "cover/counts.h"
#include "work/op.h"
#include "work/outcome.h"

struct as_own;

/* folder: where each process that starts children keeps what it has counted, in a file of its own
 * (for as_own_gather); NULL: there is only one such process. */
AS_MUST_CHECK int as_own_new(const struct as_spec *spec, const char *folder, struct as_own **own,
			     struct as_err *err);
void as_own_free(struct as_own *own);
struct as_counts *as_own_counts(struct as_own *own);
/* Adds what other processes have left in the folder, and removes it there. */
AS_MUST_CHECK int as_own_gather(struct as_own *own, const char *folder, struct as_err *err);

/* Keeps what was gathered in the folder that it was made with; see as_own_failed. */
void as_own_keep(struct as_own *own);
/* Whether a process, this one or another, could not keep what it had counted. */
AS_MUST_CHECK int as_own_failed(const struct as_own *own, struct as_err *err);

/* ---- The members of struct as_watch ---- */

void as_own_open(void *own);
void as_own_ended(void *own);
void as_own_close(void *own);
void as_own_begin(void *own);
void as_own_holds(void *own, int fd, const char *path, bool directory);
void as_own_call(void *own, long nr, const uint64_t args[6], int64_t raw);
void as_own_op(void *own, const struct as_op *op, const struct as_outcome *outcome);

/* All of them, as the initializer of one. */
#define AS_OWN_WATCH(own)                                                          \
	{                                                                          \
		.open = as_own_open, .ended = as_own_ended, .close = as_own_close, \
		.begin = as_own_begin, .holds = as_own_holds, .call = as_own_call, \
		.op = as_own_op, .ctx = (own)                                      \
	}

#endif
