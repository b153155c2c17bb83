/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * expand: what a worker does with a state: it tries all that may follow.
 *
 * Method. A state is brought back by running its trace on a fresh file system. Operations that
 * change nothing, mostly because they fail, leave it as it is: so they are tried one after the
 * other, and the state is brought back only after one that has changed something. Whether such
 * operations really changed nothing shows when the tree is compared the next time, with the next
 * operation that changes something, or after the last one.
 *
 * Before each call that may be the last one of this process, the lane is told what is tried.
 */
#include "check/cuts.h"

#include "klog/kwatch.h"
#include "model/compare.h"
#include "work/parse.h"
#include "work/print.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- One operation --------------------------------------------------------------------------- */

static void suspect(struct as_expander *w, enum as_finding_kind kind, unsigned code,
		    const char *why)
{
	as_suspect_add(w->c, w->lane, false, kind, as_suspect_key((unsigned)kind, code, why), why);
}

/* A target that forks comes back twice: the second one is nobody's worker. */
static void answered(void *ctx, uint32_t i, const struct as_op *op, const struct as_outcome *got)
{
	(void)i;
	(void)op;
	(void)got;
	if (getpid() != ((struct as_expander *)ctx)->pid)
		_exit(0);
}

static void wrong(void *ctx, uint32_t i, const struct as_op *op, enum as_finding_kind kind,
		  const char *why, bool noted)
{
	(void)i;
	(void)noted;
	suspect(ctx, kind, op->code, why);
}

static const struct as_trial_ops observers = { .answered = answered, .wrong = wrong };

void as_worker_judge_open(struct as_expander *w)
{
	w->trial = (struct as_trial){ .ops = &observers,
				      .ctx = w,
				      .way = AS_TRIAL_CHECK,
				      .target = w->c->args->target,
				      .traits = w->c->fresh.traits,
				      .instance = w->instance };
}

enum as_trial_did as_worker_do(struct as_expander *w, const struct as_op *op, uint32_t i,
			       struct as_outcome *got)
{
	return as_trial_op(&w->trial, i, op, got);
}

bool as_worker_tree_agrees(struct as_expander *w, unsigned code)
{
	bool agrees;

	AS_CHECK_ADD(w->c, compared, 1);
	agrees = as_trial_tree_agrees(&w->trial, NULL, 0, &w->why);
	if (!agrees)
		suspect(w, AS_FIND_TREE, code, as_buf_str(&w->why));
	return agrees;
}

/* After an unmount: the checker has nothing to complain of, and all is there after a mount. */
bool as_worker_disk_agrees(struct as_expander *w, unsigned code, struct as_err *err, int *rc)
{
	struct as_op mount = as_op_make(AS_OP_MOUNT);
	struct as_instance_checked checked = { .clean = true };
	struct as_model *model = w->trial.model;
	struct as_outcome got;
	bool agrees;

	if (as_instance_can(w->instance, AS_INSTANCE_CHECK) &&
	    !as_trial_excuses(&w->trial, AS_EXCUSED_CHECKER))
		*rc = as_instance_check(w->instance, 0, &checked, err);
	if (*rc)
		return false;
	if (!checked.clean) {
		suspect(w, checked.kind, code, checked.why);
		return false;
	}
	w->trial.model = as_model_copy(model);
	agrees = as_worker_do(w, &mount, (uint32_t)w->seq->n + 1, &got) == AS_TRIAL_AGREED &&
		 as_worker_tree_agrees(w, code);
	as_model_free(w->trial.model);
	w->trial.model = model;
	return agrees;
}

/* ---- Bringing a state back ------------------------------------------------------------------- */

void as_worker_forget(struct as_expander *w)
{
	as_model_free(w->trial.model);
	as_past_put(w->past);
	w->trial.model = NULL;
	w->past = NULL;
	w->back = false;
	as_try_forget(&w->lane->tried);
}

