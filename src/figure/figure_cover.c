/* SPDX-License-Identifier: GPL-2.0-or-later */
/* figure_cover: the charts; see figure_cover.h. The page around them is in figure_html.c. */
#include "figure/figure_cover.h"

#include "cover/metric.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct as_figure_paper as_figure_paper[] = {
	{ "figure2-open-flags", "Input coverage of open: flags", "open", "flags", AS_SPACE_PLAIN,
	  false },
	{ "figure3-write-size", "Input coverage of write: size in bytes", "write", "count",
	  AS_SPACE_PLAIN, false },
	{ "figure4-open-output", "Output coverage of open", "open", NULL, AS_SPACE_OUTPUT, false },
	{ "figure5-open-tcd", "Test Coverage Deviation of open: flags", "open", "flags",
	  AS_SPACE_PLAIN, true },
};
const unsigned as_figure_papers = sizeof(as_figure_paper) / sizeof(as_figure_paper[0]);

/* ---- Partitions of several suites ------------------------------------------------------------ */

/* The same space of all suites, side by side. */
struct joined {
	struct as_space space[AS_FIGURE_SERIES_MAX];
	unsigned n_suites, n;
	const char **names; /* these point into the spaces */
	const char **labels;
	char (*text)[16], (*text2)[16];
	const char **labels2;
	bool *faint;
	uint64_t *counts[AS_FIGURE_SERIES_MAX];
};

static const struct as_part *find_part(const struct as_space *space, const char *name)
{
	for (unsigned i = 0; i < space->n; i++)
		if (!strcmp(space->parts[i].name, name))
			return &space->parts[i];
	return NULL;
}

static bool has_name(const struct joined *j, const char *name)
{
	for (unsigned i = 0; i < j->n; i++)
		if (!strcmp(j->names[i], name))
			return true;
	return false;
}

static void free_joined(struct joined *j)
{
	for (unsigned s = 0; s < j->n_suites; s++) {
		as_space_free(&j->space[s]);
		free(j->counts[s]);
	}
	free(j->names);
	free(j->labels);
	free(j->labels2);
	free(j->text);
	free(j->text2);
	free(j->faint);
}

/* Expected partitions come first, in the order of the tables, then others that some suite has
 * met. */
static void join_names(struct joined *j)
{
	unsigned most = 0;

	for (unsigned s = 0; s < j->n_suites; s++)
		most += j->space[s].n;
	j->names = as_xcalloc(most + 1, sizeof(*j->names));
	for (unsigned s = 0; s < j->n_suites; s++)
		for (unsigned i = 0; i < j->space[s].n; i++) {
			const struct as_part *part = &j->space[s].parts[i];

			if ((part->expected || part->count) && !has_name(j, part->name))
				j->names[j->n++] = part->name;
		}
}

static bool join(const struct as_suites *suites, const char *family, const char *arg,
		 enum as_space_kind kind, struct joined *j)
{
	*j = (struct joined){ 0 };
	for (unsigned s = 0; s < suites->n; s++) {
		if (!as_counts_find(suites->suite[s].counts, family, arg, kind, &j->space[s])) {
			free_joined(j);
			return false;
		}
		j->n_suites++;
	}
	join_names(j);
	j->faint = as_xcalloc(j->n + 1, sizeof(*j->faint));
	for (unsigned s = 0; s < j->n_suites; s++) {
		j->counts[s] = as_xcalloc(j->n + 1, sizeof(*j->counts[s]));
		for (unsigned i = 0; i < j->n; i++) {
			const struct as_part *part = find_part(&j->space[s], j->names[i]);

			j->counts[s][i] = part ? part->count : 0;
			j->faint[i] |= part && !part->expected;
		}
	}
	return true;
}

/* 2^10 is 1 KiB. */
static void size_label(unsigned log2, char out[16])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };

	snprintf(out, 16, "%u %s", 1u << log2 % 10, units[log2 / 10]);
}

/* Powers of two are shown by their exponent, with what they amount to below. */
static void label(struct joined *j, bool bytes)
{
	unsigned log2;
	bool powers = false;

	j->labels = as_xcalloc(j->n + 1, sizeof(*j->labels));
	j->labels2 = as_xcalloc(j->n + 1, sizeof(*j->labels2));
	j->text = as_xcalloc(j->n + 1, sizeof(*j->text));
	j->text2 = as_xcalloc(j->n + 1, sizeof(*j->text2));
	for (unsigned i = 0; i < j->n; i++)
		powers |= sscanf(j->names[i], "2^%u", &log2) == 1;
	for (unsigned i = 0; i < j->n; i++) {
		j->labels[i] = j->names[i];
		j->labels2[i] = j->text2[i];
		if (sscanf(j->names[i], "2^%u", &log2) == 1) {
			snprintf(j->text[i], sizeof(j->text[i]), "%u", log2);
			j->labels[i] = j->text[i];
			if (bytes)
				size_label(log2, j->text2[i]);
		} else if (powers && !strcmp(j->names[i], "0")) {
			j->labels[i] = "= 0";
		}
	}
	if (!powers || !bytes) {
		free(j->labels2);
		j->labels2 = NULL;
	}
}

