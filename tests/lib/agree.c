/* SPDX-License-Identifier: GPL-2.0-or-later */
/* agree: see agree.h. */
#include "tests/lib/agree.h"

#include "child/answers.h"
#include "crash/crash.h"
#include "instance/instance.h"
#include "os/spawn.h"
#include "recording/record.h"
#include "target/facts.h"
#include "tests/lib/tmpdir.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* after the above: cmocka wants them first */
#include <cmocka.h>

#define DEADLINE_MS 60000u

const char *t_did_name(enum t_did did)
{
	static const char *const names[] = { "-", "agreed", "followed", "blind", "ends", "wrong" };

	return names[did];
}

/* Otherwise the executor does not know how. */
static bool can_answer(const struct as_outcome *got)
{
	return got->ret >= 0 || (got->err != AS_ERR_UNSUPPORTED && got->err != AS_ERR_LIMIT);
}

/* unjudged: the model has lost track, and allows everything, or has nothing to say of an answer
 * that is the executor's own. */
static void note(struct t_step *step, const struct as_op *op, enum as_trial_did did,
		 const char *row, const struct as_outcome *got, bool unjudged)
{
	static const enum t_did dids[] = { [AS_TRIAL_AGREED] = T_DID_AGREE,
					   [AS_TRIAL_FOLLOWED] = T_DID_FOLLOW,
					   [AS_TRIAL_BLIND] = T_DID_BLIND,
					   [AS_TRIAL_ENDED] = T_DID_END,
					   [AS_TRIAL_WRONG] = T_DID_WRONG };
	bool lost = did == AS_TRIAL_AGREED && unjudged && can_answer(got);

	*step = (struct t_step){ .did = lost ? T_DID_BLIND : dids[did],
				 .fell_short = as_op_fell_short(op, got->ret),
				 .ret = got->ret,
				 .err = got->err };
	snprintf(step->row, sizeof(step->row), "%s", row ? row : "");
}

static void begin(const struct t_sweep *sweep, struct t_steps *steps)
{
	as_assert(sweep->n <= T_PLANS_MAX && sweep->seq->n <= T_STEPS_MAX);
	memset(steps, 0, sweep->n * sizeof(*steps));
	for (size_t i = 0; i < sweep->n; i++)
		steps[i].n = sweep->seq->n;
}

/* ---- run ------------------------------------------------------------------------------------- */

/* What was found is in the memory of the child. */
static void read_found(const struct as_child_shared *sh, struct t_steps *steps)
{
	struct t_step *end = &steps->step[steps->n + 1];
	bool live = sh->notice.kind != AS_FIND_TREE && sh->notice.kind != AS_FIND_CHECKER;

	snprintf(live ? steps->why : steps->tree, sizeof(steps->why), "%.250s", sh->notice.summary);
	if (!live)
		end->did = T_DID_AGREE;
	else if (sh->notice.op >= 0)
		steps->step[sh->notice.op + 1].did = T_DID_WRONG;
	else if (sh->phase <= PHASE_MOUNT)
		steps->step[0].did = T_DID_WRONG;
	else
		end->did = sh->phase <= PHASE_UNMOUNT ? T_DID_WRONG : T_DID_AGREE;
}

/* The answers are those of one workload. */
static void read_answers(const struct t_sweep *sweep, const struct as_answer *answers, size_t n,
			 bool found, struct t_steps *steps)
{
	const struct as_child_shared *sh = sweep->on->runner->shared;
	/* One that was found in the middle of an operation has no answer there. */
	bool mounted = n || (found && sh->phase > PHASE_MOUNT);

	steps->answered = n;
	steps->step[0].did = mounted ? T_DID_AGREE : T_DID_END;
	for (size_t i = 0; i < n; i++) {
		struct as_outcome got = { .ret = answers[i].ret, .err = answers[i].err };

		note(&steps->step[i + 1], &sweep->seq->ops[i], answers[i].did, answers[i].row, &got,
		     answers[i].unjudged);
	}
	if (found)
		read_found(sh, steps);
	else if (mounted && n == steps->n)
		steps->step[n + 1].did = T_DID_AGREE;
}

/* The runner has its plan from there. */
static void lend_plan(const struct t_sweep *sweep, size_t i, bool lend)
{
	sweep->on->runner->plan = lend ? sweep->plan[i] : NULL;
	sweep->on->runner->options.faults = lend && sweep->plan[i] ? sweep->text[i] : NULL;
	sweep->on->answers->n = 0;
}

