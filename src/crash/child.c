/* SPDX-License-Identifier: GPL-2.0-or-later */
/* child: see child.h. */
#include "crash/child.h"

#include "child/child.h"
#include "child/kcov.h"
#include "crash/boxed.h"
#include "crash/rounds.h"
#include "crew/ended.h"
#include "host/trail.h"
#include "instance/outside.h"
#include "recover/recover.h"
#include "target/fstype.h"

#include <stdio.h>
#include <string.h>

struct child_judging {
	const struct as_crash_args *args;
	const struct as_recording *recording;
	struct as_crash_keeper *keeper; /* NULL: not in a sandbox */
	struct as_judge_resume resume;
	struct as_recoverer *recoverer; /* in the process that judges */
	struct as_kcov *kcov; /* there; NULL: nobody asks */
	/* Of the trail, where power cuts begin; and the last state that is on it. */
	size_t trail_len;
	uint64_t trail_turn, trail_index;
};

/* ---- Judging, in a process of its own -------------------------------------------------------- */

static bool report(void *ctx, struct as_perm *perm, const struct as_perm_state *state,
		   const struct as_problem *problem)
{
	struct child_judging *j = ctx;

	return as_crash_report_add(j->args, j->recording, perm, state, problem, j->recoverer);
}

static bool known(void *ctx, const struct as_problem *problem)
{
	struct child_judging *j = ctx;

	return as_crash_report_has(j->args->shared, problem->notice->signature);
}

/* The power cut, on the trail of calls: which changes of the record were begun, and which of them
 * are not on the disk as a whole. */
static void trail_cut(struct child_judging *j, struct as_trail *trail, const struct as_perm *perm)
{
	const struct as_flight *f = &j->args->shared->flight;
	size_t cut = f->state.cut;

	/* The ways of one state are kept together; other states are forgotten. */
	if (!j->trail_len)
		j->trail_len = as_trail_len(trail);
	else if (f->turn != j->trail_turn || f->index != j->trail_index)
		as_trail_rewind(trail, j->trail_len);
	j->trail_turn = f->turn;
	j->trail_index = f->index;
	as_trail_mark(trail, AS_TRAIL_CUT, as_perm_cut(perm, cut).at, NULL, 0);
	for (size_t i = 0; i < as_perm_units(perm); i++)
		if (!as_perm_unit(perm, i).kept)
			as_trail_mark(trail, AS_TRAIL_LOST, as_perm_unit(perm, i).entry, NULL, 0);
}

static void recovers(void *ctx, struct as_disk *disk, const struct as_perm *perm)
{
	struct child_judging *j = ctx;
	struct as_trail *trail = as_target_trail(j->args->target);

	if (trail)
		trail_cut(j, trail, perm);

	if (j->kcov)
		as_kcov_take(j->kcov, 0);
	/* The log holds only what the target said about the current disk. */
	j->args->shared->log.total_bytes = 0;
	if (j->keeper)
		as_crash_keep(j->keeper, disk);
}

int as_crash_recoverer(const struct as_crash_args *args, struct as_recoverer **recoverer,
		       struct as_err *err)
{
	unsigned deadline = args->run->deadline_ms ? args->run->deadline_ms : AS_RUN_DEADLINE_MS;
	/* The checker's deadline is the shorter one: so its hang is not taken for the kernel's. */
	struct as_recover_options options = { .deadline_ms = deadline / 2,
					      /* What is on a trail was done. */
					      .memo = as_target_trail(args->target)
							      ? AS_MEMO_OFF
							      : args->options->memo,
					      .outside = as_outside_of(args->run->state),
					      .alive = &args->shared->flight.alive };

	return as_recoverer_new(args->target, args->run->seed, &args->shared->log, &options,
				recoverer, err);
}

