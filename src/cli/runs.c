/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runs: see runs.h. */
#include "cli/runs.h"

#include "base/json.h"
#include "cli/boxes.h"
#include "cli/stopping.h"
#include "disk/flash_wear.h"
#include "host/usage.h"
#include "run/result.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN_MAX_BYTES ((size_t)64 << 20)

void as_cli_usage_say(const struct as_target *target, bool json, struct as_sink *sinks)
{
	const struct as_usage *usage = target ? as_target_usage(target) : NULL;
	struct as_buf text = { 0 };
	struct as_json j = as_json_on(&text);

	if (!usage)
		return;
	if (json && (usage->measured[AS_RESOURCE_HEAP] || usage->measured[AS_RESOURCE_STACK])) {
		as_json_object(&j);
		as_json_kstr(&j, "event", "usage");
		as_json_kstr(&j, "target", as_target_spec(target));
		as_usage_json(usage, &j);
		as_json_end(&j);
		printf("%s\n", as_buf_str(&text));
		fflush(stdout);
	} else if (!json) {
		as_usage_print(usage, &text);
		if (text.len)
			as_emit_note(sinks, "%s: at most %s", as_target_spec(target),
				     as_buf_str(&text));
	}
	as_buf_free(&text);
}

void as_cli_wear_say(const struct as_target *target, bool named, bool json, struct as_sink *sinks)
{
	const struct as_wear *wear = target ? as_target_wear(target) : NULL;
	struct as_buf text = { 0 };
	struct as_json j = as_json_on(&text);

	if (!wear)
		return;
	if (json) {
		as_json_object(&j);
		as_json_kstr(&j, "event", "wear");
		as_json_kstr(&j, "target", as_target_spec(target));
		as_wear_json(wear, &j);
		as_json_end(&j);
		printf("%s\n", as_buf_str(&text));
		fflush(stdout);
	} else {
		if (named)
			as_buf_addf(&text, "%s: ", as_target_spec(target));
		as_wear_print(wear, &text);
		as_emit_note(sinks, "%s", as_buf_str(&text));
	}
	as_buf_free(&text);
}

void as_cli_runs_say(struct as_cli_runs *r)
{
	as_cli_usage_say(r->target, r->json, r->sinks);
}

static void unload(struct as_cli_runs *r)
{
	if (r->open)
		r->scenario->close(r->open);
	as_target_free(r->target);
	r->open = NULL;
	r->target = NULL;
	as_buf_clear(&r->spec);
}

/* Files with the same target share its fresh disk. */
static int get_ready(struct as_cli_runs *r, const struct as_cli_job *job, struct as_err *err)
{
	const struct as_target *targets[1];
	struct as_scenario_args args = { .targets = targets,
					 .n_targets = 1,
					 .options = &r->options,
					 .params = r->params,
					 .sinks = r->sinks };
	int rc;

	if (r->open && r->size_bytes == job->size_bytes && r->sweep == r->options.sweep &&
	    !strcmp(as_buf_str(&r->spec), as_buf_str(&job->spec)))
		return 0;
	as_cli_runs_say(r);
	unload(r);
	rc = as_target_open(as_buf_str(&job->spec), &r->target, err);
	if (rc)
		return rc;
	r->options.size_bytes = r->size_bytes = job->size_bytes;
	r->sweep = r->options.sweep;
	as_buf_adds(&r->spec, as_buf_str(&job->spec));
	targets[0] = r->target;
	return r->scenario->open(&args, &r->open, err);
}

bool as_cli_has_swept(const struct as_run_result *r)
{
	return r->points;
}

int as_cli_runs_next(struct as_cli_runs *r, const struct as_cli_jobs *all, size_t *first,
		     struct as_run_stats *stats, struct as_err *err)
{
	const struct as_cli_job *job = &all->jobs[*first];
	const struct as_seq **seqs = as_xcalloc(all->n, sizeof(*seqs));
	const char **names = as_xcalloc(all->n, sizeof(*names));
	struct as_scenario_work work = { seqs, names, 0 };
	struct as_run_result result = { 0 };
	size_t done = 0;
	int rc;

	for (size_t i = *first; i < all->n && as_cli_jobs_alike(job, &all->jobs[i]) &&
				((r->together && r->scenario->in_step) || !work.n);
	     i++) {
		seqs[work.n] = all->jobs[i].seq;
		names[work.n++] = all->jobs[i].name;
	}
	/* An engine is ended by its supervisor. */
	if (r->options.state)
		r->options.state->job = (int64_t)*first;
	else
		r->options.stop = as_cli_stop_catch();
	rc = get_ready(r, job, err);
	if (!rc)
		rc = r->scenario->run(r->open, &work, &done, &result, err);
	if (!rc)
		r->told(r->ctx, job, done, &result);
	r->swept |= as_cli_has_swept(&result);
	*first += done;
	as_run_stats_add(stats, rc ? 0 : done, &result);
	free(seqs);
	free(names);
	return rc;
}

int as_cli_runs_known(struct as_cli_runs *r, const char *path, struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc;

	r->known = as_known_new();
	r->filter = as_known_filter(r->known, r->sinks, false);
	r->sinks = &r->filter.sink;
	rc = as_buf_read_file(&text, path, KNOWN_MAX_BYTES, err);
	if (!rc)
		rc = as_known_parse(r->known, path, as_buf_str(&text), err);
	as_buf_free(&text);
	return rc;
}

void as_cli_runs_close(struct as_cli_runs *r)
{
	unload(r);
	as_buf_free(&r->spec);
	as_known_free(r->known);
	as_box_state_close(r->options.state);
}