static void step(struct as_expander *w, const struct as_op *op, const struct as_outcome *got)
{
	struct as_past *next = as_past_add(w->past, op, got, w->trial.model);

	as_era_step(&w->era, op, w->past, next);
	as_past_put(w->past);
	w->past = next;
}

/* Of what is legal now. What was judged after fewer power cuts is judged again: it may be gone on
 * from. So is what was judged at the end of a trace of another length, if shorter ones may come
 * later: what is recovered there may have been too deep to be expanded. */
static struct as_digest exact(const struct as_expander *w)
{
	struct as_digest digest = as_past_exact(w->past);

	if (w->base->n)
		digest = as_digest_bind(digest, w->base->n + 1);
	return w->age ? as_digest_bind(digest, AS_CRASH_ROUNDS_MAX + w->age) : digest;
}

/* A sandbox does not know how long the trace is that it was given. */
static uint64_t age_of(const struct as_expander *w)
{
	if (!w->c->unordered || !as_cuts_may(w->cuts))
		return 0;
	return 1 + (w->c->reached ? w->id : as_store_at(w->c->store, w->id).depth);
}

/* Runs the trace. False: it does not lead there any more, which was told. */
static bool replay(struct as_expander *w)
{
	struct as_outcome got;

	w->upto[0] = exact(w);
	for (size_t i = 0; i < w->seq->n; i++) {
		if (as_worker_do(w, &w->seq->ops[i], (uint32_t)i, &got) != AS_TRIAL_AGREED)
			return false;
		step(w, &w->seq->ops[i], &got);
		w->upto[i + 1] = exact(w);
	}
	AS_CHECK_ADD(w->c, replayed, w->seq->n);
	return true;
}

void as_worker_lose(struct as_expander *w)
{
	AS_CHECK_ADD(w->c, lost, 1);
	as_store_gap(w->c->store, 1);
}

int as_worker_bring_back(struct as_expander *w, struct as_err *err)
{
	enum as_trial_did did;
	int rc, mounted;

	as_worker_forget(w);
	as_trial_begin(&w->trial);
	AS_CHECK_ADD(w->c, restores, 1);
	w->lane->phase = AS_CHECK_BACK;
	w->lane->alive++;
	if (w->failing)
		as_instance_set_faults(w->instance, w->trial.plan ? w->trial.plan
								  : as_failing_counts(w->failing));
	if (w->asks)
		as_asks_begin(w->asks);
	rc = as_instance_back(w->instance, w->base->mark, err);
	if (rc)
		return rc;
	as_instance_clock_after(w->instance, w->base->after_ns);
	did = as_trial_mount(&w->trial, &mounted);
	if (did == AS_TRIAL_WRONG && w->trial.plan)
		suspect(w, AS_FIND_MOUNT, AS_OP_MOUNT, as_errno_name(-mounted));
	if (mounted && w->trial.plan)
		return 0;
	if (mounted)
		return as_instance_useless(w->instance, mounted, err);
	w->trial.model = as_model_copy(w->base->model);
	w->past = as_past_new(w->base->model, &w->policy);
	w->era = w->base->era;
	as_model_follow_times(w->trial.model, as_target_opts(w->c->args->target));
	w->back = replay(w);
	/* A kernel does not always make the same calls, so that another one may fail. */
	if (!w->back && !(w->trial.plan && as_instance_fault_hit(w->instance)))
		as_worker_lose(w);
	return 0;
}

int as_worker_try(struct as_expander *w, const struct as_op *op, enum as_trial_did *did,
		  struct as_err *err)
{
	struct as_outcome got;
	int rc = as_worker_bring_back(w, err);

	*did = AS_TRIAL_ENDED;
	if (rc || !w->back)
		return rc;
	as_try_begin(&w->lane->tried, as_buf_str(&w->line));
	w->lane->phase = AS_CHECK_MOVE;
	AS_CHECK_ADD(w->c, failures, 1);
	*did = as_worker_do(w, op, (uint32_t)w->seq->n, &got);
	return 0;
}