/* Ways that were asked for and do not exist are an error; else they would be left out silently. */
static int check_ways(const struct as_crash_args *args, const struct as_recoverer *recoverer,
		      struct as_err *err)
{
	struct as_buf there = { 0 }, asked = { 0 };
	uint32_t missing = args->options->ways & ~as_recoverer_ways(recoverer);
	int rc = 0;

	if (missing) {
		as_ways_print(missing, &asked);
		as_ways_print(as_recoverer_ways(recoverer), &there);
		rc = as_fail(err, AS_EUSE, "target %s: it cannot be recovered by %s, only by %s",
			     as_target_spec(args->target), as_buf_str(&asked), as_buf_str(&there));
	}
	as_buf_free(&there);
	as_buf_free(&asked);
	return rc;
}

static uint32_t modes_of(const struct as_crash_args *args)
{
	return (uint32_t)(args->before != NULL) << AS_SHARE_ROUNDS |
	       (uint32_t)(args->options->hold != 0) << AS_SHARE_HOLD |
	       (uint32_t)(args->options->early != 0) << AS_SHARE_EARLY;
}

/* How many operations have begun when the last mount has; 0: there is none. */
static size_t last_mount(const struct as_seq *seq)
{
	size_t n = seq->n;

	while (n && seq->ops[n - 1].code != AS_OP_MOUNT)
		n--;
	return n;
}

static size_t begun_min(const struct child_judging *j)
{
	if (j->args->options->since_fault)
		return j->recording->fired_from;
	return j->args->options->since_mount ? last_mount(j->recording->seq) : 0;
}

static int judge_child(void *ctx)
{
	struct child_judging *j = ctx;
	struct as_crash_shared *sh = j->args->shared;
	struct as_recoverer *recoverer;
	struct as_judge_args args = { .recording = j->recording,
				      .options = j->args->options,
				      .dedup = j->args->dedup,
				      .flight = &sh->flight,
				      .counts = &sh->counts,
				      .shares = &sh->shares,
				      .modes = modes_of(j->args),
				      .report = report,
				      .known = known,
				      .recovers = recovers,
				      .ctx = j,
				      .anew = as_target_trail(j->args->target),
				      .resume = j->resume,
				      .begun_min = begun_min(j) };

	as_child_begin(&sh->stack);
	as_child_keep_memory();
	sh->tool_rc = as_crash_recoverer(j->args, &recoverer, &sh->tool_err);
	if (!sh->tool_rc)
		sh->tool_rc = check_ways(j->args, recoverer, &sh->tool_err);
	if (!sh->tool_rc && j->args->code)
		sh->tool_rc = as_kcov_open(j->args->code, &j->kcov, &sh->tool_err);
	if (!sh->tool_rc && j->args->run->state)
		j->keeper = as_crash_keeper_new(j->args->run->state,
						as_medium_disk(j->args->fresh.disk));
	if (!sh->tool_rc) {
		args.recoverer = j->recoverer = recoverer;
		args.ways_agree = as_recoverer_ways_agree(recoverer);
		args.began_with_replay = j->args->before;
		sh->tool_rc = as_judge_all(&args, &sh->tool_err);
	}
	as_crash_keeper_free(j->keeper);
	j->keeper = NULL;
	as_recoverer_free(recoverer);
	if (j->kcov)
		as_kcov_take(j->kcov, 0);
	as_kcov_close(j->kcov);
	j->kcov = NULL;
	sh->judged = true;
	return 0;
}

/* ---- Deaths ---------------------------------------------------------------------------------- */

/* Makes the state in flight again from its numbers. */
static bool perm_at_flight(struct child_judging *j, struct as_perm *perm,
			   struct as_perm_state *state)
{
	const struct as_flight *flight = &j->args->shared->flight;

	if (!flight->state.view || flight->state.cut >= as_perm_cuts(perm))
		return false;
	as_perm_begin(perm, (enum as_view)flight->state.view, flight->state.cut, flight->all);
	while (as_perm_next(perm, state))
		if (state->index == flight->state.index)
			return true;
	return false;
}

