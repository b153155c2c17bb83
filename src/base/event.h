/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * event: findings and notes, and the sinks that get them. A room hands its events to a chain of
 * sinks, and does not know which rooms implement these.
 */
#ifndef AS_BASE_EVENT_H
#define AS_BASE_EVENT_H

#include "base/finding.h"

struct as_run_result; /* progress/result.h */

/* Implementations embed this as their first member; unused functions are NULL. */
struct as_sink {
	void (*finding)(struct as_sink *sink, const struct as_finding *finding);
	/* A finding whose signature was met before: only the signature is told. */
	void (*again)(struct as_sink *sink, const char *signature);
	void (*note)(struct as_sink *sink,
		     const char *line); /* a line about the progress, for people */
	/* What is said to who gave the workloads, in words that only these two know. */
	void (*told)(struct as_sink *sink, const char *text);
	void (*done)(struct as_sink *sink, const struct as_run_result *stats);
	struct as_sink *next; /* the chain: each sink gets every event */
};

void as_emit_finding(struct as_sink *chain, const struct as_finding *finding);
void as_emit_again(struct as_sink *chain, const char *signature);
void as_emit_note(struct as_sink *chain, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void as_emit_told(struct as_sink *chain, const char *text);
void as_emit_done(struct as_sink *chain, const struct as_run_result *stats);

#endif
