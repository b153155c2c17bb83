/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crash: the parent's side of a crash run: the fresh file system (made by run/runner.c), a child
 * for each workload (child.c), and what is said of it.
 */
#include "crash/crash.h"

#include "crash/crash_priv.h"
#include "crew/ended.h"
#include "disk/image.h"
#include "instance/instance.h"
#include "legal/policy.h"
#include "os/guard.h"
#include "run/finding.h"
#include "symptom/symptom.h"
#include "target/facts.h"
#include "target/fstype.h"
#include "work/print.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NEAR_MAX 24u /* runs with faults at other calls than a finding names */
/* Where a run costs as much as some ten recoveries: short runs after each workload, with a fault at
 * a call that the workload is known to make, and how many recoveries each has. */
#define SHORT_RUNS 2u
#define SHORT_BUDGET 8u
#define FAILING 12u /* one workload in so many has calls of its recoveries fail */

/* ---- Findings -------------------------------------------------------------------------------- */

/* NULL where there is none, or it cannot be read. */
static struct as_disk *read_disk(struct as_crasher *c, const struct as_notice *f,
				 struct as_chunks *store)
{
	struct as_buf image = { 0 };
	struct as_disk *disk = NULL;
	char *to = f->disk_len ? as_buf_reserve(&image, f->disk_len) : NULL;

	if (to && pread(c->disk_fd, to, f->disk_len, (off_t)f->disk_at) == (ssize_t)f->disk_len &&
	    as_image_decode(store, to, f->disk_len, &disk, NULL))
		disk = NULL;
	as_buf_free(&image);
	return disk;
}

/* faults: the plan with which it was found; "": without. */
static void emit(struct as_crasher *c, const struct as_seq *seq, const char *name,
		 const struct as_notice *f, const char *faults, const char *log)
{
	struct as_run_options run = c->run;
	struct as_chunks *store = as_chunks_new();
	struct as_disk *disk = read_disk(c, f, store);
	const struct as_medium *fresh = as_runner_fresh(c->runner).disk;
	struct as_buf detail = { 0 };
	char id[AS_FINDING_ID_MAX];
	struct as_finding finding;

	run.faults = faults;
	run.draw_faults = false;
	as_buf_adds(&detail, f->detail);
	if (*faults)
		as_buf_addf(&detail, "    while the workload ran, this failed: %s\n", faults);
	finding = as_notice_open(f);
	finding.target = as_target_spec(c->target);
	finding.detail = as_buf_str(&detail);
	finding.workload_name = name;
	finding.log = *log ? log : NULL;
	finding.disk = disk;
	/* A later round begins with what an earlier one left. */
	if (disk && fresh && !strstr(f->options, "from="))
		finding.healthy = as_medium_disk(fresh);
	as_finding_tell(&finding, as_target_name(c->target), seq, &run, c->sinks, id);
	as_buf_free(&detail);
	as_disk_free(disk);
	as_chunks_free(store);
}

/* What was drawn for a workload, besides faults. */
struct drawn_how {
	struct as_drawn_queue queue;
	struct as_share share;
	bool is_short;
};

/* What was asked for comes before what was drawn. */
static void say_how(const struct drawn_how *how, struct as_crash_options *options)
{
	options->hold = options->hold ? options->hold : how->queue.hold;
	options->early = options->early ? options->early : how->queue.early;
	options->rounds = options->rounds ? options->rounds : how->queue.rounds;
	if (!as_share_is(&options->share))
		options->share = how->share;
}

/* Known by the place where it died, or else by the operation. */
static void name_death(struct as_notice *f, bool by_place, const char *op, const char *how)
{
	struct as_buf about = { 0 }, signature = { 0 };

	as_buf_add(&about, op, strcspn(op, " "));
	as_symptom_sign_plain(f->kind, by_place ? NULL : as_buf_str(&about), how, &signature);
	AS_NOTICE_SET(f, signature, as_buf_str(&signature));
	as_buf_free(&about);
	as_buf_free(&signature);
}

static uint64_t race_seed_of(const struct as_crasher *c, const struct as_seq *seq)
{
	return c->options.race.threads
		       ? as_race_seed(&c->options.race, c->run.seed ^ as_seq_digest(seq).lo,
				      c->race_run)
		       : 0;
}

