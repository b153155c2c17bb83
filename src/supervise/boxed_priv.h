/* SPDX-License-Identifier: GPL-2.0-or-later */
/* boxed_priv: what the parts of the supervisor share. Only supervise/ *.c include it. */
#ifndef AS_SUPERVISE_BOXED_PRIV_H
#define AS_SUPERVISE_BOXED_PRIV_H

#include "klog/kmsg.h"
#include "os/patience.h"
#include "supervise/boxed.h"
#include "supervise/wire.h"

struct as_boxed_session {
	struct as_sweep_at sweep_at; /* where the sweep of the first workload goes on */
	uint64_t sweep_told; /* so many failures of it were told */
	unsigned sweep_deaths; /* of boxes in the sweep of this workload */
	const struct as_boxed *how;
	const struct as_work *work; /* what it was given */
	bool *done; /* by workload */
	struct as_run_result *sum;
	bool once; /* the box must end by itself when all is done */
	unsigned boots; /* so far */
	int64_t counts_us; /* when counts were taken last */
	unsigned stuck_ms; /* the value that the box was given */

	/* Of this start: */
	struct as_box *box;
	size_t *list; /* what the engine is given: numbers of workloads */
	size_t n_list, n_finished;
	int in_fd; /* the folder for what the engine is to read; -1: none yet */
	struct as_buf events; /* bytes after the last whole line, */
	size_t events_seen; /* and how many of them hold no newline */
	bool greeted; /* its hello has come, with our version of the wire */
	/* What it said since the last workload, or the last failure of a sweep: */
	uint64_t events_bytes, console_bytes;
	unsigned n_findings; /* that were believed since then */
	struct as_buf complaint; /* its error, or the last line that was no event */
	bool gave_up; /* its error has come: what it prints after that is ignored, */
	bool lacks; /* and the machine lacks something */
	struct as_buf console; /* what the kernel printed, without its middle */
	struct as_kmsg_scan *scan;
	bool begun; /* the boot is over */
	uint64_t faults_over; /* as_box_state.faults up to which all that was printed is read */
	enum as_kmsg_class weight; /* of the worst report so far; the first of that class counts */
	struct as_buf title, signature; /* of that report */
	bool engine_saw; /* the engine has reported what the kernel said, and the operation */

	/* Of a request that is answered; NULL: workloads are run. */
	const struct as_boxed_question *question;
	struct as_buf *answer;
	struct as_boxed_death *death;
	uint64_t asked; /* its number */

	struct as_box *outside; /* runs checkers for the engine; NULL: it was not asked yet */
	struct as_buf outside_said; /* after its last whole line */
	bool outside_greeted; /* its hello has come */
	/* The question that it has not answered, and the last that came meanwhile; 0: none. */
	uint64_t outside_asked, outside_next;
	unsigned kills; /* in a row, without a workload between */
};

/* How a box came to its end. */
enum as_boxed_end {
	BOXED_RUNS,
	BOXED_IDLE, /* all that it was given is done, and it waits for more */
	BOXED_ENDED, /* it ended by itself, with success or not */
	BOXED_SILENT, /* its kernel does not schedule */
	BOXED_STUCK, /* its kernel does, but the engine makes no progress */
	BOXED_LINGERS, /* it has crashed and does not end */
	BOXED_COMPLAINED, /* a workload is done, and the kernel reported something */
	BOXED_STOPPED, /* somebody has stopped it and does not continue it */
	BOXED_FLOODS, /* it said too much without finishing a workload */
};

#define AS_BOXED_STOPPED_SECONDS 60 /* how long somebody may stop a box */
#define AS_BOXED_FLOOD_MIB 64 /* the most that a box may say without finishing a workload */
#define AS_BOXED_FLOOD_BYTES ((uint64_t)AS_BOXED_FLOOD_MIB << 20)

/* Folders in the one that is shared. */
#define BOXED_IN "in"
#define BOXED_OUT "out"
#define BOXED_COUNTS "cov"

/* give.c: writes what the engine reads: to a box that begins, or to one that is up. For
 * as_box_options.fill, too, with the session as `ctx`. */
