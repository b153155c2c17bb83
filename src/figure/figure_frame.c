/* SPDX-License-Identifier: GPL-2.0-or-later */
/* figure_frame: see figure_frame_priv.h. */
#include "figure/figure_frame_priv.h"

#include "base/show.h"

#include <stdio.h>
#include <string.h>

#define RIGHT 24
#define LEGEND_LINE 17

/*
 * Every element carries its colour as an attribute, which every program that draws SVG knows. The
 * classes are for the rules of the dark scheme alone, which win over attributes where they are
 * understood. The colours of series are Okabe and Ito's.
 */
static const struct as_colour colours[] = {
	[AS_ROLE_INK] = { "ink", "", "#1b1f24", "#e6e9ee" },
	[AS_ROLE_SOFT] = { "soft", "axis", "#5b6570", "#a2acb8" },
	[AS_ROLE_GRID] = { "", "grid", "#dfe3e8", "#333a43" },
	[AS_ROLE_PAPER] = { "paper", "", "#ffffff", "#15191e" },
	[AS_ROLE_S0] = { "c0", "l0", "#0072b2", "#56b4e9" },
	[AS_ROLE_S1] = { "c1", "l1", "#e08600", "#f0a830" },
	[AS_ROLE_S2] = { "c2", "l2", "#009e73", "#2ec99a" },
	[AS_ROLE_S3] = { "c3", "l3", "#cc79a7", "#e3a1c6" },
};

const char *const as_frame_dashes[] = { "", " stroke-dasharray=\"7 3\"",
					" stroke-dasharray=\"2 3\"",
					" stroke-dasharray=\"9 3 2 3\"" };

const struct as_colour *as_frame_colour(enum as_role role)
{
	return &colours[role];
}

static void add_style(struct as_buf *out)
{
	as_buf_adds(out, "<style>@media(prefers-color-scheme:dark){");
	for (size_t i = 0; i < sizeof(colours) / sizeof(colours[0]); i++) {
		if (*colours[i].class)
			as_buf_addf(out, ".af .%s{fill:%s}", colours[i].class, colours[i].dark);
		if (*colours[i].line)
			as_buf_addf(out, ".af .%s{stroke:%s}", colours[i].line, colours[i].dark);
	}
	as_buf_adds(out, "}</style>");
}

