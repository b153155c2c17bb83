/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cov_tests: many tests side by side: which test covers what, what a test adds, and which few tests
 * would be enough. */
#include "base/json.h"
#include "cmd/cov/cov.h"
#include "cover/metric.h"
#include "cover/split.h"
#include "cover/testset.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define COVERAGE (1u << AS_SPACE_PLAIN | 1u << AS_SPACE_OUTPUT)

/* ---- What the three share -------------------------------------------------------------------- */

static const char *title_of(const struct as_testset_part *part, char out[static 64])
{
	const struct as_space space = { .family = part->family,
					.arg = part->arg,
					.kind = part->kind };

	return as_cov_title(&space, out);
}

static void print_json(struct as_buf *out)
{
	as_buf_addc(out, '\n');
	fwrite(as_buf_str(out), 1, out->len, stdout);
	as_buf_free(out);
}

static void json_part(struct as_json *json, const struct as_testset_part *part)
{
	char title[64];

	as_json_kstr(json, "call", part->family->name);
	as_json_kstr(json, "space", title_of(part, title));
	as_json_kstr(json, "partition", part->name);
}

/* Only expected partitions, so that the sums are those of `cov show`. */
static bool want_coverage(void *ctx, const struct as_space *space, const struct as_part *part)
{
	return part->expected && as_cov_chosen(ctx, space);
}

static int find_all(const struct as_args *args, int first, int n, bool other,
		    struct as_testset_files *files, struct as_err *err)
{
	int rc = 0;

	for (int i = first; i < first + n && !rc; i++)
		rc = as_testset_find(args->operands[i], other, files, err);
	return rc;
}

/* Partitions that there are in the spaces that were chosen. */
static uint64_t all_parts(const struct as_spec *spec, const struct as_cov_choice *choice)
{
	struct as_counts *none = as_counts_new(spec);
	uint64_t n = 0;

	for (unsigned i = 0; i < as_counts_spaces(none); i++) {
		struct as_space space;

		as_counts_space(none, i, &space);
		if (as_cov_chosen(choice, &space))
			n += as_coverage_space(&space, 1).of;
		as_space_free(&space);
	}
	as_counts_free(none);
	return n;
}

static void warn_partial(const struct as_testset *set)
{
	unsigned n = 0;

	for (unsigned i = 0; i < set->n_tests; i++)
		n += set->tests[i].partial;
	fflush(stdout);
	if (n)
		fprintf(stderr, "assay: %u of %u tests are PARTIAL: %s\n", n, set->n_tests,
			"they may cover more than is shown");
}

/* ---- which ----------------------------------------------------------------------------------- */

static bool want_part(void *ctx, const struct as_space *space, const struct as_part *part)
{
	const struct as_cov_choice *choice = ctx;

	return as_cov_chosen(choice, space) &&
	       (!choice->part || !fnmatch(choice->part, part->name, 0));
}

/* Is there such a partition at all, met or not? */
static bool exists(const struct as_spec *spec, struct as_cov_choice *choice)
{
	struct as_counts *none = as_counts_new(spec);
	bool found = false;

	for (unsigned i = 0; i < as_counts_spaces(none) && !found; i++) {
		struct as_space space;

		as_counts_space(none, i, &space);
		for (unsigned p = 0; p < space.n && !found; p++)
			found = want_part(choice, &space, &space.parts[p]);
		as_space_free(&space);
	}
	as_counts_free(none);
	return found;
}

/* Calls that belong to no test are listed, but do not count as a test. */
static bool is_test(const struct as_testset *set, unsigned t)
{
	return strcmp(set->tests[t].name, AS_SPLIT_OTHER) != 0;
}

static unsigned tests_with(const struct as_testset *set, unsigned part)
{
	unsigned n = 0;

	for (unsigned t = 0; t < set->n_tests; t++)
		n += is_test(set, t) && as_testset_count(set, t, part);
	return n;
}

static unsigned tests_all(const struct as_testset *set)
{
	unsigned n = 0;

	for (unsigned t = 0; t < set->n_tests; t++)
		n += is_test(set, t);
	return n;
}