/* The child ended while the workload ran: the target died without any power cut. */
static void report_death(struct as_crasher *c, const struct as_seq *seq,
			 const struct drawn_how *how_drawn, const struct as_ended *ended)
{
	struct as_crash_options options = c->options;
	struct as_crash_shared *sh = c->shared;
	bool room = sh->n_reports < AS_CRASH_REPORTS_MAX;
	struct as_notice *f = &sh->reports[sh->n_reports - !room];
	struct as_buf op = { 0 }, died = { 0 };
	bool hung = ended->how == AS_END_DEADLINE, killed = ended->how == AS_END_SIGNAL;
	const struct as_ended_say say = { .stack = &sh->stack };
	const char *how = "exit";

	if (killed) {
		as_ended_signal(ended, &say, &died);
		as_host_log_stack(&sh->log, &sh->stack);
	} else if (hung) {
		as_ended_words(ended, &say, &died);
	}
	if (died.len)
		how = as_buf_str(&died);
	sh->n_reports += room;
	as_notice_begin(f, hung ? AS_FIND_HANG : AS_FIND_SIGNAL, sh->op);
	as_crash_options_from(&options, &sh->flight);
	if (sh->op >= 0 && sh->op < (int64_t)seq->n)
		as_print_op(&seq->ops[sh->op], &op);
	else
		as_buf_adds(&op, sh->op < 0 ? "mount" : "the end of the workload");
	AS_NOTICE_SETF(f, summary, "%sop %lld: %.120s: the target died: %s",
		       options.from[0].view ? "after a power cut and a recovery, " : "",
		       (long long)sh->op + 1, as_buf_str(&op), how);
	name_death(f, killed && died.len && sh->stack.signal, as_buf_str(&op), how);
	say_how(how_drawn, &options);
	options.race.seed = race_seed_of(c, seq);
	as_crash_report_options(f, &options);
	as_notice_close(f);
	as_buf_free(&op);
	as_buf_free(&died);
}

/* ---- Workloads ------------------------------------------------------------------------------- */

/* Whether calls of a recovery fail, too: in some workloads of a hunt, but for those in which
 * something fails while they run. */
static bool fails_in_recovery(const struct as_crasher *c, const struct as_seq *seq,
			      const char *drawn, const struct drawn_how *how)
{
	return c->options.draws && !c->options.faults && !as_target_recovery(c->target).programs &&
	       !c->options.race.threads && !*drawn && !how->is_short &&
	       as_seq_digest(seq).hi % FAILING == 0;
}

/* The options of one workload. What a flush leaves open that failed, or that came before a write
 * was complete, shows only if writes are reordered. */
static struct as_crash_options options_of(const struct as_crasher *c, const struct as_seq *seq,
					  const char *drawn, const struct drawn_how *how)
{
	struct as_crash_options options = c->options;
	uint32_t few = 1u << AS_VIEW_SYNC_ATOMIC | 1u << AS_VIEW_SYNC_LEFT;

	options.record = AS_RECORD_SOUND;
	say_how(how, &options);
	if (strstr(drawn, "flush") || options.hold)
		few |= 1u << AS_VIEW_ATOMIC;
	if (options.every > 1 && !options.spot.view && as_seq_digest(seq).lo % options.every) {
		options.views &= few;
		options.again = 0;
	}
	if (fails_in_recovery(c, seq, drawn, how))
		options.faults = AS_CRASH_FAIL_ALL | AS_CRASH_FAIL_FEW;
	if (*drawn || !options.rounds || options.race.threads)
		options.rounds = 1;
	/* What is written back early is written between operations, and there is no such time. */
	if (options.race.threads)
		options.early = 0;
	if (how->is_short) {
		options.views &= 1u << AS_VIEW_SYNC_ATOMIC;
		options.again = 0;
		options.budget = SHORT_BUDGET;
	}
	return options;
}

/* Whether an option cancels all promises (nobarrier) at any time: a power cut may then damage the
 * disk. */
static bool may_be_damaged(const struct as_target *target, const struct as_seq *seq)
{
	struct as_policy policy = as_policy_of(target);

	for (size_t i = 0; i < seq->n && !policy.none; i++)
		if (seq->ops[i].opts)
			as_policy_mount(&policy, seq->ops[i].opts);
	return policy.none;
}

