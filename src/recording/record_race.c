/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_race: a workload that several threads run on a recorded disk (race/race.h).
 *
 * Each entry of the record has the clock of the race, which goes on when a call begins and when it
 * has ended. So it is known of every entry which calls had ended before it came to the disk, and
 * which had begun. The clock goes on before a call is carried out, and after it has returned: a
 * call is never taken for one that ended too early, or began too late.
 *
 * When the threads are done, some order of the calls must explain their answers and the tree. Then
 * one thread closes and unmounts.
 */
#include "recording/record_priv.h"

#include "instance/instance.h"

#include <errno.h>
#include <stdlib.h>

static void tick(void *ctx, uint64_t now)
{
	as_instance_set_op(((struct rec *)ctx)->instance, (uint32_t)now);
}

static void plays(void *ctx, unsigned thread)
{
	as_instance_set_caller(((struct rec *)ctx)->instance, thread);
}

static void begins(void *ctx, unsigned thread, size_t op)
{
	struct rec *r = ctx;

	(void)thread;
	r->args->step(r->args->ctx, (int64_t)op);
}

static void ended(void *ctx, unsigned thread, size_t op)
{
	(void)ctx;
	(void)thread;
	(void)op;
}

static void beat(void *ctx)
{
	struct rec *r = ctx;

	r->args->step(r->args->ctx, (int64_t)r->args->seq->n);
}

/* An answer that no order explains, or trouble; false: nothing can be judged. */
static bool judge(struct rec *r, const struct as_race_history *history,
		  const struct as_race_watch *watch)
{
	struct as_race_verdict verdict;
	enum as_finding_kind kind;
	const char *trouble = as_trial_trouble(&r->trial, &kind);
	bool fine = false;

	if (trouble)
		return as_record_went_wrong(r, kind, trouble);
	if (as_race_answered(history, ENOSPC) && as_trial_excuses_order(&r->trial, ENOSPC)) {
		r->out->unjudged = true;
		return false;
	}
	as_race_judge(history, r->trial.model, as_instance_vfs(r->instance), watch, &verdict);
	r->out->counted = verdict.raced;
	if (verdict.last) {
		as_model_free(r->trial.model);
		r->trial.model = as_model_copy(verdict.last);
		fine = true;
	} else if (verdict.gave_up) {
		r->out->unjudged = true;
	} else {
		if (verdict.guilty < history->n)
			r->op = (int64_t)verdict.guilty;
		(void)as_record_went_wrong(r, AS_FIND_RACE, as_buf_str(&verdict.why));
	}
	as_race_verdict_free(&verdict);
	return fine;
}

/* The operations after the race, by one thread. */
struct ending {
	struct rec *r;
	struct as_orders *orders;
	bool closed; /* the executors of the threads are gone, and with them their descriptors */
	uint64_t begin;
};

static bool before(void *ctx, uint32_t i, const struct as_op *op)
{
	struct ending *e = ctx;

	(void)op;
	e->begin = e->r->out->until++;
	e->r->op = (int64_t)i;
	e->r->args->step(e->r->args->ctx, e->r->op);
	return true;
}

static void carry_out(void *ctx, uint32_t i, const struct as_op *op, struct as_outcome *got)
{
	struct ending *e = ctx;

	(void)i;
	*got = (struct as_outcome){ 0 };
	if (op->code == AS_OP_UMOUNT || !e->closed)
		as_instance_do(e->r->instance, (uint32_t)e->r->out->until, op, got);
}

static void answered(void *ctx, uint32_t i, const struct as_op *op, const struct as_outcome *got)
{
	struct ending *e = ctx;
	struct as_recording *out = e->r->out;

	if (got->ret >= 0 && as_op_makes_all_stable(op))
		as_instance_flush(e->r->instance);
	as_orders_add(e->orders, op, got, e->begin, out->until++);
	as_instance_set_op(e->r->instance, (uint32_t)out->until);
	out->answers[i] = *got;
	out->answers[i].data = NULL;
	out->answers[i].payload = AS_PAYLOAD_NONE;
}

static void wrong(void *ctx, uint32_t i, const struct as_op *op, enum as_finding_kind kind,
		  const char *why, bool noted)
{
	(void)i;
	(void)op;
	(void)noted;
	as_record_went_wrong(((struct ending *)ctx)->r, kind, why);
}

static const struct as_trial_ops observers = { .before = before,
					       .carry_out = carry_out,
					       .answered = answered,
					       .wrong = wrong };

static bool run_end(struct rec *r, struct ending *ending, size_t from)
{
	struct as_trial trial = r->trial;
	struct as_outcome got;
	bool going = true;

	r->trial.ops = &observers;
	r->trial.ctx = ending;
	for (size_t i = from; i < r->out->seq->n && going; i++)
		going = as_trial_goes_on(
			as_trial_op(&r->trial, (uint32_t)i, &r->out->seq->ops[i], &got));
	r->trial.ops = trial.ops;
	r->trial.ctx = trial.ctx;
	return going;
}

/* Takes the calls of the history. */
static void go_on(struct rec *r, struct as_race_history *history, const struct as_model *first)
{
	struct as_recording *out = r->out;
	size_t n = history->n;
	struct ending ending = { .r = r, .closed = !history->atomic };
	bool going;

	as_record_add_end(r);
	out->answers = as_xcalloc(out->seq->n + 1, sizeof(*out->answers));
	for (size_t i = 0; i < n; i++) {
		out->answers[i] = history->calls[i].got;
		out->answers[i].data = NULL;
		out->answers[i].payload = AS_PAYLOAD_NONE;
	}
	out->until = history->until;
	ending.orders = as_orders_new(first, &r->policy, history);
	going = run_end(r, &ending, n);
	out->n_ops = out->seq->n;
	out->upto[0] = as_orders_digest(ending.orders);
	if (going)
		out->orders = ending.orders;
	else
		as_orders_free(ending.orders);
}

int as_record_race(struct rec *r, struct as_err *err)
{
	const struct as_record_args *args = r->args;
	struct as_race_watch watch = { begins, ended, beat, r };
	struct as_race_run run = { .form = args->seq,
				   .options = args->race,
				   .seed = args->race_seed,
				   .delays = args->race_delays,
				   .vfs = as_instance_vfs(r->instance),
				   .alone = true,
				   .watch = &watch,
				   .tick = tick,
				   .plays = plays,
				   .ctx = r };
	struct as_model *first = as_model_copy(r->trial.model);
	struct as_race_history history = { 0 };
	int rc;

	r->out->raced = true;
	r->delay = as_race_delay_new(args->race, ~args->race_delays);
	as_instance_set_delay(r->instance, as_race_delay_pause, r->delay);
	rc = as_race_run(&run, &history, err);
	as_instance_set_delay(r->instance, NULL, NULL);
	r->op = -1;
	if (!rc && judge(r, &history, &watch))
		go_on(r, &history, first);
	as_race_history_free(&history);
	as_model_free(first);
	return rc;
}
