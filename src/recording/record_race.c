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
	const char *trouble = as_instance_trouble(r->instance, &kind);
	bool fine = false;

	if (trouble)
		return as_record_went_wrong(r, kind, trouble);
	as_race_judge(history, r->model, as_instance_vfs(r->instance), watch, &verdict);
	r->out->counted = verdict.raced;
	if (verdict.last) {
		as_model_free(r->model);
		r->model = as_model_copy(verdict.last);
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

/* closed: the executors of the threads are gone, and with them their descriptors. */
static bool run_end(struct rec *r, struct as_orders *orders, const struct as_op *op, size_t i,
		    bool closed)
{
	uint64_t begin = r->out->until++;
	struct as_outcome got = { 0 };
	enum as_finding_kind kind;
	const char *why;

	r->op = (int64_t)i;
	r->args->step(r->args->ctx, r->op);
	if (op->code == AS_OP_UMOUNT || !closed)
		as_instance_do(r->instance, (uint32_t)r->out->until, op, &got);
	if (got.ret >= 0 && as_op_makes_all_stable(op))
		as_instance_flush(r->instance);
	as_orders_add(orders, op, &got, begin, r->out->until++);
	as_instance_set_op(r->instance, (uint32_t)r->out->until);
	r->out->answers[i] = got;
	r->out->answers[i].data = NULL;
	r->out->answers[i].payload = AS_PAYLOAD_NONE;
	why = as_instance_trouble(r->instance, &kind);
	if (why)
		return as_record_went_wrong(r, kind, why);
	if (!as_model_judge(r->model, op, &got, &r->verdict))
		return as_record_went_wrong(r, r->verdict.kind, as_buf_str(&r->verdict.why));
	return true;
}

/* Takes the calls of the history. */
static void go_on(struct rec *r, struct as_race_history *history, const struct as_model *first)
{
	struct as_recording *out = r->out;
	size_t n = history->n;
	struct as_orders *orders;
	bool going = true, closed = !history->atomic;

	as_record_add_end(r);
	out->answers = as_xcalloc(out->seq->n + 1, sizeof(*out->answers));
	for (size_t i = 0; i < n; i++) {
		out->answers[i] = history->calls[i].got;
		out->answers[i].data = NULL;
		out->answers[i].payload = AS_PAYLOAD_NONE;
	}
	out->until = history->until;
	orders = as_orders_new(first, &r->policy, history);
	for (size_t i = n; i < out->seq->n && going; i++)
		going = run_end(r, orders, &out->seq->ops[i], i, closed);
	out->n_ops = out->seq->n;
	out->upto[0] = as_orders_digest(orders);
	if (going)
		out->orders = orders;
	else
		as_orders_free(orders);
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
	struct as_model *first = as_model_copy(r->model);
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
