/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * judge: crash states one after the other: recovered by every way, judged, and what is wrong with
 * them told. In a process that the file system under test may take with it: what is in flight is
 * written down before, so that another can go on behind it.
 */
#ifndef AS_CRASH_JUDGE_H
#define AS_CRASH_JUDGE_H

#include "base/event.h"
#include "crash/crash.h"
#include "crash/dedup.h"
#include "crash/record.h"
#include "legal/legal.h"

/* What is being done; in shared memory. */
struct as_flight {
	volatile uint64_t alive; /* rises */
	struct as_flight_spot state, then[AS_CRASH_AGAIN_MAX];
	volatile bool all; /* how the state was enumerated: as_perm_begin() */
	volatile unsigned way;
};

/* What is wrong with a state. */
struct as_problem {
	bool is; /* something is */
	enum as_finding_kind kind;
	enum as_way way;
	struct as_buf why, signature;
	struct as_crash_spot then[AS_CRASH_AGAIN_MAX]; /* crashes during recovery that it takes */
	struct as_moment moment;
	size_t promise; /* the operation whose promise was broken, or AS_LEGAL_NO_OP */
};

void as_problem_free(struct as_problem *problem); /* leaves it zeroed */
/* Says what, if nothing was said yet. The signature is "crash: WHAT: WHY", with numbers as '#'; or
 * without WHY, where that is about what the workload made. Returns false. */
bool as_problem_set(struct as_problem *problem, enum as_finding_kind kind, enum as_way way,
		    const char *what, const char *why);
bool as_problem_set_tree(struct as_problem *problem, enum as_finding_kind kind, enum as_way way,
			 const char *what, const char *why);
uint32_t as_problem_sig(const struct as_problem *problem);

struct as_judge_args {
	const struct as_recording *recording;
	struct as_recoverer *recoverer;
	const struct as_crash_options *options;
	bool ways_agree; /* all ways must give the same tree */
	struct as_dedup *dedup;
	struct as_flight *flight;
	struct as_crash_counts *counts;
	/* Told of each new signature; the perm is at the state. False: enough. */
	bool (*report)(void *ctx, struct as_perm *perm, const struct as_perm_state *state,
		       const struct as_problem *problem);
	void *ctx;
	/* A crashed disk that is about to be recovered; may be NULL. */
	void (*recovers)(void *ctx, struct as_disk *disk);
	/* Signatures that were told before need not be told again. */
	bool (*known)(void *ctx, const struct as_problem *problem);
	/* Where an earlier one ended: go on behind it. view 0: begin at the beginning. */
	struct as_flight_spot behind;
};

/* All states of all views, from the easiest on; or the one that options->spot names. */
AS_MUST_CHECK int as_judge_all(const struct as_judge_args *args, struct as_err *err);

/* When the power failed at a cut, in a view: as late as it can have been. */
struct as_moment as_judge_moment(const struct as_recording *recording, const struct as_perm *perm,
				 enum as_view view, size_t cut);

#endif
