/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cov_load: files of counts, read and written for the commands, and warnings. */
#include "base/json.h"
#include "cmd/cov/cov.h"
#include "cover/split.h"
#include "cover/warn.h"

#include <string.h>
#include <sys/stat.h>

/* The folder of a suite stands for its total. */
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

void as_cov_warn_partial(const struct as_counts *counts, const char *path)
{
	if (!as_counts_is_partial(counts))
		return;
	fflush(stdout);
	fprintf(stderr, "assay: %s is PARTIAL: %s\n", path, as_counts_is_partial(counts));
}

void as_cov_warn_counts(const struct as_counts *counts, const char *path, struct as_json *json)
{
	char text[AS_WARNING_BYTES];

	fflush(stdout);
	if (json) {
		as_json_key(json, "warnings");
		as_json_array(json);
	}
	for (unsigned i = 0; as_counts_warning(counts, i, text); i++) {
		fprintf(stderr, "assay: %s: %s\n", path, text);
		if (json)
			as_json_str(json, text);
	}
	if (json)
		as_json_end(json);
}

void as_cov_warn(const struct as_counts *counts, const char *path, struct as_json *json)
{
	as_cov_warn_partial(counts, path);
	as_cov_warn_counts(counts, path, json);
}