static void which_text(const struct as_testset *set)
{
	for (unsigned p = 0; p < set->n_parts; p++) {
		const struct as_testset_part *part = &set->parts[p];
		char title[64];

		printf("%s %s %s: %u of %u tests\n", part->family->name, title_of(part, title),
		       part->name, tests_with(set, p), tests_all(set));
		for (unsigned t = 0; t < set->n_tests; t++)
			if (as_testset_count(set, t, p))
				printf("%14llu  %s%s\n",
				       (unsigned long long)as_testset_count(set, t, p),
				       set->tests[t].name, is_test(set, t) ? "" : " (no test)");
	}
	if (!set->n_parts)
		printf("none of %u tests\n", tests_all(set));
}

static void which_json(const struct as_testset *set)
{
	struct as_buf out = { 0 };
	struct as_json json = as_json_on(&out);

	as_json_object(&json);
	as_json_kuint(&json, "tests", tests_all(set));
	as_json_key(&json, "partitions");
	as_json_array(&json);
	for (unsigned p = 0; p < set->n_parts; p++) {
		as_json_object(&json);
		json_part(&json, &set->parts[p]);
		as_json_key(&json, "met_by");
		as_json_array(&json);
		for (unsigned t = 0; t < set->n_tests; t++) {
			if (!as_testset_count(set, t, p))
				continue;
			as_json_object(&json);
			as_json_kstr(&json, "test", set->tests[t].name);
			as_json_kuint(&json, "count", as_testset_count(set, t, p));
			as_json_end(&json);
		}
		as_json_end(&json);
		as_json_end(&json);
	}
	as_json_end(&json);
	as_json_end(&json);
	print_json(&out);
}

int as_cov_which(const struct as_spec *spec, const struct as_args *args, struct as_err *err)
{
	struct as_testset_files files = { 0 };
	struct as_testset *set = NULL;
	struct as_cov_choice choice;
	int rc = as_cov_choose(spec, args, COVERAGE, &choice, err);

	if (!rc && !choice.family)
		rc = as_fail(err, AS_EUSE,
			     "cov which: expected --syscall NAME, with --arg "
			     "NAME=VALUE or --result NAME");
	/* Only a call is asked for: its variants show which tests call it. */
	if (!rc && !choice.arg && !choice.part && !as_args_has(args, "spaces"))
		choice.kinds = 1u << AS_SPACE_VARIANTS;
	if (!rc)
		rc = find_all(args, 1, args->n_operands - 1, true, &files, err);
	if (!rc)
		rc = as_testset_load(spec, &files, want_part, &choice, &set, err);
	if (!rc && !set->n_parts && !exists(spec, &choice))
		rc = as_fail(err, AS_EUSE,
			     "%s has no '%s', and no test met it; `assay cov show FILE --syscall "
			     "%s` lists what there is",
			     choice.family, choice.part ? choice.part : "", choice.family);
	if (!rc) {
		if (as_args_has(args, "json"))
			which_json(set);
		else
			which_text(set);
		warn_partial(set);
		rc = set->n_parts ? AS_EXIT_CLEAN : AS_EXIT_FOUND;
	}
	as_testset_free(set);
	as_testset_files_free(&files);
	return rc;
}

/* ---- adds ------------------------------------------------------------------------------------ */

struct cov_tests_row {
	const struct as_testset *set;
	unsigned test, alone;
};

static int by_alone(const void *a, const void *b)
{
	const struct cov_tests_row *x = a, *y = b;

	if (x->alone != y->alone)
		return x->alone < y->alone ? 1 : -1;
	return x->test < y->test ? -1 : x->test > y->test;
}

static struct cov_tests_row *rows_of(const struct as_testset *set)
{
	struct cov_tests_row *rows = as_xcalloc(set->n_tests + 1, sizeof(*rows));

	for (unsigned i = 0; i < set->n_tests; i++)
		rows[i] = (struct cov_tests_row){ set, i, as_testset_alone(set, i) };
	qsort(rows, set->n_tests, sizeof(*rows), by_alone);
	return rows;
}

static void json_test(struct as_json *json, const struct cov_tests_row *row)
{
	const struct as_testset_test *test = &row->set->tests[row->test];

	as_json_kstr(json, "test", test->name);
	as_json_kuint(json, "calls", test->calls);
	as_json_kuint(json, "met", test->n_met);
	as_json_kuint(json, "only_here", row->alone);
}

