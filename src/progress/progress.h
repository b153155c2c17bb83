/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * progress: what a run has done so far, in one struct of counters. The command that runs fills it
 * (cli/live.h), and everything that shows progress is made of it: the block of a terminal, plain
 * lines, JSON lines, the file progress.json, the rows of history.csv, and `assay watch`, which
 * reads the file again. The struct has no pointers, so that processes can share it.
 */
#ifndef AS_PROGRESS_PROGRESS_H
#define AS_PROGRESS_PROGRESS_H

#include "base/buf.h"
#include "base/finding.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

enum as_counter {
#define AS_COUNTER(name, word, how) AS_COUNT_##name,
#include "progress/progress.def"
	AS_COUNTERS
};

enum as_progress_state {
	AS_RUN_RUNNING,
	AS_RUN_ENDED, /* it did what it was asked to */
	AS_RUN_STOPPED, /* by a signal, in its own way */
	AS_RUN_FAILED, /* an error of ours, or something is missing */
	AS_RUN_DIED, /* it said nothing more */
	AS_RUN_STATES
};

#define AS_PROGRESS_TEXT 256

/* The name of the file, and that of the counters over time, in a run folder. */
#define AS_RUN_PROGRESS "progress.json"
#define AS_RUN_HISTORY "history.csv"
#define AS_RUN_CODE "code.csv" /* functions of the kernel (cover/code.h) */
#define AS_PROGRESS_MAX_BYTES ((size_t)64 << 10)

struct as_progress {
	/* Texts are cut in their middle if they are too long (as_progress_text()). */
	char command[AS_PROGRESS_TEXT], target[AS_PROGRESS_TEXT];
	char where[AS_PROGRESS_TEXT]; /* "sandbox", "running kernel"; "": no matter */
	char phase[AS_PROGRESS_TEXT]; /* what it does now; "": what it always does */
	uint64_t jobs;
	int64_t wall_us; /* of a run that was resumed, with its earlier parts */
	int64_t for_us; /* how long it is to take; 0: until it is done */
	uint64_t done, all; /* of what there is to do; all is 0: not known */
	uint64_t has; /* bit C: counter C is set */
	uint64_t n[AS_COUNTERS];
	double rate[AS_COUNTERS]; /* a second, lately */
	uint64_t kinds[AS_FIND_KINDS]; /* findings; those that were met again do not count */
	uint64_t again;
	char newest[AS_PROGRESS_TEXT], newest_words[AS_PROGRESS_TEXT]; /* finding: id, summary */
	int64_t newest_us; /* when, in wall_us */
	enum as_progress_state state;
	int signal; /* that stopped it, or of which it died; 0: not known */
	char why[AS_PROGRESS_TEXT]; /* it failed */
	/* Who it is: a process is known by these together. */
	uint64_t number; /* of this report; it grows */
	int64_t pid;
	uint64_t pid_start, pid_space;
	char boot[AS_PROGRESS_TEXT], host[AS_PROGRESS_TEXT];
	int64_t began_s, said_s; /* since 1970 */
};

_Static_assert(AS_COUNTERS <= 64, "as_progress.has");

extern const char *const as_counter_names[AS_COUNTERS];

static inline bool as_progress_has(const struct as_progress *p, enum as_counter c)
{
	return p->has >> c & 1;
}

static inline void as_progress_set(struct as_progress *p, enum as_counter c, uint64_t n)
{
	p->n[c] = n;
	p->has |= (uint64_t)1 << c;
}

/* Whether it makes sense to say how fast it grows. */
bool as_counter_has_rate(enum as_counter counter);

/* Copies a text; one that is too long loses its middle. */
void as_progress_text(char to[AS_PROGRESS_TEXT], const char *text);

/* Members of an object that is begun and ended by the caller (docs/FORMAT.md, "Progress"); `who`:
 * also those that say which process it is. */
void as_progress_print(const struct as_progress *p, bool who, struct as_json *json);
/* Reads such an object. It may come from anywhere: unknown members are ignored, wrong ones are
 * AS_EUSE, and every number is within its bounds. */
AS_MUST_CHECK int as_progress_parse(const char *text, size_t len, struct as_progress *p,
				    struct as_err *err);

/* Seconds that are left; -1: not known. *about: by what was done so far. */
int64_t as_progress_left(const struct as_progress *p, bool *about);

/* ---- For people (progress_show.c) ---- */

/* The block: several lines of at most `columns` each. */
void as_progress_block(const struct as_progress *p, unsigned columns, bool colour,
		       struct as_buf *out);
/* The same on one line of any length, without an end. */
void as_progress_line(const struct as_progress *p, struct as_buf *out);
/* How it ended: "ended after 0:12", "died: ..."; nothing while it runs. */
void as_progress_end_words(const struct as_progress *p, struct as_buf *out);
/* Adds a text for one line, of at most `columns`; a longer one loses its middle. Characters that
 * are not ASCII count as two columns. */
void as_progress_fit(const char *text, unsigned columns, struct as_buf *out);

#endif
