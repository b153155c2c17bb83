/* SPDX-License-Identifier: GPL-2.0-or-later */
/* figure_bars: bars over categories with a logarithmic axis, in as many rows as they need. */
#include "figure/figure_frame_priv.h"

#include <math.h>
#include <string.h>

#define ROW_HEIGHT 190 /* height of the plot, if bars take several rows */
#define CHAR_WIDTH 6.3 /* width of a letter of the labels, about */
#define CAPITAL 7.6 /* width of a capital letter */
#define BAR 9.0
#define BASE_LOG (-0.3) /* where the axis of counts begins: a bar of 1 must be seen */

static double count_y(const struct as_frame *f, double top_log, double count)
{
	double share = (log10(count) - BASE_LOG) / (top_log - BASE_LOG);

	return f->top + f->height * (1 - share);
}

static double bars_top(const struct as_figure_bars *fig)
{
	uint64_t most = 10;

	for (unsigned s = 0; s < fig->n_series; s++)
		for (unsigned i = 0; i < fig->n; i++)
			if (fig->counts[s][i] > most)
				most = fig->counts[s][i];
	return ceil(log10((double)most) - 1e-9);
}

static void one_bar(const struct as_frame *f, const struct as_figure_bars *fig, unsigned s,
		    unsigned i, double x, double top_log)
{
	uint64_t count = fig->counts[s][i];
	double base = f->top + f->height, y;

	if (!count) {
		/* Draws a cross for a partition that was not tested, where there would be no
		 * bar. */
		as_buf_addf(f->out,
			    "<path class=\"axis none\" fill=\"none\" stroke=\"%s\" "
			    "stroke-width=\"1.2\" d=\"M%.1f %.1fl5 5m0 -5l-5 5\"><title>",
			    as_frame_colour(AS_ROLE_SOFT)->light, x + BAR / 2 - 2.5, base - 8);
	} else {
		bool faint = fig->faint && fig->faint[i];

		y = count_y(f, top_log, (double)count);
		as_buf_addf(f->out,
			    "<rect class=\"%s%s\" fill=\"%s\"%s x=\"%.1f\" y=\"%.1f\" "
			    "width=\"%.1f\" height=\"%.1f\"><title>",
			    as_frame_colour(AS_ROLE_S0 + s)->class, faint ? " faint" : "",
			    as_frame_colour(AS_ROLE_S0 + s)->light,
			    faint ? " opacity=\"0.55\"" : "", x, y, BAR - 1, base - y);
	}
	as_figure_escape(f->out, fig->series[s]);
	as_buf_adds(f->out, ": ");
	as_figure_escape(f->out, fig->labels[i]);
	as_buf_adds(f->out, ": ");
	as_figure_number(f->out, count);
	as_buf_adds(f->out, count ? "</title></rect>\n" : "</title></path>\n");
}

static size_t longest(const char *const *labels, unsigned n)
{
	size_t most = 0;

	for (unsigned i = 0; labels && i < n; i++)
		if (strlen(labels[i]) > most)
			most = strlen(labels[i]);
	return most;
}

static void slanted(struct as_buf *out, enum as_role role, double x, double y, const char *label)
{
	as_buf_addf(out,
		    "<text class=\"%s\" fill=\"%s\" text-anchor=\"end\" "
		    "transform=\"translate(%.1f %.1f) rotate(-50)\">",
		    as_frame_colour(role)->class, as_frame_colour(role)->light, x, y);
	as_figure_escape(out, label);
	as_buf_adds(out, "</text>\n");
}

/* How the bars are laid out. */
struct layout {
	double group; /* width of a group of bars */
	unsigned a_row, rows;
	double top_log;
};

/* One row of bars, with the labels below it. */
struct row {
	unsigned first, n;
	bool slant;
	double labels, labels2; /* heights */
};

static void bar_label(const struct as_frame *f, const struct as_figure_bars *fig,
		      const struct row *row, unsigned i, double x)
{
	double y = f->top + f->height;
	enum as_role role = fig->faint && fig->faint[i] ? AS_ROLE_SOFT : AS_ROLE_INK;

	if (row->slant)
		slanted(f->out, role, x + 4, y + 12, fig->labels[i]);
	else
		as_frame_text(f->out, role, x, y + 15, "text-anchor=\"middle\"", fig->labels[i]);
	if (fig->labels2 && fig->labels2[i] && *fig->labels2[i])
		slanted(f->out, AS_ROLE_SOFT, x + 4, y + row->labels + 12, fig->labels2[i]);
}

