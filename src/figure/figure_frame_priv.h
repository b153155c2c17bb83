/* SPDX-License-Identifier: GPL-2.0-or-later */
/* figure_frame_priv: what all charts share: colours, title, legend, axes. */
#ifndef AS_FIGURE_FIGURE_FRAME_PRIV_H
#define AS_FIGURE_FIGURE_FRAME_PRIV_H

#include "figure/figure.h"

#define AS_FRAME_LEFT 64
#define AS_FRAME_WIDTH 960 /* largest width of the plot: wider figures wrap */
#define AS_FRAME_HEIGHT 260
#define AS_FRAME_CAPITAL 6.9 /* width of a capital letter of labels */

enum as_role {
	AS_ROLE_INK,
	AS_ROLE_SOFT,
	AS_ROLE_GRID,
	AS_ROLE_PAPER,
	AS_ROLE_S0, /* the first of the series */
	AS_ROLE_S1,
	AS_ROLE_S2,
	AS_ROLE_S3,
};

struct as_colour {
	const char *class; /* class of elements that are filled with it */
	const char *line; /* class of elements whose lines have it */
	const char *light, *dark;
};

const struct as_colour *as_frame_colour(enum as_role role);
extern const char *const as_frame_dashes[]; /* dashes of each series, as an attribute */

struct as_frame {
	struct as_buf *out;
	double left, top, width, height; /* of the plot */
};

/* 1, 10, 100, 1k, 10k, 100k, 1M, ... */
void as_frame_decade(struct as_buf *out, int power);
void as_frame_text(struct as_buf *out, enum as_role role, double x, double y,
		   const char *attributes, const char *text);
/* Begins an element of the SVG; the caller adds its path and ends it. */
void as_frame_line(struct as_buf *out, enum as_role role, double width);
/* All in one line. */
double as_frame_legend_width(const char *const *series, unsigned n);
/* The top of the plot: below title and legend. */
double as_frame_top(const char *const *series, unsigned n, double width);
/* `height` is that of the whole. */
void as_frame_begin(const struct as_frame *f, double height, const char *title,
		    const char *const *series, unsigned n_series, bool lines);
void as_frame_y_label(const struct as_frame *f, const char *label);
void as_frame_y_line(const struct as_frame *f, double y, const char *label);
void as_frame_base(const struct as_frame *f);

#endif
