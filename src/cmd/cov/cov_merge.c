/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cov_merge: adds up files of counts, also thousands: one is in memory at a time. All files are
 * read before anything is written. If some cannot be read, they are named, and nothing is written.
 */
#include "cmd/cov/cov.h"
#include "cover/testset.h"

#include <stdlib.h>
#include <string.h>

#define TOLD_MAX 20 /* lines about files of one kind */
#define FILTERS_MAX 16
#define NAMED_MAX 8 /* more files than these are not named in the result */

struct merging {
	struct as_counts *all;
	unsigned n, bad, partial;
	char *filters[FILTERS_MAX];
	unsigned n_filters;
	bool more_filters;
};

static void note_filter(struct merging *m, const char *under)
{
	const char *filter = under ? under : "";

	for (unsigned i = 0; i < m->n_filters; i++)
		if (!strcmp(m->filters[i], filter))
			return;
	if (m->n_filters < FILTERS_MAX)
		m->filters[m->n_filters++] = as_xstrdup(filter);
	else
		m->more_filters = true;
}

static void merge_one(struct merging *m, const struct as_spec *spec, const char *path)
{
	struct as_counts *one = NULL;
	struct as_err err;

	m->n++;
	if (as_counts_load(spec, path, &one, &err)) {
		if (m->bad++ < TOLD_MAX)
			fprintf(stderr, "assay: %s\n", err.msg);
		return;
	}
	if (as_counts_is_partial(one) && m->partial++ < TOLD_MAX)
		as_cov_warn_partial(one, path);
	note_filter(m, as_counts_get_under(one));
	as_counts_merge(m->all, one);
	as_counts_free(one);
}

/* Sources and filters of many files, each named once. */
static void describe(struct merging *m)
{
	struct as_buf text = { 0 };

	if (m->n > NAMED_MAX) {
		as_buf_addf(&text, "%u files", m->n);
		as_counts_source(m->all, as_buf_str(&text));
		as_buf_clear(&text);
	}
	for (unsigned i = 0; i < m->n_filters; i++)
		as_buf_addf(&text, "%s%s", i ? " + " : "",
			    *m->filters[i] ? m->filters[i] : "everything");
	if (m->more_filters)
		as_buf_adds(&text, " + others");
	if (m->n_filters > 1 || (m->n_filters && *m->filters[0]))
		as_counts_under(m->all, as_buf_str(&text));
	if (m->n_filters > 1)
		fprintf(stderr, "assay: the files were counted with different filters: %s\n",
			as_buf_str(&text));
	if (m->partial > TOLD_MAX)
		fprintf(stderr, "assay: %u of %u files are PARTIAL\n", m->partial, m->n);
	as_buf_free(&text);
}

int as_cov_merge(const struct as_spec *spec, const struct as_args *args, struct as_err *err)
{
	struct merging m = { .all = as_counts_new(spec) };
	struct as_testset_files files = { 0 };
	int rc = 0;

	for (int i = 1; i < args->n_operands && !rc; i++)
		rc = as_testset_find(args->operands[i], true, &files, err);
	for (unsigned i = 0; i < files.n && !rc; i++)
		merge_one(&m, spec, files.at[i].path);
	if (!rc && m.bad)
		rc = as_fail(err, AS_EUSE,
			     "%u of %u files cannot be used; nothing was put together", m.bad, m.n);
	if (!rc) {
		describe(&m);
		rc = as_cov_save(m.all, args, err);
	}
	if (!rc)
		rc = as_cov_judge(spec, m.all, args, NULL, err);
	for (unsigned i = 0; i < m.n_filters; i++)
		free(m.filters[i]);
	as_testset_files_free(&files);
	as_counts_free(m.all);
	return rc;
}
