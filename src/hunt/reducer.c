/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reducer: the process that reduces what was found, one signature at a time (worker.h). */
#include "base/json.h"
#include "hunt/folders.h"
#include "hunt/lane.h"
#include "hunt/sets.h"
#include "hunt/worker_priv.h"
#include "os/spawn.h"
#include "symptom/still.h"
#include "symptom/symptom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reducing {
	struct as_sink sink; /* hears the signatures */
	const struct as_hunt *hunt;
	const struct as_hunt_state *state;
	const struct as_hunt_sign *sign;
	struct as_hunt_shared *shared;
	struct as_lane *lane;
	struct as_known *known;
	int64_t start_us;
	bool heard, same;
	/* The last signature of the same symptom: at the end that of the best workload, whose runs
	 * come last. */
	char last[1024];
	struct as_seen *shows; /* where what comes next is kept; NULL: nowhere */
};

static void hear(struct reducing *r, const char *signature)
{
	/* A workload may have several findings. */
	if (!r->same && as_still_fails(AS_STILL_SYMPTOM, r->sign->signature, signature)) {
		snprintf(r->last, sizeof(r->last), "%s", signature);
		r->same = true;
	}
	r->heard = true;
}

static void hear_finding(struct as_sink *sink, const struct as_finding *f)
{
	struct reducing *r = (struct reducing *)sink;
	bool before = r->same;

	hear(r, f->signature);
	if (r->shows && r->same && !before)
		as_seen_set(r->shows, f);
}

static void hear_again(struct as_sink *sink, const char *signature)
{
	hear((struct reducing *)sink, signature);
}

static int fails(void *ctx, const struct as_seq *seq, struct as_err *err)
{
	struct reducing *r = ctx;
	const char *name = "candidate";
	struct as_work work = { &seq, &name, 1, NULL };
	struct as_run_result result;
	int rc;

	r->heard = r->same = false;
	rc = as_lane_run(r->lane, &work, &result, err);
	/* A run that was interrupted has no result. */
	if (!rc && !result.workloads)
		rc = as_fail(err, AS_ESTOP, "stopped");
	return rc ? rc : r->same;
}

static enum as_reduce_stop stop(void *ctx)
{
	const struct reducing *r = ctx;

	if (r->shared->stop)
		return AS_REDUCE_INTERRUPTED;
	return as_now_us() - r->start_us > (int64_t)r->hunt->reduce_seconds * 1000000
		       ? AS_REDUCE_TIME_UP
		       : AS_REDUCE_GO_ON;
}

/* Runs the result once more for what it shows: the runs before only told their signatures. A flaky
 * one has a few tries. An error of ours, or an interrupt, only means that this is not known. */
static void look(struct reducing *r, const struct as_seq *best, const struct as_reduced *result,
		 struct as_seen *seen)
{
	r->shows = seen;
	for (unsigned i = 0; result->failed && i < result->runs && !seen->summary; i++) {
		as_known_forget(r->known);
		if (r->shared->stop || fails(r, best, NULL) < 0)
			break;
	}
	r->shows = NULL;
}

static void say(struct as_mate *mate, const struct reducing *r, const struct as_seq *best,
		const struct as_reduced *result)
{
	struct as_buf line = { 0 }, steps = { 0 };
	struct as_json j = as_json_on(&line);

	as_json_object(&j);
	as_json_kstr(&j, "signature", r->sign->signature);
	as_json_kstr(&j, "cause", r->last[0] ? r->last : r->sign->signature);
	if (best)
		as_symptom_steps(best, &steps);
	as_json_kstr(&j, "steps", as_buf_str(&steps));
	as_json_kstr(&j, "reduced", !best ? "vanished" : result->complete ? "yes" : "shortened");
	as_json_kuint(&j, "ops", result->ops_after);
	as_json_kuint(&j, "runs", result->runs);
	as_json_kuint(&j, "failed", result->failed);
	as_json_kuint(&j, "executions", result->executions);
	as_json_key(&j, "seconds");
	as_json_num(&j, (double)(as_now_us() - r->start_us) / 1e6);
	as_json_end(&j);
	as_worker_say(mate, &line);
	as_buf_free(&steps);
}

/* After an interrupt before the first run there is no result; nor is what was reached of use if an
 * earlier reduction, interrupted too, came further. */
