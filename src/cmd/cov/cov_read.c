/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cov_read: counts from traces, and counts as feedback for the generator. */
#include "cmd/cov/cov.h"
#include "cover/feedback.h"
#include "cover/read.h"
#include "cover/split.h"
#include "os/out.h"

#include <stdlib.h>
#include <string.h>

/* If too many lines were not understood, the counts mean nothing. */
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

int as_cov_read(const struct as_spec *spec, const struct as_args *args, struct as_err *err)
{
	struct as_read_options options = {
		.world = { .under = as_args_text(args, "under", NULL),
			   .under_regex = as_args_text(args, "under-regex", NULL),
			   .cwd = as_args_text(args, "cwd", NULL) },
		.format = as_args_text(args, "format", NULL),
	};
	struct as_counts *counts = as_counts_new(spec);
	int status = AS_EXIT_CLEAN, rc;
	double most;

	rc = as_cov_percent(args, "max-unknown", 5, &most, err);
	if (!rc)
		rc = as_cov_split(spec, args, &options.split, err);
	for (int i = 1; i < args->n_operands && !rc; i++) {
		struct as_err why;

		rc = as_read_trace(spec, args->operands[i], &options, counts, &why, err);
		if (!rc && why.code) {
			fprintf(stderr, "assay: %s: the counts are PARTIAL\n", why.msg);
			status = AS_EXIT_FOUND;
		}
	}
	if (!rc)
		rc = options.split ? as_cov_split_end(options.split, args, counts, err)
				   : as_cov_save(counts, args, err);
	if (!rc && judge_unknown(counts, most))
		status = AS_EXIT_FOUND;
	if (!rc)
		rc = as_cov_judge(spec, counts, args, NULL, err);
	if (rc > 0) {
		status = AS_EXIT_FOUND;
		rc = 0;
	}
	if (!rc && as_args_text(args, "output", NULL))
		as_cov_print_notes(counts, as_args_text(args, "output", NULL));
	if (!rc)
		as_cov_warn_counts(counts, as_args_text(args, "output", "the trace"), NULL);
	as_split_free(options.split);
	as_counts_free(counts);
	return rc ? rc : status;
}

/* ---- For the generator ----------------------------------------------------------------------- */

int as_cov_feedback(const struct as_spec *spec, const struct as_args *args, struct as_err *err)
{
	struct as_counts *counts = NULL;
	struct as_buf text = { 0 };
	const char *path = as_args_text(args, "output", NULL);
	int rc = as_cov_load(spec, args->operands[1], &counts, err);

	if (rc)
		return rc;
	as_cov_warn_partial(counts, args->operands[1]);
	as_feedback_print(counts, &text);
	if (path && strcmp(path, "-") != 0)
		rc = as_out_save(path, &text, err);
	else
		fwrite(as_buf_str(&text), 1, text.len, stdout);
	as_buf_free(&text);
	as_counts_free(counts);
	return rc;
}
