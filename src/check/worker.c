/* SPDX-License-Identifier: GPL-2.0-or-later */
/* worker: the process of a lane: takes states from the frontier and expands them (expand.c). */
#include "check/cuts.h"

#include "child/child.h"
#include "child/kcov.h"
#include "instance/outside.h"
#include "klog/kwatch.h"

#include <stdlib.h>
#include <unistd.h>

/* Takes states until there are none left, and nobody is at work who may find some. */
static int work(struct as_expander *w, struct as_err *err)
{
	struct as_check_lane *lane = w->lane;
	uint32_t first = w->args->first, id;
	int rc = 0;

	while (!rc && !w->c->shared->stop) {
		if (lane->tried.state != AS_STORE_NONE) {
			rc = as_worker_expand(w, lane->tried.state, first, err);
			first = 0;
		} else if (as_store_pop(w->c->store, &id)) {
			lane->move = 0;
			lane->tried.state = id;
		} else if (!as_store_in_work(w->c->store)) {
			break;
		} else {
			lane->alive++;
			usleep(AS_CHECK_IDLE_US);
		}
	}
	return rc;
}

bool as_worker_quiet(struct as_expander *w, unsigned code)
{
	struct as_kwatch_news news;

	if (!w->watch ||
	    !as_kwatch_look(w->watch, as_trial_excuses(&w->trial, AS_EXCUSED_LOG), &news))
		return true;
	as_suspect_add(w->c, w->lane, false, AS_FIND_KERNEL,
		       as_suspect_key(AS_FIND_KERNEL, code, news.title), news.title);
	return false;
}

/* ---- The process ----------------------------------------------------------------------------- */

/* A disk in memory is quicker, but nothing can be made to fail there. */
static bool is_quick(const struct as_checking *c)
{
	return as_instance_caps(c->args->target) & AS_INSTANCE_QUICK && !c->options->faults;
}

/* Whether traces go on after a power cut. Shards that follow the states of others in the model do
 * not know what is recovered, and a crash run of a start has one round. */
static bool goes_on(const struct as_checking *c)
{
	return c->options->crash && !c->start && !c->options->shards;
}

int as_worker_open(struct as_expander *w, struct as_err *err)
{
	const struct as_checking *c = w->c;
	struct as_instance_args args = { .target = c->args->target,
					 .log = &w->lane->log,
					 .seed = c->args->run->seed,
					 .after_ns = c->start ? c->start->after_ns : 0,
					 .name_max = c->fresh.traits->name_max,
					 .quick = is_quick(c) };
	int rc = as_target_load(c->args->target, err);

	if (rc)
		return rc;
	/* In a guest, a checker takes ten times as long as outside. */
	if (args.quick && c->args->run->state)
		args.outside = as_outside_of(c->args->run->state);
	w->policy = as_policy_of(c->args->target);
	w->disk = args.disk = as_medium_copy(c->fresh.disk);
	if (c->options->faults & AS_CHECK_CHOICE) {
		w->asks = as_asks_new();
		args.choice = as_asks_choice(w->asks);
	}
	if (c->options->crash || c->options->hash == AS_CHECK_HASH_DISK)
		rc = as_crashes_new(w->args, &w->crashes, err);
	if (!rc)
		rc = as_instance_open(&args, &w->instance, err);
	as_worker_judge_open(w);
	if (!rc)
		w->fresh = as_instance_mark(w->instance);
	if (!rc && as_instance_can(w->instance, AS_INSTANCE_DEVICE))
		w->watch = as_kwatch_new(as_instance_device(w->instance));
	if (!rc && c->options->faults & ~(unsigned)AS_CHECK_CHOICE)
		w->failing = as_failing_new(c->options);
	if (!rc)
		w->cuts = as_cuts_new(w, goes_on(c) ? c->options->max_cuts : 0);
	if (!rc)
		rc = as_worker_code_open(w, err);
	return rc;
}

void as_worker_close(struct as_expander *w)
{
	as_worker_forget(w);
	as_kcov_close(w->kcov);
	as_cuts_free(w->cuts);
	as_kwatch_free(w->watch);
	as_failing_free(w->failing);
	as_instance_mark_free(w->fresh);
	as_instance_close(w->instance);
	as_crashes_free(w->crashes);
	as_asks_free(w->asks);
	as_medium_free(w->disk);
	as_trial_end(&w->trial);
	as_seq_free(w->seq);
	as_seq_free(w->moves);
	free(w->upto);
	free(w->still);
	as_buf_free(&w->trace);
	as_buf_free(&w->why);
	as_buf_free(&w->line);
}

int as_check_worker(void *ctx)
{
	const struct as_worker_args *args = ctx;
	struct as_check_lane *lane = args->lane;
	struct as_expander w = { .args = args, .c = args->checking, .lane = lane, .pid = getpid() };

	as_child_begin(&lane->stack);
	as_child_keep_memory();
	lane->phase = AS_CHECK_START;
	lane->tool_rc = as_worker_open(&w, &lane->tool_err);
	if (!lane->tool_rc)
		lane->tool_rc = work(&w, &lane->tool_err);
	as_worker_close(&w);
	lane->ended = true;
	return 0;
}