static bool in_bytes(const struct as_space *space)
{
	static const char *const others[] = { "iovcnt", "dev" };

	for (unsigned i = 0; space->arg && i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(space->arg->name, others[i]))
			return false;
	return true;
}

static const char *x_label(const struct joined *j)
{
	if (j->labels2)
		return "log2 of the number, rounded down";
	switch (j->space[0].kind) {
	case AS_SPACE_OUTPUT:
		return "result";
	case AS_SPACE_VARIANTS:
		return "call";
	default:
		return j->space[0].arg ? j->space[0].arg->name : "";
	}
}

bool as_figure_space(const struct as_suites *suites, const char *family, const char *arg,
		     enum as_space_kind kind, const char *title, struct as_buf *out)
{
	struct as_figure_bars bars = { .title = title, .y_label = "times met (log10)" };
	struct joined j;

	if (!join(suites, family, arg, kind, &j))
		return false;
	label(&j, in_bytes(&j.space[0]));
	bars.x_label = x_label(&j);
	bars.labels = j.labels;
	bars.labels2 = j.labels2;
	bars.faint = j.faint;
	bars.n = j.n;
	bars.n_series = suites->n;
	for (unsigned s = 0; s < suites->n; s++) {
		bars.series[s] = suites->suite[s].name;
		bars.counts[s] = j.counts[s];
	}
	as_figure_bars(&bars, out);
	free_joined(&j);
	return true;
}

/* ---- Deviation ------------------------------------------------------------------------------- */

#define STEPS_A_DECADE 8
#define DECADES_MAX 12

/* TCD^2 = mean(L^2) - 2 t mean(L) + t^2, with L the logarithms of counts and t that of the target:
 * a curve needs one pass over the counts. */
static double deviation(const struct as_tcd *sums, double target)
{
	double t = log2(target), n = sums->n ? (double)sums->n : 1;
	double square = sums->log_squares / n - 2 * t * sums->logs / n + t * t;

	return square > 0 ? sqrt(square) : 0;
}

static bool sum_up(const struct as_suites *suites, const char *family, const char *arg,
		   struct as_tcd *sums, uint64_t *most)
{
	struct as_targets *one = as_targets_uniform(1);
	bool found = true;

	*most = 1;
	for (unsigned s = 0; s < suites->n && found; s++) {
		struct as_space space;

		found = as_counts_find(suites->suite[s].counts, family, arg,
				       arg ? AS_SPACE_PLAIN : AS_SPACE_OUTPUT, &space);
		if (!found)
			break;
		as_tcd_add(&sums[s], &space, one);
		for (unsigned i = 0; i < space.n; i++)
			if (space.parts[i].count > *most)
				*most = space.parts[i].count;
		as_space_free(&space);
	}
	as_targets_free(one);
	return found;
}

/* The deviation for targets from 1 up, with the points where suites cross. */
static bool figure_tcd(const struct as_suites *suites, const char *family, const char *arg,
		       const char *title, struct as_buf *out)
{
	struct as_figure_lines lines = { .title = title,
					 .x_label = "target for each partition (log10)",
					 .y_label = "TCD",
					 .n_series = suites->n };
	struct as_tcd sums[AS_FIGURE_SERIES_MAX] = { { 0 } };
	double x[DECADES_MAX * STEPS_A_DECADE + 1];
	double y[AS_FIGURE_SERIES_MAX][DECADES_MAX * STEPS_A_DECADE + 1];
	double marks[AS_FIGURE_SERIES_MAX * AS_FIGURE_SERIES_MAX], crossing;
	unsigned decades;
	uint64_t most;

	if (!sum_up(suites, family, arg, sums, &most))
		return false;
	decades = (unsigned)fmin(DECADES_MAX, fmax(3, ceil(log10((double)most)) + 1));
	lines.n = decades * STEPS_A_DECADE + 1;
	for (unsigned i = 0; i < lines.n; i++) {
		x[i] = pow(10, (double)i / STEPS_A_DECADE);
		for (unsigned s = 0; s < suites->n; s++)
			y[s][i] = deviation(&sums[s], x[i]);
	}
	for (unsigned s = 0; s < suites->n; s++) {
		lines.series[s] = suites->suite[s].name;
		lines.y[s] = y[s];
		for (unsigned r = 0; r < s; r++)
			if (as_tcd_crossing(&sums[r], &sums[s], &crossing) && crossing >= x[0] &&
			    crossing <= x[lines.n - 1])
				marks[lines.n_marks++] = crossing;
	}
	lines.x = x;
	lines.marks = marks;
	as_figure_lines(&lines, out);
	return true;
}

void as_figure_of_paper(const struct as_suites *suites, const struct as_figure_paper *figure,
			struct as_buf *out)
{
	bool found = figure->tcd
			     ? figure_tcd(suites, figure->family, figure->arg, figure->title, out)
			     : as_figure_space(suites, figure->family, figure->arg, figure->kind,
					       figure->title, out);

	as_assert(found);
}
