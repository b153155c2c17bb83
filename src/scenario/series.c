/* SPDX-License-Identifier: GPL-2.0-or-later */
/* series: see series.h. */
#include "scenario/series.h"

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

/* Files with the same target share its fresh disk. */
static int get_ready(struct as_series *r, const char *spec, uint64_t size_bytes, struct as_err *err)
{
	const struct as_target *targets[1];
	struct as_scenario_args args = { .targets = targets,
					 .n_targets = 1,
					 .options = &r->options,
					 .params = r->params,
					 .sinks = r->sinks };
	int rc;

	if (r->open && r->size_bytes == size_bytes && r->sweep == r->options.sweep &&
	    !strcmp(as_buf_str(&r->spec), spec))
		return 0;
	if (r->leaves)
		r->leaves(r);
	unload(r);
	rc = as_target_open(spec, &r->target, err);
	if (rc)
		return rc;
	r->options.size_bytes = r->size_bytes = size_bytes;
	r->sweep = r->options.sweep;
	as_buf_adds(&r->spec, spec);
	targets[0] = r->target;
	return r->scenario->open(&args, &r->open, err);
}

int as_series_run(struct as_series *r, const char *spec, uint64_t size_bytes,
		  const struct as_work *work, struct as_run_result *result, struct as_err *err)
{
	struct as_work some = *work;
	int rc = get_ready(r, spec, size_bytes, err);

	*result = (struct as_run_result){ 0 };
	if (!r->together || !r->scenario->in_step)
		some.n = 1;
	if (!rc)
		rc = r->scenario->run(r->open, &some, result, err);
	if (rc)
		result->workloads = 0;
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
