/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * known: the signatures that were met, and a sink that lets a finding through only the first time
 * its signature comes; from then on only "again" is said, which costs nothing.
 */
#ifndef AS_HUNT_KNOWN_H
#define AS_HUNT_KNOWN_H

#include "base/buf.h"
#include "base/event.h"

#include <stdbool.h>

struct as_known;

struct as_known *as_known_new(void);
void as_known_free(struct as_known *known); /* takes NULL */
/* Whether it is a new one; then it is known from now on. */
bool as_known_add(struct as_known *known, const char *signature);
/* A signature a line; no signature holds a newline. */
void as_known_print(const struct as_known *known, struct as_buf *out);
void as_known_parse(struct as_known *known, const char *text);

/* In front of those who are to hear of what is new. */
struct as_known_filter {
	struct as_sink sink;
	struct as_known *known;
	struct as_sink *to;
	bool alone; /* those behind `to` do not hear of it */
};

struct as_known_filter as_known_filter(struct as_known *known, struct as_sink *to, bool alone);

#endif
