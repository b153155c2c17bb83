/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reduced: adds a reduced workload to the folder of a finding: workload.reduced.txt, a new repro.c,
 * a last section of README.md, and "reduced" in finding.json. Without the last one, a reader
 * ignores the rest. report.txt is made anew of all of them.
 */
#include "report/sinks.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/show.h"
#include "report/mail/mail.h"
#include "report/page.h"
#include "report/script.h"
#include "report/store_priv.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define README_MAX_BYTES ((size_t)64 << 20)
#define README_NAME "README.md"
#define SHOWN_LINES 40 /* lines of a workload shown in README.md */
#define HEADING "\n## Reduced\n"

static void describe(const struct as_stored_reduction *r, struct as_buf *out)
{
	as_buf_addf(out,
		    HEADING "\n`" AS_REDUCED_NAME "` has %llu operation%s where `workload.txt` has "
			    "%llu, and fails in the same way",
		    (unsigned long long)r->ops_after, as_plural(r->ops_after),
		    (unsigned long long)r->ops_before);
	if (r->runs)
		as_buf_addf(out, ", in %u of %u runs", r->failed, r->runs);
	as_buf_addf(out,
		    "%s. It took %llu executions%s. `repro.c` is made from it, and `assay "
		    "replay` runs it (`--original`: the other).\n",
		    r->flaky ? ": it is flaky" : "", (unsigned long long)r->executions,
		    r->complete ? "" : ", and was ended before everything had been tried");
	if (r->ops_after <= SHOWN_LINES) {
		as_buf_addc(out, '\n');
		as_page_block(out, r->workload);
	}
	if (r->summary) {
		as_buf_adds(out, "\nWhat it shows:\n\n    ");
		as_show(out, r->summary);
		as_buf_addc(out, '\n');
	}
	if (r->summary && r->detail && *r->detail) {
		as_buf_addc(out, '\n');
		as_page_block(out, r->detail);
	}
}

/* The end of the part that store.c writes. Quoted texts before it, such as a log, may hold the
 * same line, but the last one is ours. */
static const char *end_of_found(const char *text)
{
	const char *next;

	while ((next = strstr(text, "\nTo see it again: ")))
		text = next + 1;
	return text;
}

static int rewrite_readme(const struct as_dir *dir, const struct as_stored_reduction *r,
			  struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc = as_dir_read(dir, README_NAME, README_MAX_BYTES, &text, err);
	const char *old;

	if (!rc) {
		old = strstr(end_of_found(as_buf_str(&text)), HEADING);
		if (old)
			text.len = (size_t)(old - text.data);
		describe(r, &text);
		rc = as_dir_write(dir, README_NAME, &text, err);
	}
	as_buf_free(&text);
	return rc;
}

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
		rc = as_stored_repro(dir, AS_REDUCED_NAME, r->workload, err);
	if (!rc)
		rc = rewrite_readme(dir, r, err);
	if (!rc)
		rc = as_stored_change(dir, change_reduced, (void *)r, err);
	if (!rc)
		rc = as_script_write(dir, err);
	if (!rc)
		rc = as_mail_write(dir, err);
	as_buf_free(&text);
	return rc;
}

const char *as_stored_shows(const struct as_stored *stored)
{
	const json_t *reduced = json_object_get(stored->record.object, "reduced");

	return stored->reduced ? json_string_value(json_object_get(reduced, "summary")) : NULL;
}