/* ---- Moves ----------------------------------------------------------------------------------- */

int as_worker_cut_power(struct as_expander *w, const struct as_op *op, const struct as_plan *plan,
			bool *fine, uint64_t *wrote, struct as_err *err)
{
	struct as_seq *seq;
	int rc;

	if (!w->c->options->crash || !w->past)
		return 0;
	/* Another process mounts now, and what keeps the lane's mount is over. */
	if (as_instance_can(w->instance, AS_INSTANCE_KERNEL) && as_instance_give_up(w->instance))
		return as_fail(err, AS_EIO, "cannot unmount after an operation");
	w->lane->phase = AS_CHECK_CRASH;
	seq = as_seq_copy(w->seq);
	as_seq_add(seq, op);
	w->upto[w->seq->n + 1] = exact(w);
	rc = as_crashes_try(w->crashes, seq, w->upto, plan, fine, wrote, err);
	as_seq_free(seq);
	return rc;
}

/* Whether what it did and left is as the model says. */
static bool move_agrees(struct as_expander *w, const struct as_op *op, struct as_err *err, int *rc)
{
	bool agrees = as_model_mounted(w->trial.model)
			      ? as_worker_tree_agrees(w, op->code)
			      : as_worker_disk_agrees(w, op->code, err, rc);

	return as_worker_quiet(w, op->code) && agrees;
}

/* The others know nothing of this answer. */
static void stray(struct as_expander *w)
{
	AS_CHECK_ADD(w->c, strayed, 1);
	as_store_gap(w->c->store, 1);
}

static int try_move(struct as_expander *w, uint32_t i, struct as_err *err)
{
	const struct as_op *op = &w->moves->ops[i];
	struct as_digest before, expected = { 0 };
	struct as_outcome got;
	struct as_past *was;
	int rc = 0;

	as_buf_clear(&w->line);
	as_print_op(op, &w->line);
	if (!w->back && (rc = as_worker_bring_back(w, err)))
		return rc;
	if (!w->back)
		return 0;
	as_try_begin(&w->lane->tried, as_buf_str(&w->line));
	w->lane->move = i;
	w->lane->phase = AS_CHECK_MOVE;
	w->lane->alive++;
	if (w->owned)
		AS_CHECK_ADD(w->c, transitions, 1);
	else
		AS_CHECK_ADD(w->c, followed, 1);
	before = as_model_digest(w->trial.model);
	was = w->past;
	if (as_shard_predicts(w->c))
		expected = as_shard_expect(w, op);
	as_worker_code_before(w);
	w->back = as_worker_do(w, op, (uint32_t)w->seq->n, &got) == AS_TRIAL_AGREED;
	as_worker_code_after(w);
	if (!w->back)
		return 0;
	as_novel_answer(w, op, &got);
	if (got.ret < 0 && (got.err == AS_ERR_UNSUPPORTED || got.err == AS_ERR_LIMIT))
		AS_CHECK_ADD(w->c, skipped, 1);
	else
		step(w, op, &got);
	if (as_shard_predicts(w->c) &&
	    !as_digest_eq(expected, as_check_key(w->trial.model, w->past, w->era)))
		stray(w);
	if (w->past == was && as_digest_eq(as_model_digest(w->trial.model), before) &&
	    !as_worker_disk_changed(w, op, &got)) {
		as_try_keep(&w->lane->tried);
		w->still[i] = true;
		return 0;
	}
	AS_CHECK_ADD(w->c, changing, 1);
	w->back = false;
	if ((!w->owned || move_agrees(w, op, err, &rc)) && !rc)
		rc = as_worker_reach(w, op, err);
	return rc;
}

/* ---- A state --------------------------------------------------------------------------------- */

