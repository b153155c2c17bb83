/* SPDX-License-Identifier: GPL-2.0-or-later */
/* markdown: see markdown.h. Hosts limit comments to 64 KiB, so that only the first findings are
 * listed, and only short workloads are shown. */
#include "report/markdown.h"

#include "base/show.h"
#include "dossier/letter/words.h"
#include "dossier/page.h"

#include <jansson.h>
#include <string.h>

#define LISTED_MAX 50
#define TOLD_MAX 10
#define WORKLOAD_BYTES_MAX 2000

static const char *text_of(const json_t *finding, const char *key)
{
	const char *text = json_string_value(json_object_get(finding, key));

	return text ? text : "";
}

/* In a table a bar ends a cell, also between backticks. */
static void put_cell(struct as_buf *out, const char *text)
{
	struct as_buf code = { 0 };

	as_page_code(&code, text);
	as_buf_adds(out, " ");
	for (const char *s = as_buf_str(&code); *s; s++) {
		if (*s == '|')
			as_buf_addc(out, '\\');
		as_buf_addc(out, *s);
	}
	as_buf_adds(out, " |");
	as_buf_free(&code);
}

static void put_row(const json_t *f, struct as_buf *out)
{
	as_buf_addc(out, '|');
	put_cell(out, text_of(f, "id"));
	put_cell(out, text_of(f, "target"));
	put_cell(out, text_of(f, "summary"));
	as_buf_addf(out, " %lld |\n", (long long)json_integer_value(json_object_get(f, "count")));
}

static void put_story(const json_t *f, struct as_buf *out)
{
	const char *reduced = text_of(f, "reduced"), *kind = text_of(f, "kind");
	const char *workload = *reduced ? reduced : text_of(f, "workload");
	int known = as_finding_kind_parse(kind);

	as_buf_adds(out, "\n<details><summary>");
	/* An id has no character that HTML would take for markup (as_finding_is_id). */
	as_buf_addf(out, "%s</summary>\n\n", text_of(f, "id"));
	if (known >= 0)
		as_buf_addf(out, "%s\n\n", as_kind_meaning((enum as_finding_kind)known));
	as_page_block(out, text_of(f, "summary"));
	if (*workload && strlen(workload) <= WORKLOAD_BYTES_MAX) {
		as_buf_addf(out, "\n%s:\n\n", *reduced ? "The reduced workload" : "The workload");
		as_page_block(out, workload);
	}
	as_buf_addf(out, "\nAgain: `assay replay %s`\n\n</details>\n", text_of(f, "id"));
}

/* *root is to be given back with json_decref(); *findings is a part of it. */
static int parse(const struct as_buf *json, json_t **root, json_t **findings, struct as_err *err)
{
	*root = json_loadb(as_buf_str(json), json->len, 0, NULL);
	*findings = json_object_get(*root, "findings");
	return *root ? 0 : as_fail(err, AS_EUSE, "the data of the report cannot be read");
}

int as_report_markdown(const struct as_buf *json, size_t damaged, struct as_buf *out,
		       struct as_err *err)
{
	json_t *root, *findings, *f;
	int rc = parse(json, &root, &findings, err);
	size_t i, n = json_array_size(findings);

	if (rc)
		return rc;
	as_buf_addf(out, "## assay: %zu finding%s\n\n", n, as_plural(n));
	if (damaged)
		as_buf_addf(out, "**%zu more could not be read.**\n\n", damaged);
	if (!n && !damaged)
		as_buf_adds(out, "Nothing was found.\n");
	else if (n)
		as_buf_adds(out, "| finding | file system | what | met |\n|---|---|---|---|\n");
	json_array_foreach(findings, i, f) if (i < LISTED_MAX) put_row(f, out);
	if (n > LISTED_MAX)
		as_buf_addf(out, "\nand %zu more.\n", n - LISTED_MAX);
	json_array_foreach(findings, i, f) if (i < TOLD_MAX) put_story(f, out);
	json_decref(root);
	return 0;
}

/* A description of TAP: '#' would begin a directive (such as "# SKIP"). */
static void put_description(struct as_buf *out, const char *text)
{
	struct as_buf shown = { 0 };

	as_show(&shown, text);
	for (const char *s = as_buf_str(&shown); *s; s++)
		if (*s == '#')
			as_buf_adds(out, "\\#");
		else
			as_buf_addc(out, *s);
	as_buf_free(&shown);
}

int as_report_tap(const struct as_buf *json, size_t damaged, struct as_buf *out, struct as_err *err)
{
	json_t *root, *findings, *f;
	int rc = parse(json, &root, &findings, err);
	size_t i, n = json_array_size(findings);

	if (rc)
		return rc;
	as_buf_addf(out, "TAP version 13\n1..%zu\n", n || damaged ? n + !!damaged : 1);
	if (!n && !damaged)
		as_buf_adds(out, "ok 1 - nothing was found\n");
	json_array_foreach(findings, i, f)
	{
		as_buf_addf(out, "not ok %zu - %s: ", i + 1, text_of(f, "id"));
		put_description(out, text_of(f, "summary"));
		as_buf_addc(out, '\n');
	}
	if (damaged)
		as_buf_addf(out, "not ok %zu - %zu finding%s could not be read\n", n + 1, damaged,
			    as_plural(damaged));
	json_decref(root);
	return 0;
}
