/* SPDX-License-Identifier: GPL-2.0-or-later */
/* worker_priv: a worker: see worker.c. Only files of this room include it. */
#ifndef AS_CHECK_WORKER_PRIV_H
#define AS_CHECK_WORKER_PRIV_H

#include "check/check_priv.h"

#include "instance/instance.h"
#include "legal/past.h"
#include "legal/policy.h"
#include "trial/space.h"
#include "trial/trial.h"

struct as_asks;
struct as_kcov;
struct as_kwatch;
struct as_cut_base;
struct as_cuts;
struct as_failing;

struct as_expander {
	const struct as_worker_args *args;
	const struct as_checking *c;
	struct as_check_lane *lane;
	pid_t pid; /* its own */
	struct as_medium *disk;
	struct as_instance *instance;
	struct as_instance_mark *fresh;
	struct as_space_seen space; /* what statfs tells of it */
	struct as_crashes *crashes; /* NULL: no power cuts */
	struct as_kwatch *watch; /* of the kernel; NULL: it has nothing to do with it */
	struct as_cuts *cuts;
	struct as_policy policy;
	struct as_trial trial; /* the model, and what fails now */
	/* The state that is expanded: */
	uint32_t id;
	struct as_buf trace; /* its text */
	struct as_seq *seq; /* the same, after the last power cut */
	const struct as_cut_base *base; /* where that begins */
	struct as_digest *upto; /* what is legal after each operation, and after one more */
	struct as_seq *moves;
	bool *still; /* for each of them: it was tried, and has changed nothing */
	/* Where the file system is now: */
	struct as_past *past;
	struct as_era era;
	bool back; /* it is in that state */
	uint64_t partition; /* of the last answer (novel.c) */
	struct as_kcov *kcov; /* NULL: nobody asks what code is reached */
	uint64_t places; /* of the kernel's code that the last operation reached first (code.c) */
	uint64_t answers_worth; /* how new the answers were, of this state */
	bool owned; /* the state is this shard's (shard.c) */
	uint64_t age; /* what is judged once is not judged again at this age; see expand.c */
	struct as_buf why, line;
	/* Faults: */
	struct as_failing *failing; /* NULL: nothing is made to fail */
	struct as_asks *asks; /* who answers the target; NULL: nobody in particular */
	char faults[AS_SUSPECT_FAULTS]; /* what fails now, as text */
};

/* ---- expand.c ---- */

/* The instance is open: operations can be judged. */
void as_worker_judge_open(struct as_expander *w);
/* One operation, from AS_TRIAL_AGREED or AS_TRIAL_FOLLOWED on with the model in the state after
 * it; what is wrong is told as a suspect. */
enum as_trial_did as_worker_do(struct as_expander *w, const struct as_op *op, uint32_t i,
			       struct as_outcome *got);
/* Brings the state back; it may fail, then w->back is false. */
AS_MUST_CHECK int as_worker_bring_back(struct as_expander *w, struct as_err *err);
/* Whether the tree is as the model says; `code`: after which operation. */
bool as_worker_tree_agrees(struct as_expander *w, unsigned code);
/* After an unmount: whether the checker finds nothing, and all is there after a mount. */
bool as_worker_disk_agrees(struct as_expander *w, unsigned code, struct as_err *err, int *rc);

/* Tries all that may follow a state, from move `first` on. */
AS_MUST_CHECK int as_worker_expand(struct as_expander *w, uint32_t id, uint32_t first,
				   struct as_err *err);
/* Gives up what is known of where the file system is. */
void as_worker_forget(struct as_expander *w);
/* The trace of a state becomes that of the worker. */
AS_MUST_CHECK int as_worker_read_trace(struct as_expander *w, uint32_t id, struct as_err *err);

/* ---- worker.c ---- */

/* What a worker needs, in the process that is to be it; args, c, lane and pid are set. To be closed
 * in both cases. */
AS_MUST_CHECK int as_worker_open(struct as_expander *w, struct as_err *err);
void as_worker_close(struct as_expander *w);

/* Whether the kernel has not complained since the last look; `code`: after which operation. */
bool as_worker_quiet(struct as_expander *w, unsigned code);

/* diskhash.c: whether an operation that has changed nothing else may have changed the disk, and the
 * disk is part of states: what a file without a name has left, say. */