int as_worker_read_trace(struct as_expander *w, uint32_t id, struct as_err *err)
{
	const char *part;
	int rc;

	w->id = id;
	as_buf_clear(&w->trace);
	as_store_trace(w->c->store, id, &w->trace);
	as_seq_free(w->seq);
	as_seq_free(w->moves);
	free(w->upto);
	free(w->still);
	w->seq = w->moves = NULL;
	w->upto = NULL;
	w->still = NULL;
	as_try_begin(&w->lane->tried, "");
	w->lane->phase = AS_CHECK_BACK;
	rc = as_cuts_base(w->cuts, as_buf_str(&w->trace), &part, &w->base, err);
	if (!rc)
		rc = as_parse_text("trace", part, strlen(part), &w->seq, err);
	if (!rc)
		w->upto = as_xcalloc(w->seq->n + 2, sizeof(*w->upto));
	if (!rc && w->crashes)
		as_crashes_begin(w->crashes, w->base, w->cuts);
	w->age = rc ? 0 : age_of(w);
	return rc;
}

static int begin_state(struct as_expander *w, uint32_t id, struct as_err *err)
{
	int rc = as_worker_read_trace(w, id, err);

	if (rc)
		return rc;
	if (!w->base->model) {
		as_worker_lose(w);
		return 0;
	}
	rc = as_worker_bring_back(w, err);
	if (!rc && w->back) {
		w->moves = as_universe_moves(&w->c->universe, w->trial.model);
		w->still = as_xcalloc(w->moves->n + 1, sizeof(*w->still));
	}
	return rc;
}

static bool is_skipped(const struct as_check_skip *skip, uint32_t move)
{
	for (unsigned i = 0; skip && i < skip->n; i++)
		if (skip->move[i] == move)
			return true;
	return false;
}

static bool has_done_enough(const struct as_checking *c)
{
	uint64_t most = c->options->max_transitions;

	return most && c->shared->counts.transitions >= most;
}

/* Tries all that may follow, on the file system. */
static int try_all(struct as_expander *w, uint32_t id, uint32_t first, struct as_err *err)
{
	int rc = begin_state(w, id, err);

	as_novel_begin(w);
	for (uint32_t i = first; !rc && w->moves && i < w->moves->n; i++) {
		if (has_done_enough(w->c))
			w->c->shared->stop = 1;
		if (w->c->shared->stop)
			return 0;
		if (is_skipped(w->args->skip, i))
			continue;
		rc = try_move(w, i, err);
		/* A crash run with several rounds has no faults. */
		if (w->base->n)
			continue;
		if (!rc && w->failing && w->owned)
			rc = as_failing_try(w, &w->moves->ops[i], err);
		if (!rc && w->asks && w->owned)
			rc = as_asks_try(w, &w->moves->ops[i], err);
	}
	if (!rc && w->owned && w->back && w->lane->tried.since_len &&
	    as_model_mounted(w->trial.model)) {
		as_try_begin(&w->lane->tried, "");
		w->lane->move = (uint32_t)w->moves->n;
		(void)as_worker_tree_agrees(w, AS_OP_COUNT);
		(void)as_worker_quiet(w, AS_OP_COUNT);
	}
	if (!rc && w->moves && w->owned)
		rc = as_worker_rest(w, err);
	return rc;
}

int as_worker_expand(struct as_expander *w, uint32_t id, uint32_t first, struct as_err *err)
{
	int rc;

	/* A sandbox does not know the digest of what it was given. */
	w->owned = w->c->reached ? !w->c->given_foreign
				 : as_shard_owns(w->c, as_store_at(w->c->store, id).digest);
	rc = w->owned || !as_shard_predicts(w->c) ? try_all(w, id, first, err)
						  : as_shard_follow(w, id, first, err);
	if (!rc && !w->c->shared->stop) {
		AS_CHECK_ADD(w->c, expanded, 1);
		if (!w->owned)
			AS_CHECK_ADD(w->c, foreign, 1);
		as_store_done(w->c->store, id);
		w->lane->tried.state = AS_STORE_NONE;
	}
	return rc;
}
