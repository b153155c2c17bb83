/* SPDX-License-Identifier: GPL-2.0-or-later */
/* figure: see figure.h. */
#include "cover/figure.h"

#include "base/show.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LEFT 64
#define RIGHT 24
#define PLOT_HEIGHT 260
#define CHAR_WIDTH 6.3 /* of the labels, about */
#define BAR 9.0
#define BASE_LOG (-0.3) /* where the axis of counts begins: a bar of 1 must be seen */

/* Okabe and Ito's; the last is for what is faint. */
static const char style[] =
	"<style>"
	".af{--ink:#1b1f24;--soft:#5b6570;--grid:#dfe3e8;--paper:#ffffff;"
	"--s0:#0072b2;--s1:#e08600;--s2:#009e73;--s3:#cc79a7;"
	"font-family:system-ui,'DejaVu Sans',Helvetica,Arial,sans-serif;font-size:11px}"
	"@media(prefers-color-scheme:dark){"
	".af{--ink:#e6e9ee;--soft:#a2acb8;--grid:#333a43;--paper:#15191e;"
	"--s0:#56b4e9;--s1:#f0a830;--s2:#2ec99a;--s3:#e3a1c6}}"
	".af text{fill:var(--ink)}.af .soft{fill:var(--soft)}.af .title{font-size:14px;"
	"font-weight:600}.af .grid{stroke:var(--grid);stroke-width:1}.af .axis{stroke:var(--soft);"
	"stroke-width:1}.af .paper{fill:var(--paper)}.af .none{stroke:var(--soft);stroke-width:1.2}"
	".af .faint{opacity:.55}"
	".af .c0{fill:var(--s0)}.af .c1{fill:var(--s1)}.af .c2{fill:var(--s2)}"
	".af .c3{fill:var(--s3)}.af .l{fill:none;stroke-width:2;stroke-linejoin:round}"
	".af .l0{stroke:var(--s0)}.af .l1{stroke:var(--s1);stroke-dasharray:7 3}"
	".af .l2{stroke:var(--s2);stroke-dasharray:2 3}"
	".af .l3{stroke:var(--s3);stroke-dasharray:9 3 2 3}"
	".af .mark{stroke:var(--soft);stroke-dasharray:4 3}"
	"</style>";

void as_figure_escape(struct as_buf *out, const char *raw)
{
	struct as_buf shown = { 0 };

	/* What XML does not allow, a name of a file may hold. */
	as_show(&shown, raw);
	for (const char *text = as_buf_str(&shown); *text; text++) {
		switch (*text) {
		case '&':
			as_buf_adds(out, "&amp;");
			break;
		case '<':
			as_buf_adds(out, "&lt;");
			break;
		case '>':
			as_buf_adds(out, "&gt;");
			break;
		case '"':
			as_buf_adds(out, "&quot;");
			break;
		default:
			as_buf_addc(out, *text);
		}
	}
	as_buf_free(&shown);
}

