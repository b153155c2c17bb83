/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cov_show: counts as tables for people, as JSON and as CSV; what is untested; the deviation. */
#include "base/json.h"
#include "cmd/cov/cov.h"
#include "cover/metric.h"

#include <stdlib.h>
#include <string.h>

#define NORMAL (1u << AS_SPACE_PLAIN | 1u << AS_SPACE_OUTPUT | 1u << AS_SPACE_VARIANTS)

/* ---- Tables ---------------------------------------------------------------------------------- */

static void cell(struct as_coverage c)
{
	if (c.of)
		printf("  %4llu of %-4llu %5.1f %%", (unsigned long long)c.met,
		       (unsigned long long)c.of, as_coverage_percent(c));
	else
		printf("  %20s", "");
}

static void table_row(const char *name, uint64_t calls, struct as_coverage in,
		      struct as_coverage out)
{
	printf("%-18s %12llu", name, (unsigned long long)calls);
	cell(in);
	cell(out);
	printf("\n");
}

static void show_families(const struct as_counts *counts, const struct as_spec *spec)
{
	struct as_coverage in, out;
	uint64_t calls = 0;

	printf("\n%-18s %12s  %-20s  %s\n", "call", "calls", "inputs met", "outputs met");
	for (unsigned i = 0; i < spec->n_families; i++) {
		const struct as_spec_family *family = &spec->families[i];

		as_coverage_family(counts, family, 1, &in, &out);
		table_row(family->name, as_counts_family(counts, family), in, out);
		calls += as_counts_family(counts, family);
	}
	as_coverage_family(counts, NULL, 1, &in, &out);
	table_row("all", calls, in, out);
}

static void show_space(const struct as_space *space)
{
	struct as_coverage c = as_coverage_space(space, 1);
	char title[64];

	printf("\n%s %s: %llu of %llu met (%.1f %%)\n", space->family->name,
	       as_cov_title(space, title), (unsigned long long)c.met, (unsigned long long)c.of,
	       as_coverage_percent(c));
	for (unsigned i = 0; i < space->n; i++) {
		const struct as_part *part = &space->parts[i];
		const char *mark = part->expected		    ? part->count ? "" : "untested"
				   : space->kind == AS_SPACE_OUTPUT ? "undocumented"
								    : "beyond";

		printf("  %-40s %14llu%s%s\n", part->name, (unsigned long long)part->count,
		       *mark ? "  " : "", mark);
	}
}

/* The paper's Table 1. */
static void show_together(const struct as_counts *counts, const struct as_space *space)
{
	const char *popular = as_space_favourite(space);

	if (!popular || !strcmp(popular, "0"))
		return;
	printf("\n%% of calls of %s with so many of %s together\n  %-24s", space->family->name,
	       space->arg->name, "");
	for (unsigned n = 1; n <= 6; n++)
		printf(" %6u", n);
	for (int row = 0; row < 2; row++) {
		uint64_t by_n[AS_SPEC_BITS + 1], all = 0;

		as_counts_together(counts, space->arg, row ? popular : NULL, by_n);
		for (unsigned n = 0; n <= AS_SPEC_BITS; n++)
			all += by_n[n];
		printf("\n  %-24s", row ? popular : "all");
		for (unsigned n = 1; n <= 6; n++)
			printf(" %6.1f", all ? 100.0 * (double)by_n[n] / (double)all : 0);
	}
	printf("\n");
}

static void count_missing(void *ctx, const char *name, uint64_t count)
{
	uint64_t *n = ctx;

	n[0]++;
	n[1] += !count;
	if (!count && n[1] <= 20)
		printf("  %s\n", name);
}

static void show_combinations(const struct as_counts *counts, const struct as_space *space,
			      unsigned t)
{
	uint64_t n[2] = { 0 };

	printf("\n%s %s: combinations of %u that were never used\n", space->family->name,
	       space->arg->name, t);
	as_counts_combinations(counts, space->arg, t, count_missing, n);
	printf("  %llu of %llu never used\n", (unsigned long long)n[1], (unsigned long long)n[0]);
}

static void show_text(const struct as_counts *counts, const struct as_spec *spec,
		      const struct as_args *args, const struct as_cov_choice *choice)
{
	unsigned t = (unsigned)as_args_number(args, "combine", 0);

	as_cov_print_notes(counts, args->operands[1]);
	if (!choice->family && !choice->arg && !as_args_has(args, "spaces")) {
		show_families(counts, spec);
		return;
	}
	for (unsigned i = 0; i < as_counts_spaces(counts); i++) {
		struct as_space space;

		as_counts_space(counts, i, &space);
		if (as_cov_chosen(choice, &space)) {
			show_space(&space);
			if (space.kind == AS_SPACE_PLAIN && space.arg->class == AS_CLASS_BITS) {
				show_together(counts, &space);
				if (t)
					show_combinations(counts, &space, t);
			}
		}
		as_space_free(&space);
	}
}

