/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * figure: charts as SVG text: bars over categories with a logarithmic axis, and curves. Numbers in,
 * text out; knows nothing of system calls. Each chart stands alone (its style is inside) and can be
 * put into HTML as it is. The colours can be told apart with every kind of colour vision. They are
 * plain attributes, which every program that draws SVG knows; where style rules are known, they
 * follow the reader's choice of light or dark. Figures with many bars take several rows.
 */
#ifndef AS_FIGURE_FIGURE_H
#define AS_FIGURE_FIGURE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define AS_FIGURE_SERIES_MAX 4

struct as_figure_bars {
	const char *title, *x_label, *y_label;
	const char *const *labels; /* n */
	const char *const *labels2; /* n, a second line of labels; NULL: none */
	const bool *faint; /* n: shown, but not expected to be tested; NULL: none */
	unsigned n;
	const char *series[AS_FIGURE_SERIES_MAX]; /* names */
	const uint64_t *counts[AS_FIGURE_SERIES_MAX]; /* n each */
	unsigned n_series;
};

void as_figure_bars(const struct as_figure_bars *figure, struct as_buf *out);

struct as_figure_lines {
	const char *title, *x_label, *y_label;
	const double *x; /* n, ascending, above 0; the axis is logarithmic */
	unsigned n;
	const char *series[AS_FIGURE_SERIES_MAX];
	const double *y[AS_FIGURE_SERIES_MAX]; /* n each */
	unsigned n_series;
	const double *marks; /* places on the x axis to point out */
	unsigned n_marks;
};

void as_figure_lines(const struct as_figure_lines *figure, struct as_buf *out);

/* Adds text with &, <, > and quotes escaped, for SVG and HTML. */
void as_figure_escape(struct as_buf *out, const char *text);
/* 4099770 as "4,099,770". */
void as_figure_number(struct as_buf *out, uint64_t value);

#endif
