/* SPDX-License-Identifier: GPL-2.0-or-later */
/* boxed_priv: what the parts of the supervisor share. Only supervise/boxed*.c include it. */
#ifndef AS_SUPERVISE_BOXED_PRIV_H
#define AS_SUPERVISE_BOXED_PRIV_H

#include "run/kmsg.h"
#include "supervise/boxed.h"

#include <jansson.h>

struct as_boxed_session {
	const struct as_boxed *how;
	const struct as_boxed_job *jobs;
	size_t n_jobs;
	bool *done; /* by job */
	struct as_run_stats *stats;
	bool once; /* when all is done, the box has to end by itself */
	unsigned boots; /* so far */
	int64_t counts_us; /* when counts were taken last */
	unsigned stuck_ms; /* as the box was told */

	/* Of this start: */
	struct as_box *box;
	size_t *list; /* what the engine is given: numbers of jobs */
	size_t n_list, n_finished;
	int in_fd; /* the folder for what the engine is to read; -1: none yet */
	struct as_buf events; /* what does not end with a newline yet, */
	size_t events_seen; /* and how much of it was looked through */
	uint64_t flood_bytes; /* that came out since the last workload */
	struct as_boxed_pending *pending; /* findings whose folders may not be whole yet */
	struct as_buf complaint; /* the last line that was no event */
	struct as_buf console; /* all of it, but for its middle */
	struct as_kmsg_scan *scan;
	bool begun; /* the boot is over */
	enum as_kmsg_class weight; /* of the worst report so far; its first counts */
	struct as_buf title, signature; /* of that report */
	bool engine_saw; /* the engine has told what the kernel said, and of which operation */

	unsigned kills; /* in a row, without a workload between */
};

/* How a box came to its end. */
enum as_boxed_end {
	BOXED_RUNS,
	BOXED_IDLE, /* all that it was given is done, and it waits for more */
	BOXED_ENDED, /* by itself, well or not */
	BOXED_SILENT, /* its kernel does not schedule */
	BOXED_STUCK, /* its kernel does, but the engine waits for ever */
	BOXED_LINGERS, /* it has crashed and does not end */
	BOXED_COMPLAINED, /* a workload is done, and the kernel is not content */
	BOXED_STOPPED, /* somebody has stopped it and does not let it go on */
	BOXED_FLOODS, /* it says more than anybody wants to hear */
};

/* Folders in the one that is shared. */
#define BOXED_IN "in"
#define BOXED_OUT "out"
#define BOXED_COUNTS "cov"

/* boxed_fill.c: for as_box_options.fill; the session is `ctx`. */
int as_boxed_fill(void *ctx, struct as_box *box, struct as_err *err);
/* The workloads of b->list, for an engine that is there. */
AS_MUST_CHECK int as_boxed_write_work(const struct as_boxed_session *b, struct as_err *err);

/* boxed_events.c: takes the lines that are there; stops behind the first workload if asked to. */
AS_MUST_CHECK int as_boxed_take_events(struct as_boxed_session *b, bool *one_done,
				       struct as_err *err);
void as_boxed_take_console(struct as_boxed_session *b, const char *data, size_t len);
/* Adds what is to be part of one line, whatever it holds. */
void as_boxed_add_line(struct as_buf *buf, const char *text, size_t len);
/* Forgets what the box before said. */
void as_boxed_clear(struct as_boxed_session *b);
void as_boxed_free_texts(struct as_boxed_session *b);

/* boxed_take.c: what the engine tells it has found; false: it cannot be believed. */
bool as_boxed_take_finding(struct as_boxed_session *b, const json_t *event);
/* Passes on what waits; the engine has stored all of it, or never will. */
void as_boxed_flush(struct as_boxed_session *b);
/* What it has counted, from its folder to ours; when the box has ended. */
void as_boxed_take_counts(struct as_boxed_session *b);

/* boxed_found.c: the job that was in flight. */
size_t as_boxed_in_flight(const struct as_boxed_session *b);
/* A finding from out here about that job; it counts as done. */
void as_boxed_found(struct as_boxed_session *b, size_t job, enum as_boxed_end end);

#endif