static void note_then(const struct as_flight *flight, struct as_problem *problem)
{
	for (unsigned i = 0; i < AS_CRASH_AGAIN_MAX && flight->then[i].view; i++)
		(void)as_spot_of_flight(&flight->then[i], &problem->then[i]);
}

/* False: no state was in flight, or there is no more room: it is no use to go on. */
static bool report_death(struct child_judging *j, const struct as_ended *ended)
{
	const struct as_crash_args *args = j->args;
	const struct as_ended_say say = { .stack = &args->shared->stack };
	struct as_flight *flight = &args->shared->flight;
	struct as_perm *perm =
		as_perm_new(j->recording->log, j->recording->start, &args->options->perm);
	struct as_problem problem = { 0 };
	struct as_perm_state state;
	struct as_buf why = { 0 };
	bool at = perm_at_flight(j, perm, &state);

	as_ended_words(ended, &say, &why);
	if (ended->how == AS_END_SIGNAL)
		as_host_log_stack(&args->shared->log, &args->shared->stack);
	if (at) {
		(void)as_problem_set(&problem, as_ended_kind(ended), (enum as_way)flight->way,
				     "recovery", as_buf_str(&why));
		problem.moment = as_judge_moment(j->recording, perm, state.view, state.cut);
		note_then(flight, &problem);
		if (!as_crash_report_has(args->shared, problem.notice->signature))
			at = as_crash_report_add(args, j->recording, perm, &state, &problem, NULL);
		j->resume = (struct as_judge_resume){ true, flight->turn, flight->index };
	}
	as_buf_free(&why);
	as_problem_free(&problem);
	as_perm_free(perm);
	return at;
}

/* What an earlier round left there. */
static void begin_flight(struct as_flight *flight)
{
	flight->turn = flight->index = 0;
	flight->spent = flight->spent_again = 0;
	for (unsigned v = 0; v < AS_VIEWS; v++)
		flight->spent_view[v] = 0;
}

int as_crash_judge(const struct as_crash_args *args, const struct as_recording *recording,
		   struct as_err *err)
{
	struct child_judging j = { .args = args, .recording = recording };
	unsigned deadline = args->run->deadline_ms ? args->run->deadline_ms : AS_RUN_DEADLINE_MS;
	struct as_crash_shared *sh = args->shared;
	struct as_ended ended;
	int rc = 0;

	sh->judged = false;
	begin_flight(&sh->flight);
	for (unsigned deaths = 0; deaths < AS_CRASH_DEATHS_MAX && !sh->judged && !rc; deaths++) {
		sh->flight.state.view = 0;
		rc = as_spawn_fork(judge_child, &j, deadline, &sh->flight.alive, &ended, err);
		if (!rc && !sh->judged && !report_death(&j, &ended))
			break;
	}
	if (!rc && !sh->judged && !sh->n_reports)
		rc = as_fail_ended(err, "the process that judges crash states", &ended, &sh->stack);
	return rc ? rc : sh->tool_rc;
}

/* ---- Recording ------------------------------------------------------------------------------- */

struct record_ctx {
	struct as_crash_shared *shared;
	struct as_kcov *kcov;
	bool (*may_begin)(void *ctx, const struct as_tree *tree, struct as_buf *why);
	void *ctx;
};

static void step(void *ctx, int64_t op)
{
	struct record_ctx *r = ctx;

	r->shared->op = op;
	r->shared->flight.alive++;
	if (r->kcov)
		as_kcov_take(r->kcov, 0);
}

static bool may_begin(void *ctx, const struct as_tree *tree, struct as_buf *why)
{
	struct record_ctx *r = ctx;

	return r->may_begin(r->ctx, tree, why);
}