static int go_run(const struct t_sweep *sweep, const struct t_steps *run, struct t_steps *steps,
		  struct as_err *err)
{
	struct as_runner *runner = sweep->on->runner;
	int rc = 0;

	(void)run;
	begin(sweep, steps);
	for (size_t i = 0; i < sweep->n && !rc; i++) {
		struct as_run_result result = { 0 };

		lend_plan(sweep, i, true);
		rc = as_run_workload(runner, sweep->seq, "case", &result, err);
		if (rc)
			break;
		steps[i].fired = runner->shared->fired;
		read_answers(sweep, sweep->on->answers->ops, sweep->on->answers->n,
			     runner->shared->notice.is, &steps[i]);
		if (sweep->plan[i] && !steps[i].fired && !sweep->patient)
			break;
	}
	lend_plan(sweep, 0, false);
	return rc;
}

/* ---- hunt ------------------------------------------------------------------------------------ */

/* Those of a batch come one after the other. How many a workload has is known of the run: if that
 * is not so, what is read here differs from the run. Returns how many were done. */
static size_t read_batch(const struct t_sweep *sweep, size_t first, const struct t_steps *run,
			 struct t_steps *steps)
{
	const struct as_child_shared *sh = sweep->on->runner->shared;
	const struct as_answers *answers = sweep->on->answers;
	size_t at = 0, done = (size_t)sh->done;

	if (done > sweep->n - first)
		done = sweep->n - first;
	for (size_t i = first; i < first + done; i++) {
		size_t left = answers->n - at, n = run[i].answered < left ? run[i].answered : left;

		read_answers(sweep, answers->ops + at, n, false, &steps[i]);
		at += n;
	}
	if (sh->notice.is)
		read_answers(sweep, answers->ops + at, answers->n - at, true, &steps[first + done]);
	return done + sh->notice.is;
}

static int go_hunt(const struct t_sweep *sweep, const struct t_steps *run, struct t_steps *steps,
		   struct as_err *err)
{
	struct as_runner *runner = sweep->on->runner;
	/* As as_runner_drawn() says. */
	bool together = runner->caps & AS_INSTANCE_BATCH && !(runner->caps & AS_INSTANCE_QUICK);
	const struct as_seq *seqs[T_PLANS_MAX];
	const char *names[T_PLANS_MAX];
	int rc = 0;

	begin(sweep, steps);
	for (size_t i = 0; i < sweep->n; i++) {
		seqs[i] = sweep->seq;
		names[i] = sweep->text[i];
	}
	runner->quiet = true;
	for (size_t at = 0; at < sweep->n && !rc;) {
		struct as_work batch = { seqs, names, together ? sweep->n - at : 1,
					 (const struct as_plan *const *)sweep->plan + at };
		struct as_run_result result = { 0 };

		sweep->on->answers->n = 0;
		rc = as_runner_once(runner, &batch, NULL, sweep->plan[at], &result, err);
		if (rc)
			break;
		if (batch.n > 1) {
			at += read_batch(sweep, at, run, steps);
			continue;
		}
		read_answers(sweep, sweep->on->answers->ops, sweep->on->answers->n,
			     runner->shared->notice.is, &steps[at++]);
	}
	runner->quiet = false;
	return rc;
}

/* ---- Children -------------------------------------------------------------------------------- */

struct in_child {
	const struct t_sweep *sweep;
	struct t_steps *steps; /* of all plans, */
	struct t_steps *now; /* and of the one that is tried */
	struct as_stack stack;
	struct as_host_log log;
	int rc;
	struct as_err err;
};

/* Runs fn, which fills the shared steps. */
static int in_child(const struct t_sweep *sweep, int (*fn)(void *ctx), struct t_steps *steps,
		    struct as_err *err)
{
	struct in_child *in = as_shared_alloc(sizeof(*in));
	struct t_steps *shared = sweep->on->shared;
	struct as_ended ended;
	int rc;

	begin(sweep, shared);
	*in = (struct in_child){ .sweep = sweep, .steps = shared };
	rc = as_spawn_fork(fn, in, DEADLINE_MS, sweep->on->alive, &ended, err);
	if (!rc && (ended.how != AS_END_EXIT || ended.status))
		rc = as_fail(err, AS_EIO, "the child ended with %d, %d", ended.how, ended.status);
	if (!rc && in->rc) {
		rc = in->rc;
		*err = in->err;
	}
	memcpy(steps, shared, sweep->n * sizeof(*steps));
	as_shared_free(in, sizeof(*in));
	return rc;
}

