/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * event: findings and notes, and the sinks that get them. A room hands its events to a chain of
 * sinks, and does not know which rooms implement these.
 */
#ifndef AS_BASE_EVENT_H
#define AS_BASE_EVENT_H

#include "base/finding.h"
#include "base/json.h"
#include "base/shares.h"

#include <stdint.h>

/* How the calls of races were judged. Part of an answer is left open if another call may have
 * changed what it is about at the same moment. */
enum as_raced_count {
	AS_RACED_CALLS, /* all of them */
	AS_RACED_LOST, /* in races with too many orders: not judged at all */
	/* Calls that tell bytes, sizes or holes, attributes and names; right after each, those of
	 * them with an open part. */
	AS_RACED_READS,
	AS_RACED_READS_OPEN,
	AS_RACED_SEEKS,
	AS_RACED_SEEKS_OPEN,
	AS_RACED_STATS,
	AS_RACED_STATS_OPEN,
	AS_RACED_LISTS,
	AS_RACED_LISTS_OPEN,
	AS_RACED_COPIES,
	AS_RACED_COPIES_OPEN,
	AS_RACED_COUNTS
};

struct as_raced {
	uint64_t n[AS_RACED_COUNTS];
};

extern const char *const as_raced_names[AS_RACED_COUNTS];
void as_raced_add(struct as_raced *sum, const struct as_raced *raced);
/* Calls of which every part of the answer was judged. */
uint64_t as_raced_full(const struct as_raced *raced);
/* The member "raced"; nothing if there were no calls. */
void as_raced_print(struct as_json *json, const struct as_raced *raced);

struct as_run_stats {
	uint64_t workloads, ops, findings, skipped;
	uint64_t unjudged, excused, looked, possible, failures; /* as in struct as_run_result */
	struct as_raced raced;
	struct as_shares shares;
	int64_t wall_us;
};

/* Implementations embed this as their first member; unused functions are NULL. */
struct as_sink {
	void (*finding)(struct as_sink *sink, const struct as_finding *finding, const char *id);
	/* A finding whose signature was met before: only the signature is told. */
	void (*again)(struct as_sink *sink, const char *signature);
	void (*note)(struct as_sink *sink,
		     const char *line); /* a line about the progress, for people */
	/* What a scenario says to who gave it its workloads, in words that only these two know. */
	void (*told)(struct as_sink *sink, const char *text);
	void (*done)(struct as_sink *sink, const struct as_run_stats *stats);
	struct as_sink *next; /* the chain: each sink gets every event */
};

void as_emit_finding(struct as_sink *chain, const struct as_finding *finding, const char *id);
void as_emit_again(struct as_sink *chain, const char *signature);
void as_emit_note(struct as_sink *chain, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void as_emit_told(struct as_sink *chain, const char *text);
void as_emit_done(struct as_sink *chain, const struct as_run_stats *stats);

#endif
