/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crashes: power cuts while an operation runs that has led to a new state. The trace is run once
 * more, on a recorded disk, and the crash states of its last operation are judged as in a crash run
 * (crash/judge.h). Those of the operations before it were judged with the states before.
 *
 * One recoverer serves all states of a worker, so that what it has recovered once is known by its
 * memo. A crash state that another trace has led to is not judged again if it is the same disk, and
 * the same is legal: upto[] says so, and not, as in a crash run, all operations and answers.
 *
 * Of a kernel, a process has several mounts here: the devices of the recoverer, which are made
 * first; the worker's own, which is in a mount namespace made after it and sees them; and that of
 * a record, in a namespace that is left when the record ends. One of them is in use at a time.
 */
#include "check/cuts.h"

#include "child/kcov.h"
#include "crash/again.h"
#include "crash/dedup.h"
#include "instance/instance.h"
#include "instance/outside.h"
#include "recording/record.h"
#include "snapshot/tree.h"

#include <stdlib.h>
#include <string.h>

struct as_crashes {
	const struct as_worker_args *args;
	struct as_recoverer *recoverer;
	struct as_again *again;
	const struct as_cut_base *base; /* where traces begin */
	struct as_cuts *cuts; /* NULL: traces do not go on after a power cut */
	struct as_kcov *kcov; /* NULL: nobody asks what code is reached */
	uint64_t wrote, pending;
	bool fine;
};

void as_crashes_code(struct as_crashes *crashes, struct as_kcov *kcov)
{
	crashes->kcov = kcov;
}

static bool report(void *ctx, struct as_perm *perm, const struct as_perm_state *state,
		   const struct as_problem *problem)
{
	struct as_crashes *crashes = ctx;

	(void)perm;
	(void)state;
	crashes->fine = false;
	as_suspect_add(crashes->args->checking, crashes->args->lane, true, problem->notice->kind,
		       as_problem_sig(problem), problem->notice->summary);
	return false;
}

static bool known(void *ctx, const struct as_problem *problem)
{
	(void)ctx;
	(void)problem;
	return false;
}

static void go_on(struct as_crashes *crashes)
{
	crashes->args->lane->alive++;
	if (crashes->kcov)
		as_kcov_take(crashes->kcov, AS_KCOV_NOBODY);
}

static void recovers(void *ctx, struct as_disk *disk, const struct as_perm *perm)
{
	struct as_crashes *crashes = ctx;

	(void)disk;
	(void)perm;
	go_on(crashes);
}

static void recovered(void *ctx, const struct as_recovered *recovered)
{
	struct as_crashes *crashes = ctx;

	crashes->wrote += recovered->wrote_sectors;
	if (crashes->cuts)
		as_cuts_note(crashes->cuts, &crashes->args->lane->flight, recovered);
}

static void record_step(void *ctx, int64_t op)
{
	struct as_crashes *crashes = ctx;

	(void)op;
	go_on(crashes);
}

/* Has a kernel's devices made, which later mounts of the worker must find. */
static int make_devices(struct as_crashes *crashes, struct as_err *err)
{
	struct as_disk *fresh = as_medium_disk(crashes->args->checking->fresh.disk);
	enum as_way way = (enum as_way)__builtin_ctz(as_recoverer_ways(crashes->recoverer) |
						     1u << AS_WAY_FULL);
	struct as_recovered recovered = { 0 };
	int rc = as_recover(crashes->recoverer, way, fresh, AS_RECOVER_LOG, &recovered, err);

	if (!rc && recovered.end != AS_RECOVERED)
		rc = as_fail(err, AS_EUSE, "a fresh disk cannot be recovered: %s",
			     as_buf_str(&recovered.why));
	as_recovered_free(&recovered);
	return rc;
}

int as_crashes_new(const struct as_worker_args *args, struct as_crashes **out, struct as_err *err)
{
	const struct as_checking *c = args->checking;
	struct as_recover_options options = { .deadline_ms = c->args->run->deadline_ms / 2,
					      .memo = c->crash.memo,
					      .outside = as_outside_of(c->args->run->state),
					      .alive = &args->lane->alive };
	struct as_crashes *crashes = as_xcalloc(1, sizeof(*crashes));

	int rc;

	crashes->args = args;
	*out = crashes;
	rc = as_recoverer_new(c->args->target, c->args->run->seed, &args->lane->log, &options,
			      &crashes->recoverer, err);
	if (!rc)
		crashes->again = as_again_new(crashes->recoverer, &c->crash, c->board);
	if (!rc && !as_recoverer_in_process(crashes->recoverer))
		rc = make_devices(crashes, err);
	return rc;
}

void as_crashes_free(struct as_crashes *crashes)
{
	if (!crashes)
		return;
	as_again_free(crashes->again);
	as_recoverer_free(crashes->recoverer);
	free(crashes);
}

void as_crashes_begin(struct as_crashes *crashes, const struct as_cut_base *base,
		      struct as_cuts *cuts)
{
	crashes->base = base;
	crashes->cuts = cuts;
}

struct as_recoverer *as_crashes_recoverer(const struct as_crashes *crashes)
{
	return crashes->recoverer;
}

/* False: it is the same as one that was judged. */
static bool set_budget(const struct as_crashes *crashes, const struct as_recording *recording,
		       uint64_t *budget)
{
	const struct as_checking *c = crashes->args->checking;
	const struct as_try *tried = &crashes->args->lane->tried;

	if (!c->options->falls || !*budget || *tried->faults || *tried->choices)
		return true;
	*budget = as_alike_budget(&c->shared->alike, recording, recording->upto[recording->n_ops],
				  *budget);
	if (*budget)
		return true;
	AS_CHECK_ADD(c, alike, 1);
	as_store_gap(c->store, 1);
	return false;
}