/* ---- crash ----------------------------------------------------------------------------------- */

static void record_step(void *ctx, int64_t op)
{
	struct in_child *in = ctx;

	++*in->sweep->on->alive;
	/* The first operation begins: it was mounted. */
	in->now->step[0].did = op < 0 ? T_DID_END : T_DID_AGREE;
}

/* What ends the workload is closes and the unmount. */
static void judged(void *ctx, int64_t op, enum as_trial_did did, const struct as_trial *trial,
		   const struct as_outcome *got)
{
	struct t_steps *steps = ((struct in_child *)ctx)->now;
	const struct as_seq *seq = ((struct in_child *)ctx)->sweep->seq;

	if (op >= (int64_t)steps->n) {
		steps->step[steps->n + 1].did = did == AS_TRIAL_WRONG ? T_DID_WRONG : T_DID_AGREE;
		return;
	}
	note(&steps->step[op + 1], &seq->ops[op], did, trial->row, got, trial->verdict.unjudged);
	steps->answered++;
}

static void read_recording(const struct as_recording *rec, struct t_steps *steps)
{
	steps->fired = rec->fired;
	if (!rec->wrong)
		return;
	snprintf(steps->why, sizeof(steps->why), "%.250s", as_buf_str(&rec->why));
	if (rec->wrong_op < (int64_t)steps->n)
		steps->step[rec->wrong_op + 1].did = T_DID_WRONG;
}

static int crash_child(void *ctx)
{
	struct in_child *in = ctx;
	const struct t_agree *on = in->sweep->on;

	as_child_begin(&in->stack);
	in->rc = as_target_load(on->target, &in->err);
	for (size_t i = 0; i < in->sweep->n && !in->rc; i++) {
		struct as_recording rec = { 0 };
		struct as_record_args args = { .target = on->target,
					       .fresh = as_runner_fresh(on->runner),
					       .seq = in->sweep->seq,
					       .log = &in->log,
					       .plan = in->sweep->plan[i],
					       .step = record_step,
					       .judged = judged,
					       .ctx = in };

		in->now = &in->steps[i];
		/* A crash run refuses what reports no error (crash/crasher.c). */
		in->now->refused = args.plan && as_plan_is_silent(args.plan);
		if (in->now->refused)
			continue;
		in->rc = as_record(&args, &rec, &in->err);
		if (!in->rc)
			read_recording(&rec, in->now);
		as_recording_free(&rec);
	}
	return 0;
}

static int go_crash(const struct t_sweep *sweep, const struct t_steps *run, struct t_steps *steps,
		    struct as_err *err)
{
	(void)run;
	return in_child(sweep, crash_child, steps, err);
}

/* ---- check ----------------------------------------------------------------------------------- */

static int add_close(void *ctx, int slot, uint32_t ino, int64_t flags)
{
	struct as_op close = as_model_closing(slot);

	(void)ino;
	(void)flags;
	as_seq_add(ctx, &close);
	return 0;
}

/* What is open is closed, and it is unmounted, while the plan goes on. */
static enum as_trial_did do_end(struct as_expander *w, uint32_t i)
{
	struct as_op umount = as_op_make(AS_OP_UMOUNT);
	struct as_seq *end = as_seq_new();
	enum as_trial_did did = AS_TRIAL_AGREED;
	struct as_outcome got;

	if (as_model_mounted(w->trial.model)) {
		(void)as_model_each_open(w->trial.model, add_close, end);
		as_seq_add(end, &umount);
	}
	for (size_t k = 0; k < end->n && as_trial_goes_on(did); k++)
		did = as_worker_do(w, &end->ops[k], i + (uint32_t)k, &got);
	as_seq_free(end);
	return did;
}

static void do_all(struct in_child *in, struct as_expander *w)
{
	const struct as_seq *seq = in->sweep->seq;
	struct t_steps *steps = in->now;
	enum as_trial_did did = AS_TRIAL_AGREED;
	struct as_outcome got;

	for (size_t i = 0; i < steps->n && as_trial_goes_on(did); i++) {
		did = as_worker_do(w, &seq->ops[i], (uint32_t)i, &got);
		note(&steps->step[i + 1], &seq->ops[i], did, w->trial.row, &got,
		     w->trial.verdict.unjudged);
		steps->answered++;
	}
	if (as_trial_goes_on(did)) {
		did = do_end(w, (uint32_t)steps->n);
		steps->step[steps->n + 1].did = did == AS_TRIAL_WRONG ? T_DID_WRONG : T_DID_AGREE;
	}
}

