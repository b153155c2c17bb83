/* SPDX-License-Identifier: GPL-2.0-or-later */
/* series: see series.h. */
#include "scenario/series.h"

#include "run/result.h"
#include "target/target.h"

#include <stdlib.h>
#include <string.h>

#define KNOWN_MAX_BYTES ((size_t)64 << 20)

static void unload(struct as_series *r)
{
	if (r->open)
		r->scenario->close(r->open);
	as_target_free(r->target);
	r->open = NULL;
	r->target = NULL;
	as_buf_clear(&r->spec);
}

bool as_series_alike(const struct as_series_job *a, const struct as_series_job *b)
{
	return a->size_bytes == b->size_bytes &&
	       !strcmp(as_buf_str(&a->spec), as_buf_str(&b->spec));
}

/* Files with the same target share its fresh disk. */
static int get_ready(struct as_series *r, const struct as_series_job *job, struct as_err *err)
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
	if (r->leaves)
		r->leaves(r);
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

bool as_run_has_swept(const struct as_run_result *r)
{
	return r->points;
}

int as_series_next(struct as_series *r, const struct as_series_job *jobs, size_t n, size_t *first,
		  struct as_run_stats *stats, struct as_err *err)
{
	const struct as_series_job *job = &jobs[*first];
	const struct as_seq **seqs = as_xcalloc(n, sizeof(*seqs));
	const char **names = as_xcalloc(n, sizeof(*names));
	struct as_scenario_work work = { seqs, names, 0 };
	struct as_run_result result = { 0 };
	size_t done = 0;
	int rc;

	for (size_t i = *first; i < n && as_series_alike(job, &jobs[i]) &&
				((r->together && r->scenario->in_step) || !work.n);
	     i++) {
		seqs[work.n] = jobs[i].seq;
		names[work.n++] = jobs[i].name;
	}
	rc = get_ready(r, job, err);
	if (!rc)
		rc = r->scenario->run(r->open, &work, &done, &result, err);
	if (!rc)
		r->told(r->ctx, job, done, &result);
	r->swept |= as_run_has_swept(&result);
	*first += done;
	as_run_stats_add(stats, rc ? 0 : done, &result);
	free(seqs);
	free(names);
	return rc;
}

int as_series_known(struct as_series *r, const char *path, struct as_err *err)
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

void as_series_close(struct as_series *r)
{
	unload(r);
	as_buf_free(&r->spec);
	as_known_free(r->known);
}