static int judge(struct as_crashes *crashes, const struct as_recording *recording,
		 struct as_err *err)
{
	const struct as_checking *c = crashes->args->checking;
	struct as_crash_options options = c->crash;
	struct as_crash_counts counts = { 0 };
	struct as_shares shares = { 0 };
	struct as_judge_args args = { .recording = recording,
				      .recoverer = crashes->recoverer,
				      .options = &options,
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
				      .again = c->crash.budget ? NULL : crashes->again,
				      .began_with_replay = crashes->base->n,
				      .begun_min = recording->n_ops };
	uint64_t told;
	int rc;

	/* One thing is unusual at a time, before the power cut or after it. */
	if (recording->fired || *crashes->args->lane->tried.choices)
		options.faults = 0;
	if (!set_budget(crashes, recording, &options.budget))
		return 0;
	crashes->args->lane->flight.spent = crashes->args->lane->flight.spent_again = 0;
	told = as_again_told(crashes->again);
	rc = as_judge_all(&args, err);
	AS_CHECK_ADD(c, told, as_again_told(crashes->again) - told);
	if (c->crash.budget && counts.generated < counts.possible) {
		AS_CHECK_ADD(c, unlooked, 1);
		as_store_gap(c->store, 1);
	}
	for (size_t i = 0; i < sizeof(counts) / sizeof(uint64_t); i++)
		__atomic_fetch_add((uint64_t *)&c->shared->counts.crash + i,
				   ((uint64_t *)&counts)[i], __ATOMIC_RELAXED);
	return rc;
}

static uint64_t count_pending(const struct as_reclog *log, uint32_t last)
{
	uint64_t pending = 0, by_last = 0;

	for (size_t i = 0; log && i < as_reclog_len(log); i++) {
		unsigned kind = as_reclog_at(log, i)->kind;

		pending = kind == AS_CALL_FLUSH ? 0 : pending + (kind == AS_CALL_WRITE);
		by_last += kind == AS_CALL_WRITE && as_reclog_at(log, i)->op == last;
	}
	return by_last << 32 | pending;
}

uint64_t as_crashes_pending(const struct as_crashes *crashes)
{
	return crashes->pending;
}

/* A recovery that is repeated must come to the same tree. */
static bool may_begin(void *ctx, const struct as_tree *tree, struct as_buf *why)
{
	const struct as_crashes *crashes = ctx;

	return !as_tree_diff(crashes->base->tree, "after the first mount", tree, "after another",
			     why);
}

static int record(struct as_crashes *crashes, const struct as_seq *seq, const struct as_plan *plan,
		  bool still, struct as_recording *recording, struct as_err *err)
{
	const struct as_cut_base *base = crashes->base;
	const struct as_checking *c = crashes->args->checking;
	struct as_record_args args = { .target = c->args->target,
				       .fresh = c->fresh,
				       .seq = seq,
				       .seed = c->args->run->seed,
				       .log = &crashes->args->lane->log,
				       .hold = c->crash.hold,
				       .early = c->crash.early,
				       .plan = plan,
				       .choices = as_asks_own(crashes->args->lane->tried.choices),
				       .open_end = true,
				       .crashed = base->crashed,
				       .still = still,
				       .after_ns = base->after_ns,
				       .may_begin = may_begin,
				       .step = record_step,
				       .ctx = crashes };

	return as_record(&args, recording, err);
}

int as_crashes_record(struct as_crashes *crashes, const struct as_cut_base *base,
		      const struct as_seq *seq, const struct as_plan *plan,
		      struct as_recording *recording, struct as_err *err)
{
	crashes->base = base;
	return record(crashes, seq, plan, false, recording, err);
}

int as_crashes_record_still(struct as_crashes *crashes, const struct as_seq *seq,
			    struct as_recording *recording, struct as_err *err)
{
	return record(crashes, seq, NULL, true, recording, err);
}

int as_crashes_try(struct as_crashes *crashes, const struct as_seq *seq,
		   const struct as_digest *upto, const struct as_plan *plan, bool *fine,
		   uint64_t *wrote, struct as_err *err)
{
	const struct as_checking *c = crashes->args->checking;
	struct as_recording recording = { 0 };
	int rc;

	/* Of what a kernel says of a crashed disk, recovery is the judge. */
	as_check_excuse(c, crashes->args->lane, true);
	rc = as_crashes_record(crashes, crashes->base, seq, plan, &recording, err);
	crashes->fine = true;
	crashes->wrote = 0;
	if (!rc && recording.wrong) {
		/* It was right without a recorder. */
		crashes->fine = false;
		as_suspect_add(c, crashes->args->lane, true, recording.kind,
			       as_suspect_key((unsigned)recording.kind, AS_OP_COUNT,
					      as_buf_str(&recording.why)),
			       as_buf_str(&recording.why));
	} else if (!rc && recording.n_ops == seq->n) {
		/* Where something failed, other states are legal, and upto[] says what came. */
		if (!plan)
			memcpy(recording.upto, upto, (seq->n + 1) * sizeof(*upto));
		rc = judge(crashes, &recording, err);
		if (!rc && crashes->fine && crashes->cuts)
			as_cuts_name(crashes->cuts, &recording);
	}
	crashes->pending = rc ? 0 : count_pending(recording.log, (uint32_t)seq->n - 1);
	as_check_excuse(c, crashes->args->lane, false);
	as_recording_free(&recording);
	*fine = crashes->fine;
	*wrote = crashes->wrote;
	return rc;
}