int as_boxed_fill(void *ctx, struct as_box *box, struct as_err *err);
/* The name, in the sandbox, of what it reads. */
void as_boxed_call_path(const struct as_boxed_session *b, struct as_buf *out);
/* In BOXED_OUT. */
#define AS_BOXED_ANSWER "answer"

/* hang.c: */
struct as_boxed_clocks {
	int64_t last_us; /* when we looked */
	int64_t silent_us, idle_us, stuck_us, crash_us, stopped_us; /* for how long */
	uint64_t beat, progress;
	struct as_patience_look waits; /* what the box had of the processors when we asked */
};
/* Whether the box has ended, hangs or floods; BOXED_RUNS: none of these. */
enum as_boxed_end as_boxed_look(const struct as_boxed_session *b, struct as_boxed_clocks *clocks);
/* How long the guest waits for progress until it reports that the engine is stuck. */
unsigned as_boxed_stuck_ms(const struct as_boxed *how);

/* boxed.c: ends the box, if there is one; the next work gets a new one. */
void as_boxed_drop(struct as_boxed_session *b);

/* ask.c: the engine says that the answer to that request is there. *done: it is. */
AS_MUST_CHECK int as_boxed_take_answer(struct as_boxed_session *b, uint64_t number, bool *done,
				       struct as_err *err);
/* The box has ended before it was. */
void as_boxed_note_death(struct as_boxed_session *b, enum as_boxed_end end);

/* verdict.c: what the end of the box means. */
AS_MUST_CHECK int as_boxed_judge(struct as_boxed_session *b, enum as_boxed_end end,
				 struct as_err *err);

/* events.c: takes the lines that are there. Stops after a workload that made the kernel report
 * something; then *reported is set. */
AS_MUST_CHECK int as_boxed_take_events(struct as_boxed_session *b, bool *reported,
				       struct as_err *err);
/* Adds the text as a part of one line: control characters become spaces. */
void as_boxed_add_line(struct as_buf *buf, const char *text, size_t len);
/* Forgets what the box before this one said. */
void as_boxed_clear(struct as_boxed_session *b);
void as_boxed_free_texts(struct as_boxed_session *b);

/* outside.c: whether the engine may ask; for as_boxed_fill(). */
void as_boxed_outside_offer(struct as_boxed_session *b, struct as_box *box);
void as_boxed_outside_asked(struct as_boxed_session *b, uint64_t number);
void as_boxed_outside_look(struct as_boxed_session *b); /* passes an answer on */
/* What the process said. False: it makes no sense. */
bool as_boxed_outside_take(struct as_boxed_session *b, const char *data, size_t len);
void as_boxed_outside_end(struct as_boxed_session *b);

/* console.c: */
void as_boxed_take_console(struct as_boxed_session *b, const char *data, size_t len);
/* Adds the line that the end of the console has most often, without the time and so on; nothing if
 * it has no whole line. The same flood gives the same line, but for its numbers. */
void as_boxed_add_repeated(const struct as_boxed_session *b, struct as_buf *out);
/* Whether its kernel has killed a process because memory ran out. */
bool as_boxed_lacked_memory(const struct as_boxed_session *b);
/* Forgets what was said so far, but not that the boot is over. */
void as_boxed_forget_console(struct as_boxed_session *b);
void as_boxed_clear_console(struct as_boxed_session *b);
void as_boxed_free_console(struct as_boxed_session *b);

/* guest_findings.c: passes the finding on, with its disk; false: it is not believed. */
bool as_boxed_take_finding(struct as_boxed_session *b, struct as_finding *finding);

/* guest_counts.c: moves the files of counts from the box's folder to ours. */
void as_boxed_take_counts(struct as_boxed_session *b);

/* post_mortem.c: how far the sweep of this workload is. */
struct as_sweep_at as_boxed_sweep_at(const struct as_boxed_session *b);
/* The workload that was running. */
size_t as_boxed_in_flight(const struct as_boxed_session *b);
/* Makes a finding about that workload from what the box left; it counts as done. */
void as_boxed_post_mortem(struct as_boxed_session *b, size_t which, enum as_boxed_end end);

#endif
