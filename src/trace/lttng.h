/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lttng: turns events of LTTng's kernel tracer into calls, whether they come from babeltrace's text
 * or from its library. A field finds its slot by the kernel's name of the parameter. An entry waits
 * for its exit.
 *
 * If the trace has no process ids (no context was asked for), an entry waits for the next exit on
 * the same processor, and one descriptor table serves for all. The counts say so.
 */
#ifndef AS_TRACE_LTTNG_H
#define AS_TRACE_LTTNG_H

#include "trace/pending.h"
#include "trace/source.h"

struct as_lttng {
	struct as_receiver *to;
	struct as_pendings pendings;
	unsigned max_cpu;
	bool without_ids; /* an event had none */
	struct as_syscall call; /* of the current entry */
};

/* The ids of one event. */
struct as_lttng_ids {
	bool has_tid, has_pid;
	unsigned cpu, tid, pid;
};

void as_lttng_open(struct as_lttng *lttng, struct as_receiver *to);
/* Reports the calls that never came back. */
void as_lttng_close(struct as_lttng *lttng);

/* An entry: begin, fields, enter. Texts must stay until enter. */
void as_lttng_begin(struct as_lttng *lttng, const struct as_spec_call *spec);
void as_lttng_number(struct as_lttng *lttng, const char *field, size_t len, uint64_t value);
void as_lttng_text(struct as_lttng *lttng, const char *field, size_t len, const char *text,
		   size_t text_len);
void as_lttng_enter(struct as_lttng *lttng, const struct as_lttng_ids *ids);

/* An exit. spec NULL: of the call that had begun. made: the descriptors that came back through
 * memory, -1: none. */
void as_lttng_leave(struct as_lttng *lttng, const struct as_lttng_ids *ids,
		    const struct as_spec_call *spec, int64_t ret, const int made[2]);

/* The exit of rt_sigreturn has no number: the trace calls it unknown. */
bool as_lttng_is_unknown(const char *name, size_t len);
bool as_lttng_in_sigreturn(struct as_lttng *lttng, const struct as_lttng_ids *ids);

/* What an event is, by its name. */
enum as_lttng_kind {
	AS_LTTNG_ENTRY,
	AS_LTTNG_EXIT,
	AS_LTTNG_FORK, /* sched_process_fork */
	AS_LTTNG_END, /* sched_process_exit */
	AS_LTTNG_FOREIGN, /* of a 32 bit program */
	AS_LTTNG_OTHER, /* not of interest */
};

/* *call: the rest of the name, of entries and exits; empty when it does not say. */
enum as_lttng_kind as_lttng_kind(const char *name, size_t len, const char **call, size_t *call_len);
void as_lttng_forked(struct as_lttng *lttng, unsigned parent, unsigned child);

#endif
