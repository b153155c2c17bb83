/* SPDX-License-Identifier: GPL-2.0-or-later */
/* readme: see readme.h. */
#include "dossier/readme.h"

#include "base/buf.h"
#include "base/show.h"
#include "dossier/letter/words.h"
#include "dossier/page.h"
#include "dossier/recipe.h"
#include "dossier/stored.h"

#include <stdlib.h>
#include <string.h>

#define README_MAX_BYTES ((size_t)64 << 20)
#define README_NAME "README.md"
#define SHOWN_LINES 40 /* lines of a workload */
#define HEADING "\n## Reduced\n"
#define AGAIN "To reproduce it: " /* begins the last part of what is written first */

/* Adds the options without which it is no finding: " --max-heap 4096". */
static void add_bounds(const struct as_finding *f, struct as_buf *line)
{
	static const char *const bounds[][2] = { { " max_heap=", " --max-heap " },
						 { " max_stack=", " --max-stack " } };

	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		const char *at = f->options ? strstr(f->options, bounds[i][0]) : NULL;

		if (at)
			as_buf_addf(line, "%s%llu", bounds[i][1],
				    strtoull(at + strlen(bounds[i][0]), NULL, 10));
	}
	if (f->options && strstr(f->options, " corrupt="))
		as_buf_adds(line, " --corrupt bits");
	if (f->options && strstr(f->options, " fields="))
		as_buf_adds(line, " --corrupt fields");
	if (f->layout)
		as_buf_adds(line, " --layout " AS_LAYOUT_NAME);
}

/* "assay run --target 'T' --scenario 'race:seed=7' workload.txt" */
static void add_command(const struct as_finding *f, struct as_buf *out)
{
	const char *word = f->options ? strstr(f->options, "scenario=") : NULL;
	struct as_buf line = { 0 }, scenario = { 0 };
	char kernel[AS_KERNEL_NAME_MAX];

	as_buf_adds(&line, "assay run --target ");
	as_buf_add_word(&line, f->target);
	if (as_finding_is_on_host(f))
		as_buf_adds(&line, " --sandbox host");
	if (as_finding_kernel(f, kernel))
		as_buf_addf(&line, " --kernel %s", kernel);
	add_bounds(f, &line);
	if (word) {
		as_buf_add(&scenario, word + 9, strcspn(word + 9, " "));
		as_buf_adds(&line, " --scenario ");
		as_buf_add_word(&line, as_buf_str(&scenario));
	}
	as_buf_adds(&line, " workload.txt");
	as_page_code(out, as_buf_str(&line));
	as_buf_free(&line);
	as_buf_free(&scenario);
}

/* Texts from outside (names, logs, the target) are quoted, so that they cannot look like text of
 * the page. */
static void describe(const struct as_finding *f, const char *id, struct as_buf *t)
{
	as_buf_addf(t, "# %s\n\n%s\n\n    ", id, as_kind_meaning(f->kind));
	as_show(t, f->summary);
	as_buf_adds(t, "\n\nTarget ");
	as_page_code(t, f->target);
	as_buf_adds(t, ", workload ");
	as_page_code(t, f->workload_name ? f->workload_name : "-");
	as_buf_adds(t, ", run with ");
	as_page_code(t, f->options ? f->options : "");
	as_buf_adds(t, ".\n\n");
	if (f->detail && *f->detail) {
		as_buf_adds(t, "The last operations and their answers:\n\n");
		as_page_block(t, f->detail);
		as_buf_addc(t, '\n');
	}
	if (f->log && *f->log) {
		as_buf_adds(t, "What the target logged:\n\n");
		as_page_block(t, f->log);
		as_buf_addc(t, '\n');
	}
	as_buf_addf(t,
		    AGAIN "`assay replay %s%s` (or give it this folder).\n\n"
			  "- `workload.txt`: the operations; ",
		    as_finding_is_on_host(f) ? "--sandbox host " : "", id);
	add_command(f, t);
	as_buf_addf(t, "\n- `repro.c`: the same as a C program%s: ",
		    f->kind == AS_FIND_RACE ? ", of one thread" : "");
	if (as_recipe_is_library(f->target))
		as_buf_adds(t, "linked with the file system it needs no assay; its first lines say "
			       "how to compile it\n");
	else
		as_buf_adds(t, "`cc repro.c -o repro && ./repro DIRECTORY`\n");
	as_buf_addf(t,
		    "- `repro.sh`: makes a disk of its own, does it again by plain means, and says "
		    "REPRODUCED or NOT REPRODUCED\n"
		    "- `finding.json`: all of this for programs\n%s",
		    f->disk ? "- `disk.img.zst`: the disk at that moment; "
			      "`assay disk export disk.img.zst RAW`\n"
			    : "");
	if (f->layout)
		as_buf_adds(t, "- `" AS_LAYOUT_NAME "`: the description of the disk's fields\n");
}

int as_readme_write(const struct as_dir *dir, const struct as_finding *f, const char *id,
		    struct as_err *err)
{
	struct as_buf t = { 0 };
	int rc;

	describe(f, id, &t);
	rc = as_dir_write(dir, README_NAME, &t, err);
	as_buf_free(&t);
	return rc;
}

/* ---- Reduced --------------------------------------------------------------------------------- */

static void describe_reduced(const struct as_stored_reduction *r, struct as_buf *out)
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

/* The end of the part that as_readme_write() writes. Quoted texts before it, such as a log, may
 * hold the same line, but the last one is ours. */
static const char *end_of_found(const char *text)
{
	const char *next;

	while ((next = strstr(text, "\n" AGAIN)))
		text = next + 1;
	return text;
}

int as_readme_reduced(const struct as_dir *dir, const struct as_stored_reduction *r,
		      struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc = as_dir_read(dir, README_NAME, README_MAX_BYTES, &text, err);
	const char *old;

	if (!rc) {
		old = strstr(end_of_found(as_buf_str(&text)), HEADING);
		if (old)
			text.len = (size_t)(old - text.data);
		describe_reduced(r, &text);
		rc = as_dir_write(dir, README_NAME, &text, err);
	}
	as_buf_free(&text);
	return rc;
}