/* Suspects of the plan before are no reason not to keep one of this. */
static void forget_suspects(struct as_check_shared *sh)
{
	sh->n_suspects = 0;
	memset(sh->key, 0, sizeof(sh->key));
	memset(sh->suspect[0].notice.summary, 0, sizeof(sh->suspect[0].notice.summary));
	sh->suspect[0].notice.is = false;
}

/* As as_failing_try() begins with the state that a fresh file system has. */
static int expand(struct in_child *in, struct as_expander *w, size_t i, struct as_err *err)
{
	int rc;

	forget_suspects(w->c->shared);
	in->now = &in->steps[i];
	w->trial.plan = in->sweep->plan[i];
	rc = as_worker_bring_back(w, err);
	if (rc)
		return rc;
	++*in->sweep->on->alive;
	in->now->step[0].did = w->back			  ? T_DID_AGREE
			       : w->c->shared->n_suspects ? T_DID_WRONG
							  : T_DID_END;
	if (w->back)
		do_all(in, w);
	snprintf(in->now->why, sizeof(in->now->why), "%.250s",
		 w->c->shared->suspect[0].notice.summary);
	in->now->fired = as_instance_fault_hit(w->instance);
	as_instance_end_faults(w->instance);
	w->trial.plan = NULL;
	return 0;
}

static int check_child(void *ctx)
{
	struct in_child *in = ctx;
	const struct as_checking *checking = &in->sweep->on->checking;
	struct as_worker_args args = { .checking = checking,
				       .lane = &checking->lane[0],
				       .dedup = checking->dedup[0] };
	struct as_expander w = {
		.args = &args, .c = checking, .lane = &checking->lane[0], .pid = getpid()
	};

	as_child_begin(&in->stack);
	in->rc = as_worker_open(&w, &in->err);
	if (!in->rc)
		in->rc = as_worker_read_trace(&w, 0, &in->err);
	for (size_t i = 0; i < in->sweep->n && !in->rc; i++)
		in->rc = expand(in, &w, i, &in->err);
	as_worker_close(&w);
	return 0;
}

static int go_check(const struct t_sweep *sweep, const struct t_steps *run, struct t_steps *steps,
		    struct as_err *err)
{
	(void)run;
	return in_child(sweep, check_child, steps, err);
}

/* ---- start ----------------------------------------------------------------------------------- */

/* Its text ends with what was wrong. It ends the workload by operations of its own. */
static void read_start(const struct as_start *start, struct t_steps *steps)
{
	size_t right = start->n_ops - (start->wrong != NULL);

	for (size_t i = 0; i <= steps->n && i <= right; i++)
		steps->step[i].did = T_DID_AGREE;
	if (right >= steps->n)
		steps->step[steps->n + 1].did = start->wrong ? T_DID_WRONG : T_DID_AGREE;
	else
		steps->step[right + 1].did = T_DID_WRONG;
	if (start->wrong)
		snprintf(steps->why, sizeof(steps->why), "%.250s", start->wrong);
}

/* Nothing fails while a start is made, and it refuses a workload after which nobody knows what is
 * there. */
static int go_start(const struct t_sweep *sweep, const struct t_steps *run, struct t_steps *steps,
		    struct as_err *err)
{
	struct as_start_args args = { .target = sweep->on->target,
				      .run = &sweep->on->options,
				      .fresh = as_runner_fresh(sweep->on->runner),
				      .given = sweep->seq };
	int rc = 0;

	(void)run;
	begin(sweep, steps);
	for (size_t i = 0; i < sweep->n && !rc; i++) {
		struct as_start *start = NULL;

		if (!sweep->plan[i])
			rc = as_start_make(&args, AS_INSIDE_GIVEN, &start, err);
		steps[i].refused = sweep->plan[i] || rc == AS_EUSE;
		if (steps[i].refused) {
			rc = 0;
			continue;
		}
		if (!rc)
			read_start(start, &steps[i]);
		as_start_free(start);
	}
	return rc;
}

const struct t_way t_ways[T_WAYS] = {
	[T_WAY_RUN] = { "run", go_run },       [T_WAY_HUNT] = { "hunt", go_hunt },
	[T_WAY_CRASH] = { "crash", go_crash }, [T_WAY_CHECK] = { "check", go_check },
	[T_WAY_START] = { "start", go_start },
};

/* ---- Targets --------------------------------------------------------------------------------- */

