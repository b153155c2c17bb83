/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reduced: puts a reduced workload beside the one that was found: workload.reduced.txt, repro.c
 * anew, a last section of README.md, and "reduced" in finding.json, which is written last:
 * without it the rest is not believed.
 */
#include "report/sinks.h"

#include "base/buf.h"
#include "report/page.h"
#include "work/emit_c.h"
#include "work/parse.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define README_MAX_BYTES ((size_t)64 << 20)
#define SHOWN_LINES 40 /* of a workload in README.md */
#define HEADING "\n## Reduced\n"

static int write_repro(const char *path, const struct as_stored_reduction *r, struct as_err *err)
{
	struct as_buf text = { 0 };
	struct as_seq *seq = NULL;
	int rc = as_parse_text(AS_REDUCED_NAME, r->workload, strlen(r->workload), &seq, err);

	if (!rc) {
		as_emit_c(seq, NULL, &text);
		rc = as_buf_write_file(&text, path, err);
	}
	as_seq_free(seq);
	as_buf_free(&text);
	return rc;
}

static void describe(const struct as_stored_reduction *r, struct as_buf *out)
{
	as_buf_addf(out,
		    HEADING "\n`" AS_REDUCED_NAME "` has %llu operations where `workload.txt` has "
			    "%llu, and fails in the same way",
		    (unsigned long long)r->ops_after, (unsigned long long)r->ops_before);
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

static int rewrite_readme(const char *path, const struct as_stored_reduction *r, struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc = as_buf_read_file(&text, path, README_MAX_BYTES, err);
	const char *old;

	if (!rc) {
		old = strstr(end_of_found(as_buf_str(&text)), HEADING);
		if (old)
			text.len = (size_t)(old - text.data);
		describe(r, &text);
		rc = as_buf_write_file(&text, path, err);
	}
	as_buf_free(&text);
	return rc;
}

static int rewrite_json(const char *path, const struct as_stored_reduction *r, struct as_err *err)
{
	json_error_t where;
	json_t *root = json_load_file(path, 0, &where);
	struct as_buf text = { 0 };
	char *dump;
	int rc;

	if (!json_is_object(root)) {
		json_decref(root);
		return as_fail(err, AS_EUSE, "%s: not a finding", path);
	}
	json_object_set_new(root, "reduced",
			    json_pack("{s:s, s:I, s:I, s:I, s:i, s:i, s:b, s:b, s:f}", "workload",
				      AS_REDUCED_NAME, "ops_before", (json_int_t)r->ops_before,
				      "ops", (json_int_t)r->ops_after, "executions",
				      (json_int_t)r->executions, "runs", (int)r->runs, "failed",
				      (int)r->failed, "flaky", r->flaky, "complete", r->complete,
				      "seconds", r->seconds));
	dump = json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII);
	as_buf_addf(&text, "%s\n", dump);
	rc = as_buf_write_file(&text, path, err);
	free(dump);
	json_decref(root);
	as_buf_free(&text);
	return rc;
}

int as_stored_set_reduced(const char *folder, const struct as_stored_reduction *r,
			  struct as_err *err)
{
	struct as_buf path = { 0 }, text = { 0 };
	size_t base;
	int rc;

	as_buf_addf(&path, "%s/", folder);
	base = path.len;
	as_buf_adds(&text, r->workload);
#define AT(name) (path.len = base, as_buf_adds(&path, name), as_buf_str(&path))
	rc = as_buf_write_file(&text, AT(AS_REDUCED_NAME), err);
	if (!rc)
		rc = write_repro(AT("repro.c"), r, err);
	if (!rc)
		rc = rewrite_readme(AT("README.md"), r, err);
	if (!rc)
		rc = rewrite_json(AT("finding.json"), r, err);
#undef AT
	as_buf_free(&path);
	as_buf_free(&text);
	return rc;
}
