/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runs: workloads, which a scenario runs and judges as the call says. */
#include "guest/service_priv.h"

#include "check/check.h"

#include <string.h>

static int find_scenario(struct as_series *r, struct as_err *err)
{
	const char *scenario = r->options.scenario;

	r->params = "";
	if (as_scenario_is_check(scenario, &r->params))
		r->scenario = &as_scenario_check;
	else if (!strcmp(scenario, as_scenario_record.name))
		r->scenario = &as_scenario_record;
	else
		return as_scenario_find(*scenario ? scenario : "sequential", &r->scenario,
					&r->params, err);
	return 0;
}

static int open_runs(struct as_service *s, struct as_err *err)
{
	struct as_series *r = &s->runs;
	int rc;

	s->runs_open = true;
	*r = (struct as_series){ .options = s->opened->options,
				 .together = s->opened->together,
				 .sinks = s->known ? &s->filter.sink : &s->wire };
	if (!r->options.deadline_ms)
		r->options.deadline_ms = AS_RUN_DEADLINE_MS;
	r->options.state = s->state;
	rc = as_service_kept_open(s, err);
	if (!rc)
		rc = find_scenario(r, err);
	return rc ? rc : s->counter->open(s->counter->ctx, s->opened->cov, &r->options.watch, err);
}

int as_service_runs_close(struct as_service *s, int rc, struct as_err *err)
{
	if (!s->runs_open)
		return rc;
	s->runs_open = false;
	as_series_close(&s->runs);
	as_dir_close(&s->kept);
	return s->counter->close(s->counter->ctx, rc, err);
}

/* The first that come are kept: those after them are what the engine met itself. */
static void take_known(struct as_service *s)
{
	if (s->known || !s->call->known)
		return;
	s->known = s->call->known;
	s->call->known = NULL;
	s->filter = as_known_filter(s->known, &s->wire, false);
}

int as_service_run(struct as_service *s, struct as_err *err)
{
	const struct as_wire_call *call = s->call;
	struct as_work left = call->work;
	int rc = 0;

	take_known(s);
	if (!s->runs_open)
		rc = open_runs(s, err);
	while (left.n && !rc && !s->unheard) {
		struct as_wire_event done = { .kind = call->together ? AS_WIRE_BATCH
								     : AS_WIRE_WORKLOAD };

		s->state->job = (int64_t)(call->work.n - left.n);
		rc = as_series_run(&s->runs, call->target, call->options.size_bytes, &left,
				   &done.result, err);
		if (!rc)
			as_service_say(s, &done);
		if (!rc)
			rc = as_service_kept_failed(s, err);
		left.seqs += done.result.workloads;
		left.names += done.result.workloads;
		left.n -= done.result.workloads;
	}
	return rc;
}