/* Before and after a run with faults, or on such a disk: the supervisor of a box then expects
 * complaints. */
static void say_faulty(struct as_crasher *c, const struct as_seq *seq, const struct as_plan *plan)
{
	if (c->run.state && (plan || may_be_damaged(c->target, seq)))
		c->run.state->faults++;
}

static int start(struct as_crasher *c, const struct as_seq *seq, const struct as_plan *plan,
		 const char *drawn, const struct drawn_how *how, struct as_ended *ended,
		 struct as_err *err)
{
	struct as_crash_options options = options_of(c, seq, drawn, how);
	struct as_crash_args args = { .target = c->target,
				      .run = &c->run,
				      .options = &options,
				      .fresh = as_runner_fresh(c->runner),
				      .seq = seq,
				      .plan = plan,
				      .dedup = c->dedup,
				      .code = as_runner_code(c->runner),
				      .shared = c->shared,
				      .disk_fd = c->disk_fd };
	unsigned deadline = c->run.deadline_ms ? c->run.deadline_ms : AS_RUN_DEADLINE_MS;
	uint64_t race_seed = race_seed_of(c, seq);
	/* The process that judges has a deadline of its own, which must come first. */
	struct as_spawn_limits limits = { .deadline_ms = deadline * 2,
					  .alive = &c->shared->flight.alive,
					  .stop = c->run.stop };
	struct as_buf output = { 0 };
	int rc;

	args.race_seed = race_seed;
	args.race_delays = as_race_delays(&options.race, race_seed, c->race_run);
	/* Reports from n_reports on were never touched. */
	memset(c->shared, 0,
	       offsetof(struct as_crash_shared, reports) +
		       c->shared->n_reports * sizeof(c->shared->reports[0]));
	snprintf(c->shared->plan, sizeof(c->shared->plan), "%s", drawn);
	if (ftruncate(c->disk_fd, 0))
		return as_fail_errno(err, errno, "cannot empty a file in memory");
	say_faulty(c, seq, plan);
	if (as_target_is_foreign(c->target))
		rc = as_guard_fork(as_crash_child, &args, &limits, &output, ended, err);
	else
		rc = as_spawn_fork_limited(as_crash_child, &args, &limits, ended, err);
	say_faulty(c, seq, plan);
	as_host_log_add(&c->shared->log, as_buf_str(&output));
	as_stack_hear(&c->shared->stack, as_buf_str(&output));
	as_crash_report_mend(c->shared);
	as_buf_free(&output);
	return !rc && ended->how == AS_END_STOPPED ? as_fail(err, AS_ESTOP, "stopped") : rc;
}

/* What one workload comes to, in one run or in several. */
struct crash_run {
	struct as_crasher *c;
	const struct as_seq *seq;
	const char *name;
	struct as_run_result *result;
	struct as_crash_counts *counts;
	struct as_err *err;
	struct drawn_how how;
	bool told; /* of what was found with faults at other calls */
};

/* Runs it once. What it found is in the reports. */
static int once(struct crash_run *r, const struct as_plan *plan, const char *drawn)
{
	struct as_crash_shared *sh = r->c->shared;
	struct as_ended ended;
	int rc = start(r->c, r->seq, plan, drawn, &r->how, &ended, r->err);

	as_runner_code_noted(r->c->runner, r->name);
	r->result->runs++;
	as_crash_counts_add(r->counts, &sh->counts);
	as_shares_add(&r->result->shares, &sh->shares);
	if (rc)
		return rc;
	r->result->ops += sh->ops;
	r->result->unjudged += sh->unjudged;
	as_raced_add(&r->result->raced, &sh->raced);
	if (!sh->finished && !sh->recorded) {
		report_death(r->c, r->seq, &r->how, &ended);
		/* Whether a fault has hit died with it. */
		sh->fired = plan;
	} else if (!sh->finished) {
		(void)as_fail_ended(r->err, "the process that judges crash states", &ended,
				    &sh->stack);
		return as_fail_in(r->err, "%s", r->name);
	} else if (sh->tool_rc) {
		if (r->err)
			*r->err = sh->tool_err;
		return sh->tool_rc;
	}
	return 0;
}

