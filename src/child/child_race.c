/* SPDX-License-Identifier: GPL-2.0-or-later */
/* child_race: a workload in several threads (race/race.h), carried out and judged in a child. */
#include "child/child_priv.h"

#include <errno.h>

#define RACE_LINES 60 /* of calls that a finding shows */

/* Called by all of them. What is in flight is whatever was begun last and has not ended. */
static void race_begins(void *ctx, unsigned thread, size_t op)
{
	struct as_child_shared *sh = ctx;

	sh->racing[thread] = (int64_t)op + 1;
	sh->op = (int64_t)op;
	__atomic_add_fetch(&sh->alive, 1, __ATOMIC_RELAXED);
}

static void race_ended(void *ctx, unsigned thread, size_t op)
{
	struct as_child_shared *sh = ctx;

	sh->racing[thread] = 0;
	for (unsigned t = 0; t < AS_RACE_THREADS_MAX && sh->op == (int64_t)op; t++)
		if (sh->racing[t])
			sh->op = sh->racing[t] - 1;
	__atomic_add_fetch(&sh->alive, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&sh->ops, 1, __ATOMIC_RELAXED);
}

static void race_plays(void *ctx, unsigned thread)
{
	as_instance_set_caller(ctx, thread);
}

static void race_beats(void *ctx)
{
	((struct as_child_shared *)ctx)->alive++;
}

static void found_race(struct child *c, const struct as_race_history *history,
		       const struct as_race_verdict *verdict)
{
	struct as_buf detail = { 0 };

	as_race_describe(history, verdict->guilty, RACE_LINES, &detail);
	as_child_say(c, &(struct as_child_said){
				AS_FIND_RACE, -1, verdict->about, as_buf_str(&verdict->why),
				as_buf_str(&verdict->signature), as_buf_str(&detail) });
	as_buf_free(&detail);
}

static void judge_race(struct child *c, const struct as_race_history *history,
		       const struct as_race_watch *watch)
{
	struct as_race_verdict verdict;

	as_child_enter(c, PHASE_COMPARE);
	for (size_t i = 0; i < history->n; i++) {
		const struct as_outcome *got = &history->calls[i].got;

		c->sh->skipped += got->ret < 0 &&
				  (got->err == AS_ERR_UNSUPPORTED || got->err == AS_ERR_LIMIT);
	}
	if (as_race_answered(history, ENOSPC) && as_trial_excuses_order(&c->trial, ENOSPC)) {
		c->trial.blind = true;
		return;
	}
	as_race_judge(history, c->trial.model, as_instance_vfs(c->instance), watch, &verdict);
	as_raced_add(&c->sh->raced, &verdict.raced);
	if (verdict.last) {
		as_model_free(c->trial.model);
		c->trial.model = as_model_copy(verdict.last);
	} else if (verdict.gave_up) {
		c->sh->unjudged = c->trial.blind = true;
	} else {
		found_race(c, history, &verdict);
	}
	as_race_verdict_free(&verdict);
}

void as_child_race(struct child *c)
{
	const struct as_child_args *args = c->args;
	struct as_race_watch watch = { race_begins, race_ended, race_beats, c->sh };
	struct as_race_run run = {
		.form = args->seq,
		.options = &args->options->race,
		.seed = args->race_seed,
		.delays = as_race_delays(&args->options->race, args->race_seed, args->race_first),
		.vfs = as_instance_vfs(c->instance),
		.remounts = as_instance_can(c->instance, AS_INSTANCE_REMOUNT),
		/* A view becomes the file's when it is closed or synced: race/linear does not know
		 * that such calls change a file. */
		.alone = args->traits->quirks & AS_QUIRK_OWN_VIEWS,
		.in_turn = args->traits->quirks & AS_QUIRK_OWN_VIEWS,
		.watch = &watch,
		.plays = race_plays,
		.ctx = c->instance
	};
	struct as_race_history history;

	c->delay = as_race_delay_new(run.options, ~run.delays);
	as_instance_set_delay(c->instance, as_race_delay_pause, c->delay);
	as_child_enter(c, PHASE_OP);
	c->sh->tool_rc = as_race_run(&run, &history, &c->sh->tool_err);
	as_instance_set_delay(c->instance, NULL, NULL);
	if (!c->sh->tool_rc && !as_child_troubled(c, -1)) {
		if (history.beside[0])
			as_child_found(c, AS_FIND_RACE, -1, "beside the others", history.beside);
		else
			judge_race(c, &history, &watch);
	}
	as_race_history_free(&history);
}
