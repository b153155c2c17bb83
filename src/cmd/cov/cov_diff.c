/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cov_diff: two files of counts side by side: what only one of them has, and the sums. */
#include "base/json.h"
#include "cmd/cov/cov.h"
#include "cover/metric.h"
#include "os/out.h"
#include "report/figure_cover.h"

#include <stdlib.h>
#include <string.h>

/* ---- Line by line ---------------------------------------------------------------------------- */

struct lines {
	const struct as_cov_choice *choice;
	struct as_json *json; /* NULL: text */
};

static void diff_line(void *ctx, const struct as_space *space, const struct as_part *part,
		      uint64_t a, uint64_t b)
{
	const struct lines *l = ctx;
	const char *who = a && b ? "both" : a ? "only-1" : "only-2";
	char title[64];

	if (a == b || !as_cov_chosen(l->choice, space))
		return;
	as_cov_title(space, title);
	if (!l->json) {
		printf("%-8s %s %s %s %llu %llu\n", who, space->family->name, title, part->name,
		       (unsigned long long)a, (unsigned long long)b);
		return;
	}
	as_json_object(l->json);
	as_json_kstr(l->json, "met_by", who);
	as_json_kstr(l->json, "call", space->family->name);
	as_json_kstr(l->json, "space", title);
	as_json_kstr(l->json, "partition", part->name);
	as_json_kuint(l->json, "first", a);
	as_json_kuint(l->json, "second", b);
	if (!part->expected)
		as_json_kbool(l->json, "expected", false);
	as_json_end(l->json);
}

/* ---- The sums -------------------------------------------------------------------------------- */

static bool is_change(const struct as_cov_change c[2])
{
	return c[0].lost || c[0].gained || c[1].lost || c[1].gained;
}

static void sum_row(const char *name, const struct as_cov_change c[2])
{
	printf("%-18s %8llu %8llu %8llu   %8llu %8llu %8llu\n", name, (unsigned long long)c[0].both,
	       (unsigned long long)c[0].lost, (unsigned long long)c[0].gained,
	       (unsigned long long)c[1].both, (unsigned long long)c[1].lost,
	       (unsigned long long)c[1].gained);
}

static void print_sums(const struct as_spec *spec, struct as_counts *const both[2],
		       const struct as_args *args)
{
	struct as_cov_change all[2], one[2];

	as_cov_change_of(both[0], both[1], NULL, all);
	printf("%-18s %26s   %26s\n", "", "inputs met by", "outputs met by");
	printf("%-18s %8s %8s %8s   %8s %8s %8s\n", "call", "both", "only-1", "only-2", "both",
	       "only-1", "only-2");
	for (unsigned i = 0; i < spec->n_families; i++) {
		as_cov_change_of(both[0], both[1], &spec->families[i], one);
		if (is_change(one))
			sum_row(spec->families[i].name, one);
	}
	sum_row("all", all);
	for (int i = 0; i < 2; i++) {
		struct as_coverage in, out;

		as_coverage_family(both[i], NULL, 1, &in, &out);
		printf("%d: %s: inputs %llu of %llu (%.1f %%), outputs %llu of %llu (%.1f %%)\n",
		       i + 1, args->operands[1 + i], (unsigned long long)in.met,
		       (unsigned long long)in.of, as_coverage_percent(in),
		       (unsigned long long)out.met, (unsigned long long)out.of,
		       as_coverage_percent(out));
	}
}

static void json_sums(struct as_json *json, const char *name, const struct as_cov_change c[2])
{
	static const char *const keys[] = { "inputs", "outputs" };

	as_json_object(json);
	as_json_kstr(json, "call", name);
	for (int i = 0; i < 2; i++) {
		as_json_key(json, keys[i]);
		as_json_object(json);
		as_json_kuint(json, "both", c[i].both);
		as_json_kuint(json, "lost", c[i].lost);
		as_json_kuint(json, "gained", c[i].gained);
		as_json_end(json);
	}
	as_json_end(json);
}

static void print_json(const struct as_spec *spec, struct as_counts *const both[2],
		       const struct as_args *args, const struct as_cov_choice *choice)
{
	struct as_buf out = { 0 };
	struct as_json json = as_json_on(&out);
	struct lines lines = { choice, &json };
	struct as_cov_change change[2];

	as_json_object(&json);
	as_json_kstr(&json, "first", args->operands[1]);
	as_json_kstr(&json, "second", args->operands[2]);
	as_json_key(&json, "summary");
	as_json_array(&json);
	for (unsigned i = 0; i <= spec->n_families; i++) {
		const struct as_spec_family *family =
			i < spec->n_families ? &spec->families[i] : NULL;

		as_cov_change_of(both[0], both[1], family, change);
		if (!family || is_change(change))
			json_sums(&json, family ? family->name : "all", change);
	}
	as_json_end(&json);
	if (!as_args_has(args, "summary")) {
		as_json_key(&json, "partitions");
		as_json_array(&json);
		as_counts_compare(both[0], both[1], choice->kinds, diff_line, &lines);
		as_json_end(&json);
	}
	as_json_end(&json);
	as_buf_addc(&out, '\n');
	fwrite(as_buf_str(&out), 1, out.len, stdout);
	as_buf_free(&out);
}

static int write_page(const struct as_spec *spec, struct as_counts *const both[2],
		      const struct as_args *args, struct as_err *err)
{
	struct as_suites suites = { .spec = spec, .n = 2 };
	const char *page = as_args_text(args, "html", NULL);
	char *names[2];
	struct as_buf text = { 0 };
	int rc;

	for (int i = 0; i < 2; i++) {
		names[i] = as_cov_suite_name(args->operands[1 + i]);
		suites.suite[i] = (struct as_suite){ names[i], both[i] };
	}
	as_figure_diff(&suites, &text);
	rc = as_out_save(page, &text, err);
	if (!rc)
		printf("%s\n", page);
	as_buf_free(&text);
	free(names[0]);
	free(names[1]);
	return rc;
}

int as_cov_diff(const struct as_spec *spec, const struct as_args *args, struct as_err *err)
{
	struct as_counts *both[2] = { NULL, NULL };
	struct as_cov_choice choice;
	struct lines lines = { .choice = &choice };
	int rc = as_cov_choose(
		spec, args, 1u << AS_SPACE_PLAIN | 1u << AS_SPACE_OUTPUT | 1u << AS_SPACE_VARIANTS,
		&choice, err);

	for (int i = 0; i < 2 && !rc; i++)
		rc = as_cov_load(spec, args->operands[1 + i], &both[i], err);
	for (int i = 0; i < 2 && !rc; i++)
		as_cov_warn(both[i], args->operands[1 + i], NULL);
	if (!rc && as_args_has(args, "html")) {
		rc = write_page(spec, both, args, err);
	} else if (!rc && as_args_has(args, "json")) {
		print_json(spec, both, args, &choice);
	} else if (!rc) {
		if (!as_args_has(args, "summary")) {
			as_counts_compare(both[0], both[1], choice.kinds, diff_line, &lines);
			printf("\n");
		}
		print_sums(spec, both, args);
	}
	as_counts_free(both[0]);
	as_counts_free(both[1]);
	return rc;
}
