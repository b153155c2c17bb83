/* SPDX-License-Identifier: GPL-2.0-or-later */
/* read: a trace of any of the formats into counts. */
#ifndef AS_COVER_READ_H
#define AS_COVER_READ_H

#include "cover/counts.h"

struct as_split;

struct as_read_options {
	struct as_world_options world;
	const char *format; /* name of a source; NULL: by how the trace begins */
	struct as_split *split; /* tests apart; NULL: all together */
};

/* Adds what is in the trace ("-": standard input) to `into`. A trace that breaks off in the middle
 * makes the counts partial; one that cannot be read at all, or is in no format that is known, is an
 * error. *why says how, if a trace broke off. */
AS_MUST_CHECK int as_read_trace(const struct as_spec *spec, const char *path,
				const struct as_read_options *options, struct as_counts *into,
				struct as_err *why, struct as_err *err);

#endif