static void hear(struct as_sink *sink, const struct as_finding *f)
{
	(void)sink;
	(void)f;
}

static struct as_sink deaf = { .finding = hear };

static void set_up_check(struct t_agree *on)
{
	on->check_options =
		(struct as_check_options){ .nodes = 2,
					   .crashes = as_crash_options_default(),
					   .faults = AS_CHECK_FAIL_READ | AS_CHECK_FAIL_WRITE |
						     AS_CHECK_FAIL_ALLOC,
					   .max_faults = 1,
					   .jobs = 1,
					   .max_states = 16,
					   .fd = -1 };
	on->check_args = (struct as_check_args){ .target = on->target,
						 .run = &on->options,
						 .options = &on->check_options,
						 .sinks = &deaf };
	on->checking =
		(struct as_checking){ .args = &on->check_args, .options = &on->check_options };
}

struct t_agree *t_agree_open(const char *spec)
{
	struct t_agree *on = as_xcalloc(1, sizeof(*on));
	struct as_err err = { 0 };

	on->answers = as_shared_alloc(sizeof(*on->answers));
	on->shared = as_shared_alloc(T_PLANS_MAX * sizeof(*on->shared));
	on->alive = as_shared_alloc(sizeof(*on->alive));
	if (as_target_open(spec, &on->target, &err))
		fail_msg("%s: %s", spec, err.msg);
	on->options = (struct as_run_options){ .deadline_ms = DEADLINE_MS,
					       .on_host = true,
					       .size_bytes = as_target_small_bytes(on->target),
					       .answers = on->answers };
	on->strict = as_instance_caps(on->target) & AS_INSTANCE_STRICT;
	on->certain = as_instance_caps(on->target) & AS_INSTANCE_CERTAIN;
	set_up_check(on);
	if (as_runner_new(on->target, &on->options, &deaf, &on->runner, &err) ||
	    as_checking_open(&on->checking, &err))
		fail_msg("%s: %s", spec, err.msg);
	on->quirks = as_runner_fresh(on->runner).traits->quirks;
	return on;
}

void t_agree_close(struct t_agree *on)
{
	as_checking_close(&on->checking);
	as_runner_free(on->runner);
	as_target_free(on->target);
	as_shared_free(on->answers, sizeof(*on->answers));
	as_shared_free(on->shared, T_PLANS_MAX * sizeof(*on->shared));
	as_shared_free((void *)(uintptr_t)on->alive, sizeof(*on->alive));
	free(on);
}

const char *t_agree_plugins(void)
{
	static char path[4200];
	const char *build = getenv("ASSAY_BUILD");

	snprintf(path, sizeof(path), "%s/plugins", build ? build : "build/gcc");
	return path;
}

bool t_agree_has_plugin(const char *name)
{
	char path[4400];

	snprintf(path, sizeof(path), "%s/%s", t_agree_plugins(), name);
	return !access(path, R_OK);
}

/* Built once; NULL: it cannot be. */
static const char *build_odd(void)
{
	static char path[4300];
	static bool tried;
	char labfs[PATH_MAX], plugin[4400], define[PATH_MAX + 32];
	char *argv[] = { "cc",
			 "-shared",
			 "-fPIC",
			 "-D_GNU_SOURCE",
			 "-Iinclude",
			 define,
			 "tests/trial/odd_plugin.c",
			 "-o",
			 path,
			 "-ldl",
			 NULL };
	struct as_spawn spawn = { .argv = argv, .deadline_ms = DEADLINE_MS };
	struct as_ended ended;

	if (tried)
		return *path ? path : NULL;
	tried = true;
	snprintf(plugin, sizeof(plugin), "%s/labfs.so", t_agree_plugins());
	if (!realpath(plugin, labfs))
		return NULL;
	snprintf(define, sizeof(define), "-DLABFS_SO=\"%s\"", labfs);
	snprintf(path, sizeof(path), "%s/any.so", t_tmpdir());
	if (as_spawn_run(&spawn, &ended, NULL) || ended.how != AS_END_EXIT || ended.status)
		*path = '\0';
	return *path ? path : NULL;
}

bool t_agree_odd(const char *name, char *spec, size_t room)
{
	const char *built = build_odd();
	char path[4400];

	if (!built)
		return false;
	snprintf(path, sizeof(path), "%.*s/%s.so", (int)(strrchr(built, '/') - built), built, name);
	if (access(path, R_OK) && link(built, path))
		return false;
	snprintf(spec, room, "plugin:%s", path);
	return true;
}
