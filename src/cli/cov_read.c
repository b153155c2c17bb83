/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cov_read: counts from traces; files of counts put together and compared. */
#include "cli/cov.h"
#include "cover/feedback.h"
#include "cover/read.h"
#include "cover/warn.h"

#include <stdlib.h>
#include <string.h>

static int save(const struct as_counts *counts, const struct as_args *args, struct as_err *err)
{
	const char *path = as_args_text(args, "output", NULL);
	struct as_buf text = { 0 };

	if (path && strcmp(path, "-") != 0)
		return as_counts_save(counts, path, err);
	as_counts_print(counts, &text);
	fwrite(as_buf_str(&text), 1, text.len, stdout);
	as_buf_free(&text);
	return 0;
}

/* Too much that was not understood is no measurement. */
static int judge_unknown(const struct as_counts *counts, double most)
{
	uint64_t lines = as_counts_noted(counts, AS_NOTE_LINES);
	uint64_t bad = as_counts_noted(counts, AS_NOTE_NOT_UNDERSTOOD);
	double share = lines ? 100.0 * (double)bad / (double)lines : 0;

	if (share <= most)
		return AS_EXIT_CLEAN;
	fprintf(stderr, "assay: %llu of %llu lines not understood (%.1f %%, more than %g %%): %s\n",
		(unsigned long long)bad, (unsigned long long)lines, share, most,
		as_counts_example_at(counts, 0) ? as_counts_example_at(counts, 0) : "");
	return AS_EXIT_FOUND;
}

/* Where the counts go to standard output, and no summary is printed. */
static void warn(const struct as_counts *counts)
{
	char warning[AS_WARNING_BYTES];

	fflush(stdout);
	for (unsigned i = 0; as_counts_warning(counts, i, warning); i++)
		fprintf(stderr, "assay: warning: %s\n", warning);
}

int as_cov_read(const struct as_spec *spec, const struct as_args *args, struct as_err *err)
{
	struct as_read_options options = {
		.world = { .under = as_args_text(args, "under", NULL),
			   .cwd = as_args_text(args, "cwd", NULL) },
		.format = as_args_text(args, "format", NULL),
	};
	struct as_counts *counts = as_counts_new(spec);
	int status = AS_EXIT_CLEAN, rc;
	double most;

	rc = as_cov_percent(args, "max-unknown", 5, &most, err);
	for (int i = 1; i < args->n_operands && !rc; i++) {
		struct as_err why;

		rc = as_read_trace(spec, args->operands[i], &options, counts, &why, err);
		if (!rc && why.code) {
			fprintf(stderr, "assay: %s: the counts are PARTIAL\n", why.msg);
			status = AS_EXIT_FOUND;
		}
	}
	if (!rc)
		rc = save(counts, args, err);
	if (!rc && judge_unknown(counts, most))
		status = AS_EXIT_FOUND;
	if (!rc && !as_args_text(args, "output", NULL))
		warn(counts);
	else if (!rc)
		as_cov_print_notes(counts, as_args_text(args, "output", NULL));
	as_counts_free(counts);
	return rc ? rc : status;
}

int as_cov_merge(const struct as_spec *spec, const struct as_args *args, struct as_err *err)
{
	struct as_counts *all = as_counts_new(spec);
	int rc = 0;

	for (int i = 1; i < args->n_operands && !rc; i++) {
		struct as_counts *one = NULL;

		rc = as_counts_load(spec, args->operands[i], &one, err);
		if (!rc) {
			as_cov_warn_partial(one, args->operands[i]);
			as_counts_merge(all, one);
		}
		as_counts_free(one);
	}
	if (!rc)
		rc = save(all, args, err);
	as_counts_free(all);
	return rc;
}

/* ---- Two side by side ------------------------------------------------------------------------ */

static uint64_t count_of(const struct as_space *space, const char *name)
{
	for (unsigned i = 0; i < space->n; i++)
		if (!strcmp(space->parts[i].name, name))
			return space->parts[i].count;
	return 0;
}

static void diff_line(const struct as_space *space, const char *name, uint64_t a, uint64_t b)
{
	char title[64];

	printf("%-8s %s %s %s %llu %llu\n",
	       a && b ? "both"
	       : a    ? "only-1"
		      : "only-2",
	       space->family->name, as_cov_title(space, title), name, (unsigned long long)a,
	       (unsigned long long)b);
}

static void diff_space(const struct as_space *a, const struct as_space *b)
{
	for (unsigned i = 0; i < a->n; i++) {
		uint64_t n = a->parts[i].count, m = count_of(b, a->parts[i].name);

		if (n != m)
			diff_line(a, a->parts[i].name, n, m);
	}
	/* What was not expected is listed only where it was met. */
	for (unsigned i = 0; i < b->n; i++) {
		const struct as_part *part = &b->parts[i];

		if (part->count && !part->expected && !count_of(a, part->name))
			diff_line(b, part->name, 0, part->count);
	}
}

int as_cov_diff(const struct as_spec *spec, const struct as_args *args, struct as_err *err)
{
	struct as_counts *both[2] = { NULL, NULL };
	struct as_cov_choice choice;
	int rc = as_cov_choose(
		spec, args, 1u << AS_SPACE_PLAIN | 1u << AS_SPACE_OUTPUT | 1u << AS_SPACE_VARIANTS,
		&choice, err);

	for (int i = 0; i < 2 && !rc; i++)
		rc = as_counts_load(spec, args->operands[1 + i], &both[i], err);
	for (int i = 0; i < 2 && !rc; i++)
		as_cov_warn_partial(both[i], args->operands[1 + i]);
	for (unsigned i = 0; !rc && i < as_counts_spaces(both[0]); i++) {
		struct as_space a, b;

		as_counts_space(both[0], i, &a);
		as_counts_space(both[1], i, &b);
		if (as_cov_chosen(&choice, &a))
			diff_space(&a, &b);
		as_space_free(&a);
		as_space_free(&b);
	}
	as_counts_free(both[0]);
	as_counts_free(both[1]);
	return rc;
}

/* ---- For the generator ----------------------------------------------------------------------- */

int as_cov_feedback(const struct as_spec *spec, const struct as_args *args, struct as_err *err)
{
	struct as_counts *counts = NULL;
	struct as_buf text = { 0 };
	const char *path = as_args_text(args, "output", NULL);
	int rc = as_counts_load(spec, args->operands[1], &counts, err);

	if (rc)
		return rc;
	as_cov_warn_partial(counts, args->operands[1]);
	as_feedback_print(counts, &text);
	if (path && strcmp(path, "-") != 0)
		rc = as_buf_write_file(&text, path, err);
	else
		fwrite(as_buf_str(&text), 1, text.len, stdout);
	as_buf_free(&text);
	as_counts_free(counts);
	return rc;
}
