/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runs: workloads, which a scenario runs and judges as the job says. */
#include "guest/service_priv.h"

#include "base/array.h"
#include "check/check.h"
#include "work/parse.h"

#include <stdlib.h>
#include <string.h>

static void say_result(void *ctx, const struct as_series_job *first, size_t done,
		       const struct as_run_result *result)
{
	struct as_service *s = ctx;

	(void)first;
	as_service_say(s, &(struct as_wire_event){ .kind = s->job.together ? AS_WIRE_BATCH
									   : AS_WIRE_WORKLOAD,
						   .done = done,
						   .result = *result });
}

static int find_scenario(struct as_service *s, struct as_err *err)
{
	const char *scenario = s->job.options.scenario;
	struct as_series *r = &s->runs;

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

int as_service_runs_open(struct as_service *s, struct as_err *err)
{
	struct as_series *r = &s->runs;
	int rc;

	r->options = s->job.options;
	if (!r->options.deadline_ms)
		r->options.deadline_ms = AS_RUN_DEADLINE_MS;
	r->options.state = s->state;
	r->together = s->job.together;
	r->told = say_result;
	r->sinks = &s->wire;
	r->ctx = s;
	rc = find_scenario(s, err);
	if (!rc)
		rc = s->counter->open(s->counter->ctx, &s->job, &r->options.watch, err);
	if (!rc && s->job.known)
		rc = as_series_known(r, s->job.known, err);
	return rc;
}

void as_service_runs_close(struct as_service *s)
{
	as_series_close(&s->runs);
}

/* ---- Workloads ------------------------------------------------------------------------------- */

struct series_reading {
	struct as_series_job *jobs;
	size_t n, cap;
	const struct as_service *s;
	const struct as_wire_item *item;
};

static int take(void *ctx, struct as_seq *seq)
{
	struct series_reading *r = ctx;
	struct as_series_job *job;

	AS_ARRAY_ROOM(r->jobs, r->n, r->cap);
	job = &r->jobs[r->n++];
	*job = (struct as_series_job){ .path = r->item->path,
				       .name = r->item->name,
				       .seq = seq,
				       .size_bytes = r->s->job.options.size_bytes };
	as_buf_adds(&job->spec, r->s->job.target);
	return 0;
}

/* The workloads that stand one after the other; *at goes on after them. */
static int read_jobs(struct series_reading *r, const struct as_wire_work *work, size_t *at,
		     struct as_err *err)
{
	int rc = 0;

	while (*at < work->n && work->items[*at].request == AS_WIRE_RUN && !rc) {
		r->item = &work->items[(*at)++];
		rc = as_parse_many(r->item->path, take, r, err);
	}
	return rc;
}

int as_service_run(struct as_service *s, const struct as_wire_work *work, size_t *at,
		   struct as_err *err)
{
	struct series_reading r = { .s = s };
	size_t first = *at, i = 0;
	int rc = read_jobs(&r, work, at, err);

	while (i < r.n && !rc && !s->unheard) {
		s->state->job = (int64_t)(first + i);
		rc = as_series_next(&s->runs, r.jobs, r.n, &i, &s->stats, err);
		if (!rc)
			rc = as_service_kept_failed(s, err);
	}
	for (i = 0; i < r.n; i++) {
		as_seq_free(r.jobs[i].seq);
		as_buf_free(&r.jobs[i].spec);
	}
	free(r.jobs);
	return rc;
}