static void adds_table(const struct as_testset *set, bool as_json)
{
	struct cov_tests_row *rows = rows_of(set);
	struct as_buf out = { 0 };
	struct as_json json = as_json_on(&out);

	if (as_json)
		as_json_array(&json);
	else
		printf("%10s %8s %12s  test\n", "only here", "met", "calls");
	for (unsigned i = 0; i < set->n_tests; i++) {
		const struct as_testset_test *test = &set->tests[rows[i].test];

		if (as_json) {
			as_json_object(&json);
			json_test(&json, &rows[i]);
			as_json_end(&json);
			continue;
		}
		printf("%10u %8u %12llu  %s\n", rows[i].alone, test->n_met,
		       (unsigned long long)test->calls, test->name);
	}
	free(rows);
	if (!as_json)
		return;
	as_json_end(&json);
	print_json(&out);
}

static void adds_text(const struct as_testset *set, unsigned t, uint64_t of)
{
	const struct as_testset_test *test = &set->tests[t];
	struct as_coverage with = { set->n_parts, of };
	struct as_coverage without = { set->n_parts - as_testset_alone(set, t), of };
	char title[64];

	printf("%s: %u met in %llu calls, %u of them by none of the %u others\n", test->name,
	       test->n_met, (unsigned long long)test->calls, as_testset_alone(set, t),
	       set->n_tests - 1);
	printf("without it %llu of %llu are met (%.1f %%), with it %llu (%.1f %%)\n",
	       (unsigned long long)without.met, (unsigned long long)of,
	       as_coverage_percent(without), (unsigned long long)with.met,
	       as_coverage_percent(with));
	for (unsigned i = 0; i < test->n_met; i++) {
		const struct as_testset_part *part = &set->parts[test->met[i].part];

		if (part->tests == 1)
			printf("  %s %s %s %llu\n", part->family->name, title_of(part, title),
			       part->name, (unsigned long long)test->met[i].count);
	}
}

static void adds_json(const struct as_testset *set, unsigned t, uint64_t of)
{
	const struct as_testset_test *test = &set->tests[t];
	const struct cov_tests_row row = { set, t, as_testset_alone(set, t) };
	struct as_buf out = { 0 };
	struct as_json json = as_json_on(&out);

	as_json_object(&json);
	json_test(&json, &row);
	as_json_kuint(&json, "others", set->n_tests - 1);
	as_json_kuint(&json, "of", of);
	as_json_kuint(&json, "met_with", set->n_parts);
	as_json_kuint(&json, "met_without", set->n_parts - row.alone);
	as_json_key(&json, "adds");
	as_json_array(&json);
	for (unsigned i = 0; i < test->n_met; i++) {
		const struct as_testset_part *part = &set->parts[test->met[i].part];

		if (part->tests != 1)
			continue;
		as_json_object(&json);
		json_part(&json, part);
		as_json_kuint(&json, "count", test->met[i].count);
		as_json_end(&json);
	}
	as_json_end(&json);
	as_json_end(&json);
	print_json(&out);
}

/* A test by its name in the folder, or a .cov file that may come from elsewhere. */
static int find_test(const char *folder, const char *word, struct as_testset_files *files,
		     char **name, struct as_err *err)
{
	struct stat st;

	for (unsigned i = 0; i < files->n; i++)
		if (!strcmp(files->at[i].name, word) || !strcmp(files->at[i].path, word)) {
			*name = as_xstrdup(files->at[i].name);
			return 0;
		}
	if (stat(word, &st) || !S_ISREG(st.st_mode))
		return as_fail(err, AS_EUSE, "cov adds: %s has no test '%s'", folder, word);
	/* "DIR//a/b.cov" and "./DIR/a/b.cov" are in the folder, too. */
	for (unsigned i = 0; i < files->n; i++) {
		struct stat there;

		if (!stat(files->at[i].path, &there) && there.st_ino == st.st_ino &&
		    there.st_dev == st.st_dev) {
			*name = as_xstrdup(files->at[i].name);
			return 0;
		}
	}
	if (as_testset_find(word, false, files, err))
		return err->code;
	*name = as_xstrdup(files->at[files->n - 1].name);
	return 0;
}