void as_crasher_tell(struct as_crasher *c, const struct as_seq *seq, const char *name,
		     const char *faults)
{
	struct as_crash_shared *sh = c->shared;
	struct as_buf log = { 0 };

	/* What hit nothing is not needed. */
	if (!sh->fired)
		faults = "";

	as_host_log_text(&sh->log, &log);
	for (unsigned i = 0; i < sh->n_reports; i++)
		emit(c, seq, name, &sh->reports[i], faults, as_buf_str(&log));
	as_buf_free(&log);
}

static void tell(struct crash_run *r, const char *faults)
{
	if (!r->c->quiet)
		as_crasher_tell(r->c, r->seq, r->name, faults);
	r->result->findings += r->c->shared->n_reports;
}

static int once_with(struct crash_run *r, const char *text)
{
	struct as_plan *plan = NULL;
	int rc = as_plan_parse(text, &plan, r->err);

	if (!rc)
		rc = once(r, *text ? plan : NULL, text);
	as_plan_free(plan);
	return rc;
}

/* A kind of call whose failure was found to matter is not followed any further. */
static int sweep(struct crash_run *r)
{
	char text[AS_DRAW_TEXT_MAX];
	int rc = once(r, NULL, "");

	if (rc)
		return rc;
	tell(r, "");
	/* What fails anyway says nothing about faults. */
	if (r->result->findings)
		return 0;
	for (unsigned kind = 0;; kind++) {
		bool found = false;

		for (uint64_t nth = 1; !found; nth++) {
			if (!as_draw_sweep(kind, nth, as_draw_what(r->c->target), text))
				return 0;
			rc = once_with(r, text);
			if (rc)
				return rc;
			if (!r->c->shared->fired && !r->c->shared->n_reports)
				break;
			found = r->c->shared->n_reports;
			tell(r, text);
		}
	}
	return 0;
}

/* What was found with several faults, or with one, or with writes that are held or early, may need
 * fewer. Where nothing but the seed decides, those are tried, the fewest first. */
static int with_fewest(struct crash_run *r, const struct as_drawn *drawn,
		       char text[AS_DRAW_TEXT_MAX])
{
	struct as_drawn_queue queue = r->how.queue;
	unsigned faults = 1u << drawn->n;
	int rc = 0;

	for (unsigned rules = 0; rules < faults * 4 && !rc; rules++) {
		bool hold = rules & faults, early = rules & faults * 2;

		if ((hold && !queue.hold) || (early && !queue.early))
			continue;
		r->how.queue.hold = hold ? queue.hold : 0;
		r->how.queue.early = early ? queue.early : 0;
		as_draw_plan(drawn, rules & (faults - 1), text);
		rc = once_with(r, text);
		if (r->c->shared->n_reports)
			break;
	}
	return rc;
}

/* What only shows if one certain call fails, such as the write of one file's data, is seldom drawn
 * before it is known which calls there are; and then it shows in most states. So there are runs
 * with few states each. */
static int short_runs(struct crash_run *r, uint64_t writes, uint64_t flushes)
{
	char text[AS_DRAW_TEXT_MAX];
	int rc = 0;

	r->how = (struct drawn_how){ .is_short = true };
	for (unsigned i = 0; i < SHORT_RUNS && !rc && !r->result->findings; i++) {
		if (!as_draw_among(r->seq, r->c->run.seed + i, writes, flushes, text))
			break;
		rc = once_with(r, text);
		if (!rc)
			tell(r, text);
	}
	return rc;
}

static int draw(struct crash_run *r)
{
	unsigned one_in = r->c->run.draw_faults ? 1 : AS_DRAW_EVERY;
	struct as_drawn drawn = as_draw(r->seq, r->c->run.seed, one_in, as_draw_what(r->c->target));
	char text[AS_DRAW_TEXT_MAX];
	int rc;

	as_draw_plan(&drawn, (1u << drawn.n) - 1, text);
	rc = once_with(r, text);
	if (!rc && r->c->shared->n_reports &&
	    (r->c->shared->fired || r->how.queue.hold || r->how.queue.early) &&
	    as_instance_caps(r->c->target) & AS_INSTANCE_CERTAIN)
		rc = with_fewest(r, &drawn, text);
	if (rc)
		return rc;
	tell(r, text);
	if (r->result->findings || r->c->options.spot.view ||
	    !(r->c->options.views & 1u << AS_VIEW_SYNC_ATOMIC) ||
	    !(as_instance_caps(r->c->target) & AS_INSTANCE_CERTAIN))
		return 0;
	return short_runs(r, r->c->shared->writes, r->c->shared->flushes);
}

