/* SPDX-License-Identifier: GPL-2.0-or-later */
/* readme: see readme.h. */
#include "dossier/readme.h"

#include "base/buf.h"
#include "base/show.h"
#include "dossier/letter/words.h"
#include "dossier/page.h"
#include "dossier/recipe.h"
#include "dossier/stored.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_LINES 40 /* lines of a workload */

/* Adds the options without which it is no finding: " --max-heap 4096". */
static void add_bounds(const struct as_stored *stored, struct as_buf *line)
{
	const struct as_finding *f = &stored->finding;
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
	if (stored->layout)
		as_buf_adds(line, " --layout " AS_LAYOUT_NAME);
}

/* "assay run --target 'T' --scenario 'race:seed=7' workload.txt" */
static void add_command(const struct as_stored *stored, struct as_buf *out)
{
	const struct as_finding *f = &stored->finding;
	const char *word = f->options ? strstr(f->options, "scenario=") : NULL;
	struct as_buf line = { 0 }, scenario = { 0 };
	char kernel[AS_KERNEL_NAME_MAX];

	as_buf_adds(&line, "assay run --target ");
	as_buf_add_word(&line, f->target);
	if (as_finding_is_on_host(f))
		as_buf_adds(&line, " --sandbox host");
	if (as_finding_kernel(f, kernel))
		as_buf_addf(&line, " --kernel %s", kernel);
	add_bounds(stored, &line);
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
static void describe(const struct as_stored *stored, struct as_buf *t)
{
	const struct as_finding *f = &stored->finding;
	const char *id = stored->finding.id;

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
		    "To reproduce it: `assay replay %s%s` (or give it this folder).\n\n"
		    "- `workload.txt`: the operations; ",
		    as_finding_is_on_host(f) ? "--sandbox host " : "", id);
	add_command(stored, t);
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
		    stored->finding.has_disk ? "- `disk.img.zst`: the disk at that moment; "
					       "`assay disk export disk.img.zst RAW`\n"
					     : "");
	if (stored->layout)
		as_buf_adds(t, "- `" AS_LAYOUT_NAME "`: the description of the disk's fields\n");
}

static uint64_t number_of(const json_t *reduced, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(reduced, key));

	return n < 0 ? 0 : (uint64_t)n;
}

static void describe_reduced(const struct as_stored *stored, struct as_buf *out)
{
	const json_t *r = json_object_get(stored->finding.own, "reduced");
	const char *summary = as_stored_shows(stored);
	const char *detail = json_string_value(json_object_get(r, "detail"));
	uint64_t ops = number_of(r, "ops"), runs = number_of(r, "runs"),
		 executions = number_of(r, "executions");

	as_buf_addf(out,
		    "\n## Reduced\n\n`" AS_REDUCED_NAME "` has %llu operation%s where "
		    "`workload.txt` has %llu, and fails in the same way",
		    (unsigned long long)ops, as_plural(ops),
		    (unsigned long long)number_of(r, "ops_before"));
	if (runs)
		as_buf_addf(out, ", in %llu of %llu runs",
			    (unsigned long long)number_of(r, "failed"), (unsigned long long)runs);
	as_buf_addf(out,
		    "%s. It took %llu executions%s. `repro.c` is made from it, and `assay "
		    "replay` runs it (`--original`: the other).\n",
		    json_is_true(json_object_get(r, "flaky")) ? ": it is flaky" : "",
		    (unsigned long long)executions,
		    json_is_true(json_object_get(r, "complete"))
			    ? ""
			    : ", and was ended before everything had been tried");
	if (ops <= SHOWN_LINES) {
		as_buf_addc(out, '\n');
		as_page_block(out, stored->reduced);
	}
	if (summary) {
		as_buf_adds(out, "\nWhat it shows:\n\n    ");
		as_show(out, summary);
		as_buf_addc(out, '\n');
	}
	if (summary && detail && *detail) {
		as_buf_addc(out, '\n');
		as_page_block(out, detail);
	}
}

void as_readme_print(const struct as_letter *l)
{
	describe(&l->stored, l->out);
	if (l->stored.reduced)
		describe_reduced(&l->stored, l->out);
}
