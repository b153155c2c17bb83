/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boxed: workloads in a sandbox (box/sandbox.h). The engine in it is this program, and it judges
 * the workloads. This is its supervisor. Events of the engine are checked and passed on. A kernel
 * that panics, warns, reports corruption or falls silent is a finding, and the sandbox is started
 * again with the next workload.
 */
#ifndef AS_SUPERVISE_BOXED_H
#define AS_SUPERVISE_BOXED_H

#include "base/err.h"
#include "base/event.h"
#include "box/sandbox.h"
#include "host/medium.h"
#include "progress/result.h"
#include "run/run.h"
#include "supervise/wire.h"
#include "symptom/known.h"
#include "work/list.h"

/* Where an engine was when its kernel died, from its state in the shared memory. */
struct as_boxed_place {
	int64_t op; /* that was running; -1: none */
	uint64_t ops; /* done */
	struct as_buf about; /* such as "mount", without numbers */
	struct as_buf detail;
	struct as_run_options options; /* options that lead to the same place again */
	struct as_medium *disk; /* at that moment; NULL: it is unknown */
};

struct as_boxed {
	const struct as_sandbox_ops *sandbox;
	struct as_box_options box; /* share, state and limits are filled in */
	const char *target; /* as typed */
	struct as_run_options options;
	struct as_medium *fresh; /* the disk that workloads begin with; NULL: there is none */
	const char *out; /* folder of the findings; NULL: they are not kept */
	struct as_sink *notes; /* gets signatures that came again, and notes */
	struct as_sink *findings; /* gets findings of the engine and of the supervisor */
	/* After each workload. */
	void (*workload)(void *ctx, const char *name, const struct as_run_result *result);
	/* Of a sweep: when it has come further; points of workloads before do not count. NULL:
	 * nobody asks. */
	void (*swept)(void *ctx, const struct as_sweep_at *at);
	/* Asked ten times a second at least: whether to give up, with AS_ESTOP. NULL: never. */
	bool (*must_stop)(void *ctx);
	void *ctx;
	bool together; /* several workloads may share a process; `workload` is not called then */
	/* Checkers may run outside of the guest (instance/outside.h). With `together`,
	 * they always may. */
	bool outside;
	/* Read at each start of a box. Findings with one of these signatures, and findings that
	 * came before, are not kept: only their signatures are reported. NULL: all signatures are
	 * new. */
	const struct as_known *known;
	/* A folder in `out` for the engine's counts of calls. NULL: it does not count. */
	const char *cov;
	unsigned session; /* its number among those that have `out` one after the other */
	unsigned silence_ms; /* how long the kernel may give no sign of life; 0: a default */
	/* For scenarios that keep a state of their own: says where the engine was; false: the
	 * state is not of such a scenario. The state comes from a dead kernel, so it may hold
	 * anything. place->options are those of the box. */
	bool (*where)(const struct as_boxed *boxed, struct as_box_state *state,
		      const struct as_seq *seq, struct as_boxed_place *place);
};

/* Of several sandboxes at once, this is number `lane`: unless a core was asked for, each gets the
 * next one, so that no two share a core while another has none. */
void as_boxed_spread(struct as_boxed *boxed, unsigned lane, unsigned lanes);

/* A sandbox that stays up between workloads, for callers that run many. */
struct as_boxed_session;

/* `boxed` and what it points to must outlive the session. The sandbox is started when it is
 * needed. */
AS_MUST_CHECK int as_boxed_open(const struct as_boxed *boxed, struct as_boxed_session **session,
				struct as_err *err);
/* Does the same as as_boxed_run() in the session's sandbox. */
AS_MUST_CHECK int as_boxed_give(struct as_boxed_session *session, const struct as_work *work,
				struct as_run_result *sum, struct as_err *err);
void as_boxed_close(struct as_boxed_session *session); /* takes NULL */

/* A request that is answered. */
struct as_boxed_question {
	enum as_wire_request request;
	const struct as_buf *image; /* the disk */
	const struct as_seq *seq; /* NULL: the request has no workload */
};

/* What became of a kernel that was asked. */
struct as_boxed_death {
	bool died; /* it did not live to answer */
	bool hung; /* it gave no answer in time */
	/* What it reported, and the same without names and numbers; "": nothing. What it printed
	 * since it was asked. */
	struct as_buf title, signature, log;
};

/*
 * Asks in the session's sandbox: *answer is what the engine wrote, unless death->died. A sandbox
 * that served other requests before may suffer from what those did to its kernel, and one that did
 * not come up from what else the machine had to do: then it is asked once more, in a new one.
 */
AS_MUST_CHECK int as_boxed_ask(struct as_boxed_session *session,
			       const struct as_boxed_question *question, struct as_buf *answer,
			       struct as_boxed_death *death, struct as_err *err);
void as_boxed_death_free(struct as_boxed_death *death);

/* Runs all of them, whatever they do to their kernel. What came of them is added to *sum. */
AS_MUST_CHECK int as_boxed_run(const struct as_boxed *boxed, const struct as_work *work,
			       struct as_run_result *sum, struct as_err *err);

#endif
