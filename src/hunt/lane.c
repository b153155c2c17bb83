/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lane: see lane.h.
 *
 * The path of a finding:
 *   here    scenario -> known -> sinks -> store
 *   boxed   of the engine, which has a `known` of its own, and of its supervisor (a kernel that
 *           died) -> known -> sinks -> store
 */
#include "hunt/lane.h"

#include "hunt/folders.h"
#include "progress/result.h"

#include <stdlib.h>
#include <string.h>

struct as_lane {
	const struct as_hunt *hunt;
	struct as_known *known;
	struct as_sink *store; /* NULL: nothing is kept */
	struct as_known_filter chain; /* known -> sinks -> store */
	struct as_known_filter tell; /* known -> sinks */
	struct as_scenario *scenario; /* here, */
	struct as_boxed box; /* or in a box */
	struct as_boxed_session *session;
	struct as_dir dir;
};

#define BOXED_AT_ONCE 16

static int open_here(struct as_lane *lane, struct as_err *err)
{
	const struct as_hunt *h = lane->hunt;
	struct as_scenario_args args = { .targets = h->targets,
					 .n_targets = h->n_targets,
					 .options = &h->run,
					 .params = h->params,
					 .sinks = &lane->chain.sink };

	return h->scenario->open(&args, &lane->scenario, err);
}

static int open_boxed(struct as_lane *lane, bool keep, struct as_err *err)
{
	lane->box = *lane->hunt->box;
	lane->box.options = lane->hunt->run;
	lane->box.out = keep ? lane->dir.path : NULL;
	lane->box.notes = &lane->tell.sink;
	lane->box.findings = &lane->chain.sink;
	lane->box.together = true;
	lane->box.known = keep ? lane->known : NULL;
	lane->box.session = lane->hunt->lane;
	lane->box.cov = keep && lane->hunt->cov ? AS_HUNT_COV : NULL;
	return as_boxed_open(&lane->box, &lane->session, err);
}

/* Runs only the first few workloads, so that a hunt that is to end does not wait long. */
static int run_boxed(struct as_lane *lane, const struct as_work *work, struct as_run_result *result,
		     struct as_err *err)
{
	struct as_work some = *work;

	some.n = some.n < BOXED_AT_ONCE ? some.n : BOXED_AT_ONCE;
	return as_boxed_give(lane->session, &some, result, err);
}

int as_lane_open(const struct as_hunt *hunt, const char *name, bool keep, struct as_known *known,
		 struct as_sink *sinks, struct as_lane **out, struct as_err *err)
{
	struct as_lane *lane = as_xcalloc(1, sizeof(*lane));
	int rc;

	lane->hunt = hunt;
	lane->known = known;
	rc = as_dir_below(&hunt->folders->hunt, name, true, &lane->dir, err);
	if (!rc && keep)
		rc = hunt->store->open(&lane->dir, &lane->store, err);
	sinks->next = lane->store;
	lane->chain = as_known_filter(known, sinks, false);
	lane->tell = as_known_filter(known, sinks, true);
	if (!rc)
		rc = hunt->box ? open_boxed(lane, keep, err) : open_here(lane, err);
	if (rc) {
		as_lane_close(lane);
		lane = NULL;
	}
	*out = lane;
	return rc;
}

static bool is_stopped(const struct as_lane *lane)
{
	return lane->hunt->run.stop && *lane->hunt->run.stop;
}

int as_lane_run(struct as_lane *lane, const struct as_work *work, struct as_run_result *result,
		struct as_err *err)
{
	struct as_work rest = *work;
	int rc = 0;

	*result = (struct as_run_result){ 0 };
	while (rest.n && !rc && !is_stopped(lane)) {
		struct as_run_result some = { 0 };

		rc = lane->session ? run_boxed(lane, &rest, &some, err)
				   : lane->hunt->scenario->run(lane->scenario, &rest, &some, err);
		if (rc == AS_ESTOP)
			break;
		as_run_result_add(result, &some);
		as_assert(rc || (some.workloads && some.workloads <= rest.n));
		rest.seqs += some.workloads;
		rest.names += some.workloads;
		rest.n -= some.workloads;
	}
	if (rc == AS_ESTOP)
		rc = 0;
	if (!rc && lane->store)
		rc = lane->hunt->store->failed(lane->store, err);
	return rc;
}

void as_lane_close(struct as_lane *lane)
{
	if (!lane)
		return;
	as_boxed_close(lane->session);
	as_dir_close(&lane->dir);
	if (lane->scenario)
		lane->hunt->scenario->close(lane->scenario);
	if (lane->store)
		lane->hunt->store->close(lane->store);
	free(lane);
}