/* A finding with faults is looked for. A workload that was made shorter makes fewer calls before
 * the one that has to fail: earlier ones are tried. */
static int near(struct crash_run *r)
{
	struct as_buf text = { 0 };
	int rc = once(r, r->c->plan, "");

	for (uint64_t step = 0; !rc && step < NEAR_MAX && !r->c->shared->n_reports &&
				as_instance_caps(r->c->target) & AS_INSTANCE_CERTAIN &&
				as_draw_near(r->c->run.faults, step, &text);
	     step++) {
		rc = once_with(r, as_buf_str(&text));
		r->told = !rc && r->c->shared->n_reports;
		if (r->told)
			tell(r, as_buf_str(&text));
	}
	as_buf_free(&text);
	return rc;
}

/* How the disk behaves, in how many rounds, and for what the budget is. */
static void draw_how(struct crash_run *r)
{
	const struct as_crasher *c = r->c;
	static const struct as_shares nothing;
	const struct as_shares *so_far = c->options.draws ? &c->so_far : &nothing;

	r->how.queue = as_draw_queue(r->seq, c->run.seed, as_share_chances(so_far));
	/* Without a log, nothing waits for anything, and a flush is only for fsync. */
	if (c->options.record != AS_RECORD_DRAW ||
	    as_policy_of(c->target).guarantee == AS_GUARANTEE_REPAIR)
		r->how.queue.hold = 0;
	if (c->options.record != AS_RECORD_DRAW)
		r->how.queue.early = 0;
	if (c->options.draws)
		r->how.share = as_share_draw(r->seq, c->run.seed, so_far);
}

/* Several threads run it, several times, until something is found. */
static int race(struct crash_run *r)
{
	struct as_crasher *c = r->c;
	const struct as_seq *seq = r->seq;
	struct as_seq *form;
	uint64_t left_out;
	int rc = 0;

	form = as_race_form(seq, as_runner_fresh(c->runner).model, true, &left_out);
	r->seq = form;
	r->result->skipped += left_out;
	draw_how(r);
	r->how.queue.early = 0;
	for (unsigned i = 0; i < c->options.race.repeat && !rc && !r->result->findings; i++) {
		c->race_run = i;
		rc = once(r, NULL, "");
		if (!rc)
			tell(r, "");
	}
	c->race_run = 0;
	r->seq = seq;
	as_seq_free(form);
	return rc;
}

int as_crash_workload(struct as_crasher *c, const struct as_seq *seq, const char *name,
		      struct as_run_result *result, struct as_crash_counts *counts,
		      struct as_err *err)
{
	struct crash_run r = {
		.c = c, .seq = seq, .name = name, .result = result, .counts = counts, .err = err
	};
	int64_t start_us = as_now_us();
	int rc;

	*counts = (struct as_crash_counts){ 0 };
	if (as_runner_unfit(c->runner))
		return as_run_workload(c->runner, seq, name, result, err);
	*result = (struct as_run_result){ 0 };
	/* Where the time of day is on the disk, no two workloads have a state in common, and each
	 * is judged as if it were alone. */
	if (!(as_instance_caps(c->target) & AS_INSTANCE_CERTAIN)) {
		as_dedup_free(c->dedup);
		c->dedup = as_dedup_new();
	}
	if (!c->options.race.threads)
		draw_how(&r);
	if (c->options.race.threads) {
		rc = race(&r);
	} else if (c->options.record == AS_RECORD_SWEEP) {
		rc = sweep(&r);
	} else if ((c->options.record == AS_RECORD_DRAW || c->run.draw_faults) && !c->plan) {
		rc = draw(&r);
	} else {
		rc = c->plan && c->options.spot.view ? near(&r) : once(&r, c->plan, "");
		if (!rc && !r.told)
			tell(&r, c->run.faults ? c->run.faults : "");
	}
	if (!c->frozen)
		as_shares_add(&c->so_far, &result->shares);
	result->looked = counts->generated + counts->again;
	result->possible = counts->possible + counts->again_possible;
	memcpy(result->counts, counts, sizeof(result->counts));
	result->wall_us = as_now_us() - start_us;
	return rc;
}
