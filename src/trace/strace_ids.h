/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * strace_ids: which processes a trace of strace is about at the moment. strace -f without -o names
 * the process of a line, "[pid 12]", only while there are several; a line that names none is about
 * the only one left.
 */
#ifndef AS_TRACE_STRACE_IDS_H
#define AS_TRACE_STRACE_IDS_H

#include "base/err.h"

#include <stddef.h>

struct as_strace_ids {
	unsigned *at;
	unsigned n;
	size_t cap;
	unsigned nameless; /* stands for the process whose number was never printed; 0: none */
};

/* first: what the one without a number is called until its number is known. */
void as_strace_ids_open(struct as_strace_ids *ids, unsigned first);
void as_strace_ids_close(struct as_strace_ids *ids);
bool as_strace_ids_has(const struct as_strace_ids *ids, unsigned tid);
void as_strace_ids_add(struct as_strace_ids *ids, unsigned tid);
/* The process without a number has this number. */
void as_strace_ids_named(struct as_strace_ids *ids, unsigned tid);
void as_strace_ids_ended(struct as_strace_ids *ids, unsigned tid);
/* The process that a line without a number is about. */
unsigned as_strace_ids_only(const struct as_strace_ids *ids);

#endif