static double slant_height(size_t chars)
{
	return (double)chars * CHAR_WIDTH * 0.77 + 14;
}

static struct row row_of(const struct as_figure_bars *fig, const struct layout *l, unsigned r)
{
	struct row row = { .first = r * l->a_row };
	size_t most;

	if (row.first < fig->n)
		row.n = fig->n - row.first < l->a_row ? fig->n - row.first : l->a_row;
	most = row.n ? longest(fig->labels + row.first, row.n) : 0;
	row.slant = (double)most * CAPITAL > l->group - 4;
	row.labels = row.slant ? slant_height(most) : 22;
	if (fig->labels2 && row.n)
		row.labels2 = slant_height(longest(fig->labels2 + row.first, row.n));
	return row;
}

static double row_height(const struct as_frame *f, const struct row *row)
{
	return f->height + row->labels + row->labels2 + 12;
}

/* How far the slanted labels of the first bars of a row reach beyond its left end. */
static double overhang(const struct as_figure_bars *fig, const struct layout *l)
{
	double most = AS_FRAME_LEFT;

	for (unsigned i = 0; i < fig->n; i++) {
		double x = l->group * (i % l->a_row + 0.5);

		if (row_of(fig, l, i / l->a_row).slant)
			most = fmax(most, (double)strlen(fig->labels[i]) * AS_FRAME_CAPITAL * 0.68 +
						  8 - x);
		if (fig->labels2 && fig->labels2[i])
			most = fmax(most,
				    (double)strlen(fig->labels2[i]) * AS_FRAME_CAPITAL * 0.68 + 8 -
					    x);
	}
	return most;
}

/* Rows of equal length, none wider than there is room for. */
static struct layout lay_out(const struct as_figure_bars *fig)
{
	struct layout l = { .group = BAR * fig->n_series + 8, .top_log = bars_top(fig) };
	double wanted = fmax(as_frame_legend_width(fig->series, fig->n_series),
			     (double)strlen(fig->title) * 8.0);
	unsigned most = (unsigned)(AS_FRAME_WIDTH / l.group), n = fig->n ? fig->n : 1;

	wanted = fmin(fmax(wanted, 360), AS_FRAME_WIDTH);
	l.rows = (n + most - 1) / most;
	l.a_row = (n + l.rows - 1) / l.rows;
	if (l.group * l.a_row < wanted)
		l.group = wanted / l.a_row;
	return l;
}

static void bar_row(const struct as_frame *f, const struct as_figure_bars *fig,
		    const struct layout *l, const struct row *row)
{
	for (int power = 0; power <= (int)l->top_log; power++) {
		struct as_buf label = { 0 };

		as_frame_decade(&label, power);
		as_frame_y_line(f, count_y(f, l->top_log, pow(10, power)), as_buf_str(&label));
		as_buf_free(&label);
	}
	as_frame_y_label(f, fig->y_label);
	for (unsigned i = row->first; i < row->first + row->n; i++) {
		double x = f->left + l->group * (i - row->first + 0.5);

		for (unsigned s = 0; s < fig->n_series; s++)
			one_bar(f, fig, s, i, x + BAR * (s - fig->n_series / 2.0), l->top_log);
		bar_label(f, fig, row, i, x);
	}
	as_frame_base(f);
}

void as_figure_bars(const struct as_figure_bars *fig, struct as_buf *out)
{
	struct layout l = lay_out(fig);
	struct as_frame f = { .out = out,
			      .left = overhang(fig, &l),
			      .width = l.group * l.a_row,
			      .height = l.rows > 1 ? ROW_HEIGHT : AS_FRAME_HEIGHT };
	double height;

	f.top = height = as_frame_top(fig->series, fig->n_series, f.width);
	for (unsigned r = 0; r < l.rows; r++) {
		struct row row = row_of(fig, &l, r);

		height += row_height(&f, &row);
	}
	as_frame_begin(&f, height + 12, fig->title, fig->series, fig->n_series, false);
	for (unsigned r = 0; r < l.rows; r++) {
		struct row row = row_of(fig, &l, r);

		bar_row(&f, fig, &l, &row);
		f.top += row_height(&f, &row);
	}
	as_frame_text(out, AS_ROLE_SOFT, f.left + f.width / 2, f.top + 4, "text-anchor=\"middle\"",
		      fig->x_label);
	as_buf_adds(out, "</svg>\n");
}