/* ---- For programs ---------------------------------------------------------------------------- */

static void show_csv(const struct as_counts *counts, const struct as_cov_choice *choice)
{
	char title[64];

	printf("call,space,partition,count,expected\n");
	for (unsigned i = 0; i < as_counts_spaces(counts); i++) {
		struct as_space space;

		as_counts_space(counts, i, &space);
		for (unsigned p = 0; p < space.n && as_cov_chosen(choice, &space); p++)
			printf("%s,%s,%s,%llu,%d\n", space.family->name,
			       as_cov_title(&space, title), space.parts[p].name,
			       (unsigned long long)space.parts[p].count, space.parts[p].expected);
		as_space_free(&space);
	}
}

static void json_space(struct as_json *json, const struct as_space *space)
{
	struct as_coverage c = as_coverage_space(space, 1);

	as_json_object(json);
	as_json_kstr(json, "call", space->family->name);
	if (space->arg)
		as_json_kstr(json, "arg", space->arg->name);
	as_json_kstr(json, "space", as_space_kind_name(space->kind));
	as_json_kuint(json, "met", c.met);
	as_json_kuint(json, "of", c.of);
	as_json_key(json, "partitions");
	as_json_array(json);
	for (unsigned i = 0; i < space->n; i++) {
		as_json_object(json);
		as_json_kstr(json, "name", space->parts[i].name);
		as_json_kuint(json, "count", space->parts[i].count);
		if (!space->parts[i].expected)
			as_json_kbool(json, "expected", false);
		as_json_end(json);
	}
	as_json_end(json);
	as_json_end(json);
}

/* The results of --fail-under and --baseline are part of it. */
static int show_json(const struct as_spec *spec, const struct as_counts *counts,
		     const struct as_args *args, const struct as_cov_choice *choice,
		     struct as_err *err)
{
	struct as_buf out = { 0 };
	struct as_json json = as_json_on(&out);
	int rc;

	as_json_object(&json);
	as_json_kstr(&json, "source", as_counts_get_source(counts));
	as_json_kstr(&json, "under", as_counts_get_under(counts));
	as_json_kstr(&json, "partial", as_counts_is_partial(counts));
	as_json_key(&json, "notes");
	as_json_object(&json);
	for (unsigned i = 0; i < AS_NOTES; i++)
		as_json_kuint(&json, as_cov_note_name((enum as_cov_note)i),
			      as_counts_noted(counts, (enum as_cov_note)i));
	as_json_end(&json);
	as_json_key(&json, "spaces");
	as_json_array(&json);
	for (unsigned i = 0; i < as_counts_spaces(counts); i++) {
		struct as_space space;

		as_counts_space(counts, i, &space);
		if (as_cov_chosen(choice, &space))
			json_space(&json, &space);
		as_space_free(&space);
	}
	as_json_end(&json);
	as_cov_warn(counts, args->operands[1], &json);
	rc = as_cov_judge(spec, counts, args, &json, err);
	as_json_end(&json);
	as_buf_addc(&out, '\n');
	if (rc >= 0)
		fwrite(as_buf_str(&out), 1, out.len, stdout);
	as_buf_free(&out);
	return rc;
}

int as_cov_show(const struct as_spec *spec, const struct as_args *args, struct as_err *err)
{
	struct as_counts *counts = NULL;
	struct as_cov_choice choice;
	bool machine = as_args_has(args, "json") || as_args_has(args, "csv");
	int rc = as_cov_choose(spec, args, machine ? ~0u : NORMAL, &choice, err);

	if (as_args_has(args, "svg") || as_args_has(args, "html"))
		return as_cov_figures(spec, args, err);
	if (!rc && args->n_operands > 2)
		rc = as_fail(
			err, AS_EUSE,
			"cov show: one file at a time, but for --svg and --html (see cov diff)");
	if (!rc)
		rc = as_cov_load(spec, args->operands[1], &counts, err);
	if (rc)
		return rc;
	if (as_args_has(args, "json"))
		rc = show_json(spec, counts, args, &choice, err);
	else if (as_args_has(args, "csv"))
		show_csv(counts, &choice);
	else
		show_text(counts, spec, args, &choice);
	if (!as_args_has(args, "json")) {
		as_cov_warn(counts, args->operands[1], NULL);
		rc = as_cov_judge(spec, counts, args, NULL, err);
	}
	as_counts_free(counts);
	return rc;
}

