/* SPDX-License-Identifier: GPL-2.0-or-later */
/* figure_lines: curves over a logarithmic axis. */
#include "figure/figure_frame_priv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double line_x(const struct as_frame *f, const struct as_figure_lines *fig, double x)
{
	double from = log10(fig->x[0]), to = log10(fig->x[fig->n - 1]);

	return f->left + f->width * (log10(x) - from) / (to - from);
}

static double lines_top(const struct as_figure_lines *fig)
{
	double most = 1;

	for (unsigned s = 0; s < fig->n_series; s++)
		for (unsigned i = 0; i < fig->n; i++)
			most = fmax(most, fig->y[s][i]);
	return ceil(most);
}

static void x_axis(const struct as_frame *f, const struct as_figure_lines *fig)
{
	double base = f->top + f->height;

	for (int power = (int)ceil(log10(fig->x[0]) - 1e-9);
	     power <= (int)floor(log10(fig->x[fig->n - 1]) + 1e-9); power++) {
		double x = line_x(f, fig, pow(10, power));
		struct as_buf label = { 0 };

		as_frame_decade(&label, power < 0 ? 0 : power);
		as_frame_line(f->out, AS_ROLE_GRID, 1);
		as_buf_addf(f->out, " d=\"M%.1f %.1fv%.1f\"/>\n", x, f->top, f->height);
		as_frame_text(f->out, AS_ROLE_SOFT, x, base + 16, "text-anchor=\"middle\"",
			      as_buf_str(&label));
		as_buf_free(&label);
	}
	as_frame_base(f);
	as_frame_text(f->out, AS_ROLE_SOFT, f->left + f->width / 2, base + 36,
		      "text-anchor=\"middle\"", fig->x_label);
}

static void marks(const struct as_frame *f, const struct as_figure_lines *fig)
{
	for (unsigned i = 0; i < fig->n_marks; i++) {
		double x = line_x(f, fig, fig->marks[i]);
		bool again = false;
		bool late = x > f->left + f->width - 60;
		struct as_buf label = { 0 };

		/* Several may cross in the same place. */
		for (unsigned k = 0; k < i; k++)
			again |= fabs(line_x(f, fig, fig->marks[k]) - x) < 1;
		if (again)
			continue;
		as_frame_line(f->out, AS_ROLE_SOFT, 1);
		as_buf_addf(f->out, " stroke-dasharray=\"4 3\" d=\"M%.1f %.1fv%.1f\"/>\n", x,
			    f->top, f->height);
		as_figure_number(&label, (uint64_t)(fig->marks[i] + 0.5));
		as_frame_text(f->out, AS_ROLE_INK, late ? x - 5 : x + 5, f->top + 12 + 14 * (i % 3),
			      late ? "text-anchor=\"end\"" : "", as_buf_str(&label));
		as_buf_free(&label);
	}
}

void as_figure_lines(const struct as_figure_lines *fig, struct as_buf *out)
{
	struct as_frame f = {
		.out = out, .left = AS_FRAME_LEFT, .width = 560, .height = AS_FRAME_HEIGHT
	};
	double top = lines_top(fig), wanted;
	int step = top > 12 ? 2 : 1;

	as_assert(fig->n > 1);
	wanted = fmax(as_frame_legend_width(fig->series, fig->n_series),
		      (double)strlen(fig->title) * 8.0);
	f.width = fmin(fmax(f.width, wanted), AS_FRAME_WIDTH);
	f.top = as_frame_top(fig->series, fig->n_series, f.width);
	as_frame_begin(&f, f.top + f.height + 48, fig->title, fig->series, fig->n_series, true);
	for (int y = 0; y <= (int)top; y += step) {
		char label[16];

		snprintf(label, sizeof(label), "%d", y);
		as_frame_y_line(&f, f.top + f.height * (1 - y / top), label);
	}
	as_frame_y_label(&f, fig->y_label);
	x_axis(&f, fig);
	marks(&f, fig);
	for (unsigned s = 0; s < fig->n_series; s++) {
		as_frame_line(out, AS_ROLE_S0 + s, 2);
		as_buf_addf(out, "%s stroke-linejoin=\"round\" d=\"", as_frame_dashes[s]);
		for (unsigned i = 0; i < fig->n; i++)
			as_buf_addf(out, "%c%.1f %.1f", i ? 'L' : 'M', line_x(&f, fig, fig->x[i]),
				    f.top + f.height * (1 - fig->y[s][i] / top));
		as_buf_adds(out, "\"/>\n");
	}
	as_buf_adds(out, "</svg>\n");
}