bool as_worker_disk_changed(const struct as_expander *w, const struct as_op *op,
			    const struct as_outcome *got);
/* The same: adds what is on the disk after one more operation, if it is part of states. */
AS_MUST_CHECK int as_worker_disk_key(struct as_expander *w, const struct as_op *op,
				     struct as_digest *key, struct as_err *err);
/* A state could not be brought back. */
void as_worker_lose(struct as_expander *w);

/* Brings the state back and carries the operation out, with whatever fails or is answered now. */
AS_MUST_CHECK int as_worker_try(struct as_expander *w, const struct as_op *op,
				enum as_trial_did *did, struct as_err *err);
/* Power cuts while the operation runs that was carried out last. See as_crashes_try(). */
AS_MUST_CHECK int as_worker_cut_power(struct as_expander *w, const struct as_op *op,
				      const struct as_plan *plan, bool *fine, uint64_t *wrote,
				      struct as_err *err);

/* ---- worker.c ---- */

/* What a worker needs, in the process that is to be it; args, c, lane and pid are set. To be closed
 * in both cases. */
AS_MUST_CHECK int as_worker_open(struct as_expander *w, struct as_err *err);
void as_worker_close(struct as_expander *w);

/* ---- reach.c ---- */

/* The operation has led to another state, that of w->model and w->past. */
AS_MUST_CHECK int as_worker_reach(struct as_expander *w, const struct as_op *op,
				  struct as_err *err);
/* In a sandbox, what a power cut on the way has left, and recovery made of it, is to be told. */
void as_worker_tell_recovered(struct as_expander *w, uint32_t id, struct as_model *model,
			      struct as_past *past);
/* A recovered state that is new, to be expanded unless it is too deep. */
void as_worker_push(struct as_expander *w, uint32_t id, struct as_model *model,
		    struct as_past *past);

/* ---- rest.c ---- */

/* What is looked at once in each state. */
AS_MUST_CHECK int as_worker_rest(struct as_expander *w, struct as_err *err);

/* ---- failing.c ---- */

struct as_failing *as_failing_new(const struct as_check_options *options);
void as_failing_free(struct as_failing *failing); /* takes NULL */
/* A plan in which nothing fails, and calls are counted. */
const struct as_plan *as_failing_counts(const struct as_failing *failing);
/* After the operation, whatever it answered: the tree is as the model says and, unless writes were
 * lost, so is the disk after an unmount; then the power is cut. plan: what failed; NULL: nothing.
 */
AS_MUST_CHECK int as_failing_judge(struct as_expander *w, const struct as_op *op,
				   const struct as_plan *plan, bool follows, struct as_err *err);
/* Runs operation `op` of the state again and again, each time with another call of it that
 * fails. */
AS_MUST_CHECK int as_failing_try(struct as_expander *w, const struct as_op *op, struct as_err *err);

/* ---- shard.c ---- */

/* Tries all that may follow in a state of another shard, in the model alone. */
AS_MUST_CHECK int as_shard_follow(struct as_expander *w, uint32_t id, uint32_t first,
				  struct as_err *err);
/* Before an operation of a state of its own: what the other shards expect after it. */
struct as_digest as_shard_expect(const struct as_expander *w, const struct as_op *op);

/* ---- novel.c ---- */

/* A state begins to be expanded. */
void as_novel_begin(struct as_expander *w);
/* An operation that was tried has answered so. */
void as_novel_answer(struct as_expander *w, const struct as_op *op, const struct as_outcome *got);
/* What may be new about the state of w->model, which that operation has led to. */
struct as_novel as_novel_of(const struct as_expander *w);

/* ---- code.c ---- */

AS_MUST_CHECK int as_worker_code_open(struct as_expander *w, struct as_err *err);
/* Around an operation that is tried. What was reached before it is nobody's. */
void as_worker_code_before(struct as_expander *w);
void as_worker_code_after(struct as_expander *w);

/* ---- asks.c ---- */

struct as_asks *as_asks_new(void);
void as_asks_free(struct as_asks *asks); /* takes NULL */
struct as_choice *as_asks_choice(struct as_asks *asks);
/* The next question is the first one. */
void as_asks_begin(struct as_asks *asks);
/* Runs an operation of the state again and again, each time with another answer to one of the
 * questions that it asks. */
AS_MUST_CHECK int as_asks_try(struct as_expander *w, const struct as_op *op, struct as_err *err);

#endif
