/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boxed: workloads in a sandbox (box/sandbox.h). The engine inside is this program, and it
 * judges. Here it is supervised: what it says is checked, passed on and kept; a kernel that panics,
 * warns, complains of corruption or falls silent is a finding, and the sandbox is started anew with
 * the next workload.
 */
#ifndef AS_SUPERVISE_BOXED_H
#define AS_SUPERVISE_BOXED_H

#include "base/err.h"
#include "base/event.h"
#include "box/sandbox.h"
#include "run/run.h"
#include "target/medium.h"
#include "work/seq.h"

struct as_boxed_job {
	const char *name; /* for people */
	const struct as_seq *seq;
};

/* Where an engine was when its kernel died, as its state tells. */
struct as_boxed_place {
	int64_t op; /* in flight; -1: none */
	uint64_t ops; /* done */
	struct as_buf about; /* "mount": without numbers */
	struct as_buf detail;
	struct as_run_options options; /* that lead there */
	struct as_medium *disk; /* NULL: it cannot be had */
};

struct as_boxed {
	const struct as_sandbox_ops *sandbox;
	struct as_box_options box; /* share, state and limits are filled in */
	const char *target; /* as typed */
	struct as_run_options options;
	struct as_medium *fresh; /* the disk that workloads begin with; NULL: there is none */
	const char *out; /* folder of the findings; NULL: they are not kept */
	struct as_sink *told; /* hears what comes again, and notes */
	struct as_sink *found; /* hears, and keeps, what is found, inside and from out here */
	/* After each workload. */
	void (*workload)(void *ctx, const struct as_boxed_job *job,
			 const struct as_run_result *result);
	void *ctx;
	bool together; /* several workloads may share a process; `workload` is not called then */
	/* A file of signatures in the folder `out`, read at each start: findings that have one of
	 * them, or that came before, are not kept and only told to come again. NULL: all are
	 * new. */
	const char *known;
	/* A folder in `out`: where the engine keeps counts of calls. NULL: it does not. */
	const char *cov;
	unsigned silence_ms; /* without a sign of life from the kernel; 0: a default */
	/* Of scenarios that keep a state of their own; false: it is none of these. The state is
	 * that of a dead kernel: it may hold anything. place->options are those of the box. */
	bool (*where)(const struct as_boxed *boxed, struct as_box_state *state,
		      const struct as_seq *seq, struct as_boxed_place *place);
};

/* A sandbox that stays up between workloads: for who runs many, one after the other. */
struct as_boxed_session;

/* `boxed` and what it points to must outlive it. Nothing is started before it is needed. */
AS_MUST_CHECK int as_boxed_open(const struct as_boxed *boxed, struct as_boxed_session **session,
				struct as_err *err);
/* As as_boxed_run(). */
AS_MUST_CHECK int as_boxed_give(struct as_boxed_session *session, const struct as_boxed_job *jobs,
				size_t n_jobs, struct as_run_stats *stats, struct as_err *err);
void as_boxed_close(struct as_boxed_session *session); /* takes NULL */

/* Runs all of them, whatever they do to their kernel. */
AS_MUST_CHECK int as_boxed_run(const struct as_boxed *boxed, const struct as_boxed_job *jobs,
			       size_t n_jobs, struct as_run_stats *stats, struct as_err *err);

#endif