void as_figure_number(struct as_buf *out, uint64_t value)
{
	char digits[32];
	int n = 0;

	do {
		if (n % 4 == 3)
			digits[n++] = ',';
		digits[n++] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	while (n)
		as_buf_addc(out, digits[--n]);
}

/* 1, 10, 100, 1k, 10k, 100k, 1M, ... */
static void decade(struct as_buf *out, int power)
{
	static const char *const units[] = { "", "k", "M", "G", "T", "P", "E" };
	static const char *const factors[] = { "1", "10", "100" };

	as_buf_adds(out, factors[power % 3]);
	as_buf_adds(out, units[power / 3 < 7 ? power / 3 : 6]);
}

/* ---- What both kinds of chart have ----------------------------------------------------------- */

struct frame {
	struct as_buf *out;
	double left, top, width, height; /* of the plot */
};

static void text_at(struct as_buf *out, double x, double y, const char *attributes,
		    const char *text)
{
	as_buf_addf(out, "<text x=\"%.1f\" y=\"%.1f\"%s%s>", x, y, *attributes ? " " : "",
		    attributes);
	as_figure_escape(out, text);
	as_buf_adds(out, "</text>\n");
}

static double legend_width(const char *const *series, unsigned n)
{
	double width = 0;

	for (unsigned i = 0; i < n; i++)
		width += (double)strlen(series[i]) * CHAR_WIDTH + 34;
	return width;
}

static void begin(const struct frame *f, double bottom, const char *title,
		  const char *const *series, unsigned n_series, bool lines)
{
	double x = f->left;

	as_buf_addf(f->out,
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"af\" role=\"img\" "
		    "viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\">\n<title>",
		    f->left + f->width + RIGHT, f->top + f->height + bottom,
		    f->left + f->width + RIGHT, f->top + f->height + bottom);
	as_figure_escape(f->out, title);
	as_buf_addf(f->out,
		    "</title>\n%s\n<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n",
		    style);
	text_at(f->out, f->left, 20, "class=\"title\"", title);
	for (unsigned i = 0; i < n_series; i++) {
		if (lines)
			as_buf_addf(f->out, "<path class=\"l l%u\" d=\"M%.1f 37h18\"/>\n", i, x);
		else
			as_buf_addf(f->out,
				    "<rect class=\"c%u\" x=\"%.1f\" y=\"32\" width=\"10\" "
				    "height=\"10\"/>\n",
				    i, x);
		text_at(f->out, x + (lines ? 23 : 15), 41, "", series[i]);
		x += (double)strlen(series[i]) * CHAR_WIDTH + 34;
	}
}

static void y_label(const struct frame *f, const char *label)
{
	as_buf_addf(f->out,
		    "<text class=\"soft\" text-anchor=\"middle\" "
		    "transform=\"translate(14 %.1f) rotate(-90)\">",
		    f->top + f->height / 2);
	as_figure_escape(f->out, label);
	as_buf_adds(f->out, "</text>\n");
}

static void y_line(const struct frame *f, double y, const char *label)
{
	as_buf_addf(f->out, "<path class=\"grid\" d=\"M%.1f %.1fh%.1f\"/>\n", f->left, y, f->width);
	text_at(f->out, f->left - 6, y + 4, "class=\"soft\" text-anchor=\"end\"", label);
}

/* ---- Bars ------------------------------------------------------------------------------------ */

static double count_y(const struct frame *f, double top_log, double count)
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

static void one_bar(const struct frame *f, const struct as_figure_bars *fig, unsigned s, unsigned i,
		    double x, double top_log)
{
	uint64_t count = fig->counts[s][i];
	double base = f->top + f->height, y;

	if (!count) {
		/* Not tested: a cross, in place of nothing at all. */
		as_buf_addf(f->out, "<path class=\"none\" d=\"M%.1f %.1fl5 5m0 -5l-5 5\"><title>",
			    x + BAR / 2 - 2.5, base - 8);
	} else {
		y = count_y(f, top_log, (double)count);
		as_buf_addf(f->out,
			    "<rect class=\"c%u%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
			    "height=\"%.1f\"><title>",
			    s, fig->faint && fig->faint[i] ? " faint" : "", x, y, BAR - 1,
			    base - y);
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

static void slanted(struct as_buf *out, double x, double y, const char *class, const char *label)
{
	as_buf_addf(out,
		    "<text%s text-anchor=\"end\" transform=\"translate(%.1f %.1f) rotate(-50)\">",
		    class, x, y);
	as_figure_escape(out, label);
	as_buf_adds(out, "</text>\n");
}

static void bar_labels(const struct frame *f, const struct as_figure_bars *fig, double group,
		       bool slant, double label_height)
{
	double y = f->top + f->height;

	for (unsigned i = 0; i < fig->n; i++) {
		double x = f->left + group * (i + 0.5);
		const char *class = fig->faint && fig->faint[i] ? " class=\"soft\"" : "";

		if (slant) {
			slanted(f->out, x + 4, y + 12, class, fig->labels[i]);
		} else {
			text_at(f->out, x, y + 15, "text-anchor=\"middle\"", fig->labels[i]);
		}
		if (fig->labels2 && fig->labels2[i] && *fig->labels2[i])
			slanted(f->out, x + 4, y + label_height + 12, " class=\"soft\"",
				fig->labels2[i]);
	}
}

static double slant_height(size_t chars)
{
	return (double)chars * CHAR_WIDTH * 0.77 + 14;
}

void as_figure_bars(const struct as_figure_bars *fig, struct as_buf *out)
{
	double group = BAR * fig->n_series + 8, top_log = bars_top(fig), heights[2], wanted;
	bool slant = (double)longest(fig->labels, fig->n) * CHAR_WIDTH > group - 2;
	struct frame f = { .out = out, .left = LEFT, .top = 58, .height = PLOT_HEIGHT };

	wanted = fmax(legend_width(fig->series, fig->n_series), (double)strlen(fig->title) * 8.0);
	if (group * fig->n < fmax(wanted, 360))
		group = fmax(wanted, 360) / (fig->n ? fig->n : 1);
	slant = slant && (double)longest(fig->labels, fig->n) * CHAR_WIDTH > group - 2;
	f.width = group * fig->n;
	heights[0] = slant ? slant_height(longest(fig->labels, fig->n)) : 22;
	heights[1] = fig->labels2 ? slant_height(longest(fig->labels2, fig->n)) : 0;
	begin(&f, heights[0] + heights[1] + 24, fig->title, fig->series, fig->n_series, false);
	for (int power = 0; power <= (int)top_log; power++) {
		struct as_buf label = { 0 };

		decade(&label, power);
		y_line(&f, count_y(&f, top_log, pow(10, power)), as_buf_str(&label));
		as_buf_free(&label);
	}
	y_label(&f, fig->y_label);
	for (unsigned i = 0; i < fig->n; i++)
		for (unsigned s = 0; s < fig->n_series; s++)
			one_bar(&f, fig, s, i,
				f.left + group * (i + 0.5) + BAR * (s - fig->n_series / 2.0),
				top_log);
	as_buf_addf(out, "<path class=\"axis\" d=\"M%.1f %.1fh%.1f\"/>\n", f.left, f.top + f.height,
		    f.width);
	bar_labels(&f, fig, group, slant, heights[0]);
	text_at(out, f.left + f.width / 2, f.top + f.height + heights[0] + heights[1] + 16,
		"class=\"soft\" text-anchor=\"middle\"", fig->x_label);
	as_buf_adds(out, "</svg>\n");
}

/* ---- Curves ---------------------------------------------------------------------------------- */

static double line_x(const struct frame *f, const struct as_figure_lines *fig, double x)
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

static void x_axis(const struct frame *f, const struct as_figure_lines *fig)
{
	double base = f->top + f->height;

	for (int power = (int)ceil(log10(fig->x[0]) - 1e-9);
	     power <= (int)floor(log10(fig->x[fig->n - 1]) + 1e-9); power++) {
		double x = line_x(f, fig, pow(10, power));
		struct as_buf label = { 0 };

		decade(&label, power < 0 ? 0 : power);
		as_buf_addf(f->out, "<path class=\"grid\" d=\"M%.1f %.1fv%.1f\"/>\n", x, f->top,
			    f->height);
		text_at(f->out, x, base + 16, "class=\"soft\" text-anchor=\"middle\"",
			as_buf_str(&label));
		as_buf_free(&label);
	}
	as_buf_addf(f->out, "<path class=\"axis\" d=\"M%.1f %.1fh%.1f\"/>\n", f->left, base,
		    f->width);
	text_at(f->out, f->left + f->width / 2, base + 36, "class=\"soft\" text-anchor=\"middle\"",
		fig->x_label);
}

static void marks(const struct frame *f, const struct as_figure_lines *fig)
{
	for (unsigned i = 0; i < fig->n_marks; i++) {
		double x = line_x(f, fig, fig->marks[i]);
		bool late = x > f->left + f->width - 60;
		struct as_buf label = { 0 };

		as_buf_addf(f->out, "<path class=\"mark\" d=\"M%.1f %.1fv%.1f\"/>\n", x, f->top,
			    f->height);
		as_figure_number(&label, (uint64_t)(fig->marks[i] + 0.5));
		text_at(f->out, late ? x - 5 : x + 5, f->top + 12 + 14 * (i % 3),
			late ? "text-anchor=\"end\"" : "", as_buf_str(&label));
		as_buf_free(&label);
	}
}

void as_figure_lines(const struct as_figure_lines *fig, struct as_buf *out)
{
	struct frame f = {
		.out = out, .left = LEFT, .top = 58, .width = 560, .height = PLOT_HEIGHT
	};
	double top = lines_top(fig), wanted;
	int step = top > 12 ? 2 : 1;

	as_assert(fig->n > 1);
	wanted = fmax(legend_width(fig->series, fig->n_series), (double)strlen(fig->title) * 8.0);
	f.width = fmax(f.width, wanted);
	begin(&f, 48, fig->title, fig->series, fig->n_series, true);
	for (int y = 0; y <= (int)top; y += step) {
		char label[16];

		snprintf(label, sizeof(label), "%d", y);
		y_line(&f, f.top + f.height * (1 - y / top), label);
	}
	y_label(&f, fig->y_label);
	x_axis(&f, fig);
	marks(&f, fig);
	for (unsigned s = 0; s < fig->n_series; s++) {
		as_buf_addf(out, "<path class=\"l l%u\" d=\"", s);
		for (unsigned i = 0; i < fig->n; i++)
			as_buf_addf(out, "%c%.1f %.1f", i ? 'L' : 'M', line_x(&f, fig, fig->x[i]),
				    f.top + f.height * (1 - fig->y[s][i] / top));
		as_buf_adds(out, "\"/>\n");
	}
	as_buf_adds(out, "</svg>\n");
}
