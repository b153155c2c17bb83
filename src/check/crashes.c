/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crashes: power cuts while an operation runs that has led to a new state. The trace is run once
 * more, on a recorded disk, and the crash states of its last operation are judged as in a crash run
 * (crash/judge.h). Those of the operations before it were judged with the states before.
 *
 * One recoverer serves all states of a worker, so that what it has recovered once is known by its
 * memo. A crash state that another trace has led to is not judged again if it is the same disk, and
 * the same is legal: upto[] says so, and not, as in a crash run, all operations and answers.
 */
#include "check/check_priv.h"

#include "crash/dedup.h"
#include "crash/record.h"
#include "run/child.h"
#include "run/instance.h"

#include <stdlib.h>
#include <string.h>

/* What a process says that tries a state. */
struct apart {
	bool ended, fine;
	uint64_t wrote;
	int rc;
	struct as_err err;
};

struct as_crashes {
	const struct as_worker_args *args;
	struct as_recoverer *recoverer; /* NULL: a process makes its own */
	struct apart *apart; /* what it says; NULL: all is done here */
	uint64_t wrote;
	bool fine;
};

static bool report(void *ctx, struct as_perm *perm, const struct as_perm_state *state,
		   const struct as_problem *problem)
{
	struct as_crashes *crashes = ctx;

	(void)perm;
	(void)state;
	crashes->fine = false;
	as_suspect_add(crashes->args->checking, crashes->args->lane, true, as_problem_sig(problem),
		       as_buf_str(&problem->why));
	return false;
}

static bool known(void *ctx, const struct as_problem *problem)
{
	(void)ctx;
	(void)problem;
	return false;
}

static void recovers(void *ctx, struct as_disk *disk)
{
	struct as_crashes *crashes = ctx;

	(void)disk;
	crashes->args->lane->alive++;
}

static void recovered(void *ctx, const struct as_recovered *recovered)
{
	struct as_crashes *crashes = ctx;

	for (size_t i = 0; recovered->log && i < as_reclog_len(recovered->log); i++)
		if (as_reclog_at(recovered->log, i)->kind == AS_CALL_WRITE)
			crashes->wrote += (as_reclog_at(recovered->log, i)->len + 511) / 512;
}

static void record_step(void *ctx, int64_t op)
{
	struct as_crashes *crashes = ctx;

	(void)op;
	crashes->args->lane->alive++;
}

static int new_recoverer(struct as_crashes *crashes, struct as_err *err)
{
	const struct as_checking *c = crashes->args->checking;
	struct as_recover_options options = { .deadline_ms = c->args->run->deadline_ms / 2,
					      .memo = c->crash.memo };

	return as_recoverer_new(c->args->target, c->args->run->seed, &crashes->args->lane->log,
				&options, &crashes->recoverer, err);
}

int as_crashes_new(const struct as_worker_args *args, struct as_crashes **out, struct as_err *err)
{
	uint32_t caps = as_instance_caps(args->checking->args->target);
	struct as_crashes *crashes = as_xcalloc(1, sizeof(*crashes));

	crashes->args = args;
	*out = crashes;
	if (caps & AS_INSTANCE_IN_PROCESS)
		return new_recoverer(crashes, err);
	crashes->apart = as_shared_alloc(sizeof(*crashes->apart));
	return 0;
}

void as_crashes_free(struct as_crashes *crashes)
{
	if (!crashes)
		return;
	as_recoverer_free(crashes->recoverer);
	if (crashes->apart)
		as_shared_free(crashes->apart, sizeof(*crashes->apart));
	free(crashes);
}

static int judge(struct as_crashes *crashes, const struct as_recording *recording,
		 struct as_err *err)
{
	const struct as_checking *c = crashes->args->checking;
	struct as_crash_counts counts = { 0 };
	struct as_shares shares = { 0 };
	struct as_judge_args args = { .recording = recording,
				      .recoverer = crashes->recoverer,
				      .options = &c->crash,
				      .ways_agree = as_recoverer_ways_agree(crashes->recoverer),
				      .dedup = crashes->args->dedup,
				      .flight = &crashes->args->lane->flight,
				      .counts = &counts,
				      .shares = &shares,
				      .report = report,
				      .known = known,
				      .recovers = recovers,
				      .recovered = recovered,
				      .ctx = crashes,
				      .begun_min = recording->n_ops };
	int rc;

