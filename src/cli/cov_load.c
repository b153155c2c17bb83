/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cov_load: files of counts, read and written for the commands, and what to be warned of. */
#include "base/json.h"
#include "cli/cov.h"
#include "cover/split.h"

#include <string.h>
#include <sys/stat.h>

/* Of what was counted and what may have to be, in percent. */
#define UNATTRIBUTED_MAX 10

/* The folder of a suite stands for the whole of it. */
int as_cov_load(const struct as_spec *spec, const char *path, struct as_counts **out,
		struct as_err *err)
{
	struct as_buf total = { 0 };
	struct stat st;
	int rc;

	as_buf_adds(&total, path);
	if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
		as_buf_adds(&total, "/" AS_SPLIT_TOTAL ".cov");
		if (stat(as_buf_str(&total), &st)) {
			as_buf_free(&total);
			return as_fail(err, AS_EUSE,
				       "%s is a folder without " AS_SPLIT_TOTAL
				       ".cov: not one of `cov record --split-by`",
				       path);
		}
	}
	rc = as_counts_load(spec, as_buf_str(&total), out, err);
	as_buf_free(&total);
	return rc;
}

int as_cov_save(const struct as_counts *counts, const struct as_args *args, struct as_err *err)
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

/* ---- Warnings -------------------------------------------------------------------------------- */

/* What makes the counts less than they seem. False: there is no such line. */
static bool warning(const struct as_counts *counts, unsigned i, struct as_buf *out)
{
	unsigned long long counted = as_counts_noted(counts, AS_NOTE_COUNTED);
	unsigned long long outside = as_counts_noted(counts, AS_NOTE_OUTSIDE);
	unsigned long long unknown = as_counts_noted(counts, AS_NOTE_UNATTRIBUTED);
	unsigned long long nothing = as_counts_noted(counts, AS_NOTE_NO_FILE);
	const char *under = as_counts_get_under(counts), *partial = as_counts_is_partial(counts);

	if (i == 0 && partial)
		as_buf_addf(out, "is PARTIAL: %s", partial);
	else if (i == 1 && !counted && under && outside + unknown + nothing)
		as_buf_addf(out, "NOTHING was counted: none of %llu calls was about files below %s",
			    outside + unknown + nothing, under);
	else if (i == 1 && !counted)
		as_buf_adds(out, "NOTHING was counted: there were no calls about files");
	else if (i == 2 && counted && unknown * 100 > (counted + unknown) * UNATTRIBUTED_MAX)
		as_buf_addf(out,
			    "%llu calls could not be attributed to files, and %llu were counted: "
			    "what comes from before a trace, it does not show (--cwd says where "
			    "it began)",
			    unknown, counted);
	else
		return false;
	return true;
}

#define WARNINGS 3

void as_cov_warn_partial(const struct as_counts *counts, const char *path)
{
	if (!as_counts_is_partial(counts))
		return;
	fflush(stdout);
	fprintf(stderr, "assay: %s is PARTIAL: %s\n", path, as_counts_is_partial(counts));
}

static void warn(const struct as_counts *counts, const char *path, unsigned first,
		 struct as_json *json)
{
	fflush(stdout);
	if (json) {
		as_json_key(json, "warnings");
		as_json_array(json);
	}
	for (unsigned i = first; i < WARNINGS; i++) {
		struct as_buf text = { 0 };

		if (warning(counts, i, &text)) {
			fprintf(stderr, "assay: %s%s %s\n", path, i ? ":" : "", as_buf_str(&text));
			if (json)
				as_json_str(json, as_buf_str(&text));
		}
		as_buf_free(&text);
	}
	if (json)
		as_json_end(json);
}

void as_cov_warn(const struct as_counts *counts, const char *path, struct as_json *json)
{
	warn(counts, path, 0, json);
}

void as_cov_warn_counts(const struct as_counts *counts, const char *path)
{
	warn(counts, path, 1, NULL);
}
