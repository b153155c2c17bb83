/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reduced: puts a reduced workload beside the one that was found: workload.reduced.txt, repro.c
 * anew, a last section of README.md, and "reduced" in finding.json, which is written last:
 * without it the rest is not believed.
 */
#include "report/sinks.h"

#include "base/buf.h"
#include "base/show.h"
#include "report/page.h"
#include "report/stored_change.h"
#include "work/emit_c.h"
#include "work/parse.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define README_MAX_BYTES ((size_t)64 << 20)
#define README_NAME "README.md"
#define SHOWN_LINES 40 /* of a workload in README.md */
#define HEADING "\n## Reduced\n"

static int write_repro(const struct as_dir *dir, const struct as_stored_reduction *r,
		       struct as_err *err)
{
	struct as_buf text = { 0 };
	struct as_seq *seq = NULL;
	int rc = as_parse_text(AS_REDUCED_NAME, r->workload, strlen(r->workload), &seq, err);

	if (!rc) {
		as_emit_c(seq, NULL, &text);
		rc = as_dir_write(dir, "repro.c", &text, err);
	}
	as_seq_free(seq);
	as_buf_free(&text);
	return rc;
}

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
}

/* Where the part that store.c writes ends. What is quoted before, a log for one, may hold anything,
 * but the last of these lines is ours. */
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

static void change_reduced(json_t *root, void *ctx)
{
	const struct as_stored_reduction *r = ctx;

	json_object_set_new(root, "reduced",
			    json_pack("{s:s, s:I, s:I, s:I, s:i, s:i, s:b, s:b, s:f}", "workload",
				      AS_REDUCED_NAME, "ops_before", (json_int_t)r->ops_before,
				      "ops", (json_int_t)r->ops_after, "executions",
				      (json_int_t)r->executions, "runs", (int)r->runs, "failed",
				      (int)r->failed, "flaky", r->flaky, "complete", r->complete,
				      "seconds", r->seconds));
}

int as_stored_set_reduced(const struct as_dir *dir, const struct as_stored_reduction *r,
			  struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc;

	as_buf_adds(&text, r->workload);
	rc = as_dir_write(dir, AS_REDUCED_NAME, &text, err);
	if (!rc)
		rc = write_repro(dir, r, err);
	if (!rc)
		rc = rewrite_readme(dir, r, err);
	if (!rc)
		rc = as_stored_change(dir, change_reduced, (void *)r, err);
	as_buf_free(&text);
	return rc;
}