	crashes->args->lane->flight.spent = crashes->args->lane->flight.spent_again = 0;
	rc = as_judge_all(&args, err);
	for (size_t i = 0; i < sizeof(counts) / sizeof(uint64_t); i++)
		__atomic_fetch_add((uint64_t *)&c->shared->counts.crash + i,
				   ((uint64_t *)&counts)[i], __ATOMIC_RELAXED);
	return rc;
}

static int try_here(struct as_crashes *crashes, const struct as_seq *seq,
		    const struct as_digest *upto, const struct as_plan *plan, struct as_err *err)
{
	const struct as_checking *c = crashes->args->checking;
	struct as_record_args args = { .target = c->args->target,
				       .fresh = c->fresh,
				       .seq = seq,
				       .seed = c->args->run->seed,
				       .log = &crashes->args->lane->log,
				       .plan = plan,
				       .choices = crashes->args->lane->tried.choices,
				       .open_end = true,
				       .step = record_step,
				       .ctx = crashes };
	struct as_recording recording = { 0 };
	int rc = as_record(&args, &recording, err);

	crashes->fine = true;
	crashes->wrote = 0;
	if (!rc && recording.wrong) {
		/* It was right without a recorder. */
		crashes->fine = false;
		as_suspect_add(c, crashes->args->lane, true,
			       as_suspect_key((unsigned)recording.kind, AS_OP_COUNT,
					      as_buf_str(&recording.why)),
			       as_buf_str(&recording.why));
	} else if (!rc && recording.n_ops == seq->n) {
		/* Where something failed, other states are legal, and upto[] says what came. */
		if (!plan)
			memcpy(recording.upto, upto, (seq->n + 1) * sizeof(*upto));
		rc = judge(crashes, &recording, err);
	}
	as_recording_free(&recording);
	return rc;
}

/* ---- In a process of its own ----------------------------------------------------------------- */

struct apart_job {
	struct as_crashes *crashes;
	const struct as_seq *seq;
	const struct as_digest *upto;
	const struct as_plan *plan;
};

static int be_apart(void *ctx)
{
	const struct apart_job *job = ctx;
	struct as_crashes *crashes = job->crashes;
	struct apart *apart = crashes->apart;

	as_child_begin(&crashes->args->lane->stack);
	as_child_keep_memory();
	apart->rc = new_recoverer(crashes, &apart->err);
	if (!apart->rc)
		apart->rc = try_here(crashes, job->seq, job->upto, job->plan, &apart->err);
	apart->fine = crashes->fine;
	apart->wrote = crashes->wrote;
	as_recoverer_free(crashes->recoverer);
	apart->ended = true;
	return 0;
}

/* A process that records a kernel's mount can mount nothing else meanwhile, nor can the worker. */
static int try_apart(struct as_crashes *crashes, const struct as_seq *seq,
		     const struct as_digest *upto, const struct as_plan *plan, struct as_err *err)
{
	const struct as_checking *c = crashes->args->checking;
	struct as_check_lane *lane = crashes->args->lane;
	struct apart_job job = { crashes, seq, upto, plan };
	struct as_spawn_limits limits = { .deadline_ms = c->args->run->deadline_ms,
					  .alive = &lane->alive,
					  .stop = &c->shared->stop };
	struct apart *apart = crashes->apart;
	struct as_ended ended;
	int rc;

	*apart = (struct apart){ 0 };
	/* Of what a kernel says of a crashed disk, the process itself is the judge. */
	if (c->args->run->state)
		c->args->run->state->faults++;
	rc = as_spawn_fork_limited(be_apart, &job, &limits, &ended, err);
	if (c->args->run->state)
		c->args->run->state->faults++;
	if (!rc && !apart->ended && !c->shared->stop)
		as_check_died(c, lane, &ended);
	else if (!rc && apart->rc)
		*err = apart->err;
	crashes->fine = apart->ended && apart->fine;
	crashes->wrote = apart->wrote;
	return rc ? rc : apart->rc;
}

int as_crashes_try(struct as_crashes *crashes, const struct as_seq *seq,
		   const struct as_digest *upto, const struct as_plan *plan, bool *fine,
		   uint64_t *wrote, struct as_err *err)
{
	int rc = crashes->apart ? try_apart(crashes, seq, upto, plan, err)
				: try_here(crashes, seq, upto, plan, err);

	*fine = crashes->fine;
	*wrote = crashes->wrote;
	return rc;
}