static bool is_cut_short(const struct reducing *r, const struct as_seq *best,
			 const struct as_reduced *result)
{
	if (!r->shared->stop || result->complete)
		return false;
	return !best || (r->sign->ops_reduced && result->ops_after > r->sign->ops_reduced);
}

/* What was wrong then is wrong again, and nothing else is drawn. */
static void use_found(const struct reducing *r, const struct as_hunt_found *found,
		      struct as_run_options *run)
{
	run->draw_faults = false;
	run->faults = found->faults.len ? as_buf_str(&found->faults) : NULL;
	run->near = r->sign->signature;
	run->size_bytes = found->size_bytes;
	memcpy(run->alter, found->alter, sizeof(run->alter));
	/* The same parameters, such as the seed of a race. */
	if (found->scenario[0])
		memcpy(run->scenario, found->scenario, sizeof(run->scenario));
}

static int reduce(struct reducing *r, struct as_mate *mate, struct as_err *err)
{
	const struct as_hunt *h = r->hunt;
	struct as_reducer reducer = { .fails = fails, .stop = stop, .ctx = r };
	struct as_hunt_found found = { 0 };
	struct as_hunt as_found = *h;
	struct as_dir folder;
	struct as_seq *best = NULL;
	struct as_reduced result = { 0 };
	struct as_seen seen = { .op_index = -1 };
	int rc;

	/* A reduction repeats the same workload: its calls are not counted as coverage. */
	as_found.cov = NULL;
	as_found.run.watch = NULL;
	as_found.run.kcov = false;
	as_found.run.stop = &r->shared->stop;
	rc = as_folders_finding(h, r->sign->id, &folder, err);
	if (!rc)
		rc = h->store->load(&folder, &found, err);
	reducer.op_index = found.op_index;
	if (!rc && found.scenario[0])
		rc = as_scenario_find(found.scenario, &as_found.scenario, &as_found.params, err);
	if (!rc)
		rc = as_sets_use(&as_found, as_sets_find(r->state, as_buf_str(&found.target)), err);
	if (!rc)
		use_found(r, &found, &as_found.run);
	if (!rc)
		rc = as_lane_open(&as_found, AS_HUNT_REDUCE, false, r->known, &r->sink, &r->lane,
				  err);
	if (!rc)
		rc = as_reduce(found.seq, &reducer, &best, &result, err);
	/* The best so far is kept. When the hunt is resumed, the reduction begins again with the
	 * workload as it was found, so that its end does not depend on the interrupt. */
	if (rc == AS_ESTOP) {
		rc = 0;
		result.complete = false;
	}
	if (!rc && is_cut_short(r, best, &result))
		goto out;
	if (best) {
		int kept;

		if (!rc)
			look(r, best, &result, &seen);
		kept = h->store->set_reduced(&folder, best, &result, &seen,
					     (double)(as_now_us() - r->start_us) / 1e6,
					     rc ? NULL : err);
		rc = rc ? rc : kept;
	}
	if (!rc)
		say(mate, r, best, &result);
out:
	as_lane_close(r->lane);
	as_seq_free(found.seq);
	as_seq_free(best);
	as_seen_free(&seen);
	as_dir_close(&folder);
	as_buf_free(&found.target);
	as_buf_free(&found.faults);
	return rc;
}

static int be_reducer(struct as_mate *mate, void *ctx, struct as_err *err)
{
	struct reducing *r = ctx;
	int rc;

	r->known = as_known_new();
	rc = reduce(r, mate, err);
	as_known_free(r->known);
	return rc;
}

int as_worker_start_reducer(const struct as_hunt *hunt, const struct as_hunt_state *state,
			    const struct as_hunt_sign *sign, struct as_hunt_shared *shared,
			    struct as_crew *crew, struct as_err *err)
{
	struct reducing r = { .sink = { .finding = hear_finding, .again = hear_again },
			      .hunt = hunt,
			      .state = state,
			      .sign = sign,
			      .shared = shared,
			      .start_us = as_now_us() };

	as_crew_name(crew, AS_HUNT_REDUCER(state), "the reducer of the hunt");
	return as_crew_start(crew, AS_HUNT_REDUCER(state), be_reducer, &r, err);
}