static void report_wrong_answer(const struct as_crash_args *args,
				const struct as_recording *recording)
{
	struct as_problem problem = { 0 };

	(void)as_problem_set(&problem, recording->kind, AS_WAY_MOUNT, "without a power cut",
			     as_buf_str(&recording->why));
	if (!as_crash_report_has(args->shared, problem.notice->signature))
		(void)as_crash_report_add(args, recording, NULL, NULL, &problem, NULL);
	as_problem_free(&problem);
}

static void count_calls(struct as_crash_shared *sh, const struct as_reclog *log)
{
	sh->writes = sh->flushes = 0;
	for (size_t i = 0; i < as_reclog_len(log); i++) {
		sh->writes += as_reclog_at(log, i)->kind == AS_CALL_WRITE;
		sh->flushes += as_reclog_at(log, i)->kind == AS_CALL_FLUSH;
	}
}

int as_crash_record(const struct as_crash_args *args, struct as_disk *crashed,
		    bool (*begins)(void *ctx, const struct as_tree *tree, struct as_buf *why),
		    void *ctx, struct as_recording *recording, struct as_err *err)
{
	struct as_crash_shared *sh = args->shared;
	struct record_ctx recorder = { sh, args->kcov, begins, ctx };
	struct as_record_args record = { .target = args->target,
					 .fresh = args->fresh,
					 .seq = args->seq,
					 .seed = args->run->seed,
					 .choices = args->run->choices,
					 .log = &sh->log,
					 .plan = args->plan,
					 .race = args->options->race.threads ? &args->options->race
									     : NULL,
					 .race_seed = args->race_seed,
					 .race_delays = args->race_delays,
					 /* Plain runs look at the tree in the first round. */
					 .compare = crashed && args->run->check_every_op,
					 .hold = args->options->hold,
					 .early = args->options->early,
					 .crashed = crashed,
					 .after_ns = args->after_ns,
					 .may_begin = may_begin,
					 .step = step,
					 .ctx = &recorder };
	int rc;

	sh->op = -1;
	sh->recorded = false;
	rc = as_record(&record, recording, err);
	if (args->kcov)
		as_kcov_take(args->kcov, 0);
	sh->ops += recording->n_ops;
	sh->fired |= recording->fired;
	sh->unjudged |= recording->unjudged;
	as_raced_add(&sh->raced, &recording->counted);
	if (rc)
		return rc;
	sh->recorded = true;
	count_calls(sh, recording->log);
	if (recording->wrong && recording->kind != AS_FIND_SILENT)
		report_wrong_answer(args, recording);
	return 0;
}

int as_crash_child(void *ctx)
{
	struct as_crash_args args = *(const struct as_crash_args *)ctx;
	const struct as_seq *whole = args.seq;
	struct as_crash_shared *sh = args.shared;
	struct as_seq *seq = as_round_part(whole, args.options->rounds, 0, NULL);
	struct as_recording recording = { 0 };

	as_child_begin(&sh->stack);
	args.seq = seq;
	sh->tool_rc = as_target_load(args.target, &sh->tool_err);
	if (!sh->tool_rc && args.code)
		sh->tool_rc = as_kcov_open(args.code, &args.kcov, &sh->tool_err);
	if (!sh->tool_rc)
		sh->tool_rc = as_crash_record(&args, NULL, NULL, NULL, &recording, &sh->tool_err);
	if (!sh->tool_rc && !args.options->from[0].view && (!recording.raced || recording.orders))
		sh->tool_rc = as_rounds_judge(&args, &recording, args.options->rounds > 1 ? 2 : 1,
					      &sh->tool_err);
	if (!sh->tool_rc)
		sh->tool_rc = as_rounds(&args, whole, &recording, &sh->tool_err);
	/* What was lost says more than that a failure was hidden. */
	if (!sh->tool_rc && recording.wrong && recording.kind == AS_FIND_SILENT && !sh->n_reports)
		report_wrong_answer(&args, &recording);
	as_recording_free(&recording);
	as_kcov_close(args.kcov);
	as_seq_free(seq);
	sh->finished = true;
	return 0;
}