int as_cov_adds(const struct as_spec *spec, const struct as_args *args, struct as_err *err)
{
	const char *word = args->n_operands > 2 ? args->operands[2] : NULL;
	struct as_testset_files files = { 0 };
	struct as_testset *set = NULL;
	struct as_cov_choice choice;
	char *name = NULL;
	int rc = as_cov_choose(spec, args, COVERAGE, &choice, err);

	if (!rc)
		rc = find_all(args, 1, 1, false, &files, err);
	if (!rc && word)
		rc = find_test(args->operands[1], word, &files, &name, err);
	if (!rc)
		rc = as_testset_load(spec, &files, want_coverage, &choice, &set, err);
	if (!rc) {
		if (!name)
			adds_table(set, as_args_has(args, "json"));
		else if (as_args_has(args, "json"))
			adds_json(set, (unsigned)as_testset_test(set, name),
				  all_parts(spec, &choice));
		else
			adds_text(set, (unsigned)as_testset_test(set, name),
				  all_parts(spec, &choice));
		warn_partial(set);
	}
	as_testset_free(set);
	as_testset_files_free(&files);
	free(name);
	return rc;
}

/* ---- rank ------------------------------------------------------------------------------------ */

static void rank_text(const struct as_testset *set, const unsigned *order, const unsigned *news,
		      unsigned useful, uint64_t of)
{
	unsigned sum = 0;

	printf("%6s %8s %8s %8s %12s  test\n", "", "new", "together", "", "calls");
	for (unsigned i = 0; i < useful; i++) {
		sum += news[i];
		printf("%6u %8u %8u %6.1f %% %12llu  %s\n", i + 1, news[i], sum,
		       as_coverage_percent((struct as_coverage){ sum, of }),
		       (unsigned long long)set->tests[order[i]].calls, set->tests[order[i]].name);
	}
	printf("%u of %u tests meet all that the suite meets; the other %u add nothing\n", useful,
	       set->n_tests, set->n_tests - useful);
}

static void rank_json(const struct as_testset *set, const unsigned *order, const unsigned *news,
		      unsigned useful, uint64_t of)
{
	struct as_buf out = { 0 };
	struct as_json json = as_json_on(&out);
	unsigned sum = 0;

	as_json_object(&json);
	as_json_kuint(&json, "tests", set->n_tests);
	as_json_kuint(&json, "needed", useful);
	as_json_kuint(&json, "met", set->n_parts);
	as_json_kuint(&json, "of", of);
	as_json_key(&json, "order");
	as_json_array(&json);
	for (unsigned i = 0; i < set->n_tests; i++) {
		sum += news[i];
		as_json_object(&json);
		as_json_kstr(&json, "test", set->tests[order[i]].name);
		as_json_kuint(&json, "calls", set->tests[order[i]].calls);
		as_json_kuint(&json, "new", news[i]);
		as_json_kuint(&json, "together", sum);
		as_json_end(&json);
	}
	as_json_end(&json);
	as_json_end(&json);
	print_json(&out);
}

int as_cov_rank(const struct as_spec *spec, const struct as_args *args, struct as_err *err)
{
	struct as_testset_files files = { 0 };
	struct as_testset *set = NULL;
	struct as_cov_choice choice;
	int rc = as_cov_choose(spec, args, COVERAGE, &choice, err);

	if (!rc)
		rc = find_all(args, 1, args->n_operands - 1, false, &files, err);
	if (!rc)
		rc = as_testset_load(spec, &files, want_coverage, &choice, &set, err);
	if (!rc) {
		unsigned *order = as_xcalloc(set->n_tests + 1, sizeof(*order));
		unsigned *news = as_xcalloc(set->n_tests + 1, sizeof(*news));
		unsigned useful = as_testset_rank(set, order, news);

		(as_args_has(args, "json") ? rank_json : rank_text)(set, order, news, useful,
								    all_parts(spec, &choice));
		warn_partial(set);
		free(order);
		free(news);
	}
	as_testset_free(set);
	as_testset_files_free(&files);
	return rc;
}
