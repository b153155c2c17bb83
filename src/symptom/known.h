/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * known: the signatures that were met before, and a sink that passes a finding on only the first
 * time that its signature comes. From then on it only passes on that the signature came again,
 * which costs nothing.
 */
#ifndef AS_SYMPTOM_KNOWN_H
#define AS_SYMPTOM_KNOWN_H

#include "base/buf.h"
#include "base/err.h"
#include "base/event.h"

#include <stdbool.h>

struct as_known;

struct as_known *as_known_new(void);
void as_known_free(struct as_known *known); /* takes NULL */
/* Adds a signature; false: it was there. */
bool as_known_add(struct as_known *known, const char *signature);
/* Forgets all signatures: each counts as new again. */
void as_known_forget(struct as_known *known);
/* One signature on each line; no signature holds a newline. */
void as_known_print(const struct as_known *known, struct as_buf *out);
/* A line in the form of version 1 (docs/FORMAT.md, Signatures) would never be met: it is refused
 * (AS_EUSE). `name` is the file, for the message. */
AS_MUST_CHECK int as_known_parse(struct as_known *known, const char *name, const char *text,
				 struct as_err *err);

/* Stands before the sinks that are to get only new findings. */
struct as_known_filter {
	struct as_sink sink;
	struct as_known *known;
	struct as_sink *to;
	bool alone; /* the sinks after `to` in its chain get nothing */
};

struct as_known_filter as_known_filter(struct as_known *known, struct as_sink *to, bool alone);

#endif
