/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reduced: adds a reduced workload to the folder of a finding: workload.reduced.txt, a new repro.c,
 * a last section of README.md, and "reduced" in finding.json. Without the last one, a reader
 * ignores the rest. report.txt is made anew of all of them.
 */
#include "report/sinks.h"

#include "base/buf.h"
#include "base/json.h"
#include "dossier/dossier.h"
#include "dossier/program/emit_c.h"
#include "dossier/readme.h"
#include "dossier/stored.h"
#include "report/store_priv.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Any bytes, as the other texts of a finding have them (base/json.h). */
static json_t *text_of(const char *text)
{
	struct as_buf line = { 0 };
	struct as_json json = as_json_on(&line);
	json_t *value;

	as_json_str(&json, text);
	value = json_loadb(as_buf_str(&line), line.len, JSON_DECODE_ANY, NULL);
	as_buf_free(&line);
	return value;
}

static void change_reduced(json_t *root, void *ctx)
{
	const struct as_stored_reduction *r = ctx;

	json_t *reduced =
		json_pack("{s:s, s:I, s:I, s:I, s:i, s:i, s:b, s:b, s:f}", "workload",
			  AS_REDUCED_NAME, "ops_before", (json_int_t)r->ops_before, "ops",
			  (json_int_t)r->ops_after, "executions", (json_int_t)r->executions, "runs",
			  (int)r->runs, "failed", (int)r->failed, "flaky", r->flaky, "complete",
			  r->complete, "seconds", r->seconds);

	if (r->summary) {
		json_object_set_new(reduced, "summary", text_of(r->summary));
		json_object_set_new(reduced, "op", json_integer(r->op_index + 1));
		if (r->detail)
			json_object_set_new(reduced, "detail", text_of(r->detail));
		if (r->log)
			json_object_set_new(reduced, "log", text_of(r->log));
	}
	json_object_set_new(root, "reduced", reduced);
}

int as_stored_set_reduced(const struct as_dir *dir, const struct as_stored_reduction *r,
			  struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc;

	as_buf_adds(&text, r->workload);
	rc = as_dir_write(dir, AS_REDUCED_NAME, &text, err);
	if (!rc)
		rc = as_emit_c_write(dir, AS_REDUCED_NAME, r->workload, err);
	if (!rc)
		rc = as_readme_reduced(dir, r, err);
	if (!rc)
		rc = as_stored_change(dir, change_reduced, (void *)r, err);
	if (!rc)
		rc = as_dossier_tell(dir, false, err);
	as_buf_free(&text);
	return rc;
}