/* ---- The list to act on ---------------------------------------------------------------------- */

int as_cov_untested(const struct as_spec *spec, const struct as_args *args, struct as_err *err)
{
	uint64_t threshold = as_args_number(args, "threshold", 1);
	struct as_counts *counts = NULL;
	struct as_cov_choice choice;
	char title[64];
	int rc = as_cov_choose(spec, args, NORMAL, &choice, err);

	if (!rc)
		rc = as_cov_load(spec, args->operands[1], &counts, err);
	if (rc)
		return rc;
	for (unsigned i = 0; i < as_counts_spaces(counts); i++) {
		struct as_space space;

		as_counts_space(counts, i, &space);
		for (unsigned p = 0; p < space.n && as_cov_chosen(&choice, &space); p++)
			if (space.parts[p].expected && space.parts[p].count < threshold)
				printf("%s %s %s %llu\n", space.family->name,
				       as_cov_title(&space, title), space.parts[p].name,
				       (unsigned long long)space.parts[p].count);
		as_space_free(&space);
	}
	as_cov_warn(counts, args->operands[1], NULL);
	rc = as_cov_judge(spec, counts, args, NULL, err);
	as_counts_free(counts);
	return rc;
}

/* ---- The deviation --------------------------------------------------------------------------- */

static void tcd_row(const char *call, const char *space, const struct as_tcd *tcd, int n)
{
	double crossing;

	printf("%-18s %-18s %6llu", call, space, (unsigned long long)tcd[0].n);
	for (int i = 0; i < n; i++)
		printf("  %10.4f", as_tcd_value(&tcd[i]));
	if (n == 2 && as_tcd_crossing(&tcd[0], &tcd[1], &crossing))
		printf("  %14.4g", crossing);
	printf("\n");
}

static void show_tcd(struct as_counts *const *counts, int n, const struct as_targets *targets,
		     const struct as_cov_choice *choice)
{
	struct as_tcd all[2] = { { 0 } };
	char title[64];

	printf("%-18s %-18s %6s", "call", "space", "N");
	for (int i = 0; i < n; i++)
		printf("  %9s%d", n == 1 ? "TC" : "TCD-", i + 1);
	printf("%s\n", n == 2 ? "        crossing" : "");
	for (unsigned i = 0; i < as_counts_spaces(counts[0]); i++) {
		struct as_tcd one[2] = { { 0 } };

		for (int c = 0; c < n; c++) {
			struct as_space space;

			as_counts_space(counts[c], i, &space);
			if (as_cov_chosen(choice, &space)) {
				as_tcd_add(&one[c], &space, targets);
				as_tcd_add(&all[c], &space, targets);
			}
			if (c == n - 1 && one[0].n)
				tcd_row(space.family->name, as_cov_title(&space, title), one, n);
			as_space_free(&space);
		}
	}
	tcd_row("all", "", all, n);
}

int as_cov_tcd(const struct as_spec *spec, const struct as_args *args, struct as_err *err)
{
	const char *file = as_args_text(args, "targets", NULL);
	struct as_counts *counts[2] = { NULL, NULL };
	struct as_targets *targets = NULL;
	struct as_cov_choice choice;
	int n = args->n_operands - 1;
	int rc = as_cov_choose(spec, args, 1u << AS_SPACE_PLAIN | 1u << AS_SPACE_OUTPUT, &choice,
			       err);

	if (!rc && !file == !as_args_has(args, "target"))
		rc = as_fail(err, AS_EUSE, "cov tcd: expected --target N or --targets FILE");
	if (!rc && file)
		rc = as_targets_load(file, &targets, err);
	else if (!rc)
		targets = as_targets_uniform(as_args_number(args, "target", 1));
	for (int i = 0; i < n && !rc; i++)
		rc = as_cov_load(spec, args->operands[1 + i], &counts[i], err);
	if (!rc) {
		show_tcd(counts, n, targets, &choice);
		for (int i = 0; i < n; i++)
			as_cov_warn(counts[i], args->operands[1 + i], NULL);
		rc = as_cov_judge(spec, counts[0], args, NULL, err);
	}
	as_targets_free(targets);
	as_counts_free(counts[0]);
	as_counts_free(counts[1]);
	return rc;
}