void as_figure_escape(struct as_buf *out, const char *raw)
{
	struct as_buf shown = { 0 };

	/* The name of a file may hold bytes that XML does not allow. */
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
void as_frame_decade(struct as_buf *out, int power)
{
	static const char *const units[] = { "", "k", "M", "G", "T", "P", "E" };
	static const char *const factors[] = { "1", "10", "100" };

	as_buf_adds(out, factors[power % 3]);
	as_buf_adds(out, units[power / 3 < 7 ? power / 3 : 6]);
}

/* ---- What both kinds of chart have ----------------------------------------------------------- */

void as_frame_text(struct as_buf *out, enum as_role role, double x, double y,
		   const char *attributes, const char *text)
{
	as_buf_addf(out, "<text class=\"%s\" fill=\"%s\" x=\"%.1f\" y=\"%.1f\"%s%s>",
		    colours[role].class, colours[role].light, x, y, *attributes ? " " : "",
		    attributes);
	as_figure_escape(out, text);
	as_buf_adds(out, "</text>\n");
}

/* Begins an element of the SVG; the caller adds its path and ends it. */
void as_frame_line(struct as_buf *out, enum as_role role, double width)
{
	as_buf_addf(out, "<path class=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%g\"",
		    colours[role].line, colours[role].light, width);
}

/* How many bytes of a name are shown; the rest does not fit. */
static int shown(const char *name, double width)
{
	size_t fits = (size_t)((width - 34) / AS_FRAME_CAPITAL), len = strlen(name);

	if (len <= fits)
		return (int)len;
	len = fits > 3 ? fits - 1 : 3;
	/* Not in the middle of a character. */
	while (len && ((unsigned char)name[len] & 0xc0) == 0x80)
		len--;
	return (int)len;
}

static double item_width(const char *name, double width)
{
	return shown(name, width) * AS_FRAME_CAPITAL + 34;
}

/* Lines that the legend takes in this width. */
static unsigned legend_lines(const char *const *series, unsigned n, double width)
{
	unsigned lines = n > 0;
	double x = 0;

	for (unsigned i = 0; i < n; i++) {
		if (x > 0 && x + item_width(series[i], width) > width) {
			lines++;
			x = 0;
		}
		x += item_width(series[i], width);
	}
	return lines;
}

double as_frame_legend_width(const char *const *series, unsigned n)
{
	double width = 0;

	for (unsigned i = 0; i < n; i++)
		width += (double)strlen(series[i]) * AS_FRAME_CAPITAL + 34;
	return width;
}

static void legend(const struct as_frame *f, const char *const *series, unsigned n, bool lines)
{
	double x = 0, y = 32;

	for (unsigned i = 0; i < n; i++) {
		double width = item_width(series[i], f->width);
		struct as_buf name = { 0 };

		if (x > 0 && x + width > f->width) {
			x = 0;
			y += LEGEND_LINE;
		}
		if (lines) {
			as_frame_line(f->out, AS_ROLE_S0 + i, 2);
			as_buf_addf(f->out, "%s d=\"M%.1f %.1fh18\"/>\n", as_frame_dashes[i],
				    f->left + x, y + 5);
		} else {
			as_buf_addf(f->out,
				    "<rect class=\"%s\" fill=\"%s\" x=\"%.1f\" y=\"%.1f\" "
				    "width=\"10\" height=\"10\"/>\n",
				    colours[AS_ROLE_S0 + i].class, colours[AS_ROLE_S0 + i].light,
				    f->left + x, y);
		}
		as_buf_add(&name, series[i], (size_t)shown(series[i], f->width));
		if (name.len < strlen(series[i]))
			as_buf_adds(&name, "\xe2\x80\xa6");
		as_frame_text(f->out, AS_ROLE_INK, f->left + x + (lines ? 23 : 15), y + 9, "",
			      as_buf_str(&name));
		as_buf_free(&name);
		x += width;
	}
}

/* The top of the plot: below title and legend. */
double as_frame_top(const char *const *series, unsigned n, double width)
{
	return 41 + LEGEND_LINE * legend_lines(series, n, width);
}

/* `height` is that of the whole. */
void as_frame_begin(const struct as_frame *f, double height, const char *title,
		    const char *const *series, unsigned n_series, bool lines)
{
	double width = f->left + f->width + RIGHT;

	as_buf_addf(f->out,
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"af\" role=\"img\" "
		    "viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
		    "font-family=\"system-ui, 'DejaVu Sans', Helvetica, Arial, sans-serif\" "
		    "font-size=\"11\">\n<title>",
		    width, height, width, height);
	as_figure_escape(f->out, title);
	as_buf_adds(f->out, "</title>\n");
	add_style(f->out);
	as_buf_addf(f->out,
		    "\n<rect class=\"paper\" fill=\"%s\" width=\"%.0f\" height=\"%.0f\"/>\n",
		    colours[AS_ROLE_PAPER].light, width, height);
	as_frame_text(f->out, AS_ROLE_INK, f->left, 20, "font-size=\"14\" font-weight=\"600\"",
		      title);
	legend(f, series, n_series, lines);
}

void as_frame_y_label(const struct as_frame *f, const char *label)
{
	as_buf_addf(f->out,
		    "<text class=\"soft\" fill=\"%s\" text-anchor=\"middle\" "
		    "transform=\"translate(%.1f %.1f) rotate(-90)\">",
		    colours[AS_ROLE_SOFT].light, f->left - 50, f->top + f->height / 2);
	as_figure_escape(f->out, label);
	as_buf_adds(f->out, "</text>\n");
}

void as_frame_y_line(const struct as_frame *f, double y, const char *label)
{
	as_frame_line(f->out, AS_ROLE_GRID, 1);
	as_buf_addf(f->out, " d=\"M%.1f %.1fh%.1f\"/>\n", f->left, y, f->width);
	as_frame_text(f->out, AS_ROLE_SOFT, f->left - 6, y + 4, "text-anchor=\"end\"", label);
}

void as_frame_base(const struct as_frame *f)
{
	as_frame_line(f->out, AS_ROLE_SOFT, 1);
	as_buf_addf(f->out, " d=\"M%.1f %.1fh%.1f\"/>\n", f->left, f->top + f->height, f->width);
}
