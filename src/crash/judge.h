/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * judge: goes through the crash states of a workload. Each is recovered by every way and judged,
 * and problems are reported. The file system under test may kill the process that does this; so the
 * state in flight is written down first, and another process can resume after it.
 */
#ifndef AS_CRASH_JUDGE_H
#define AS_CRASH_JUDGE_H

#include "base/event.h"
#include "base/notice.h"
#include "crash/crash.h"
#include "crash/dedup.h"
#include "legal/legal.h"
#include "progress/shares.h"
#include "recording/record.h"

/* The state in flight: the one that is being judged; in shared memory. */
struct as_flight {
	volatile uint64_t alive; /* rises as long as there is progress */
	struct as_flight_spot state, then[AS_CRASH_AGAIN_MAX];
	/* From which the rounds before this one went on (rounds.h). */
	struct as_flight_spot from[AS_CRASH_ROUNDS_MAX - 1];
	volatile bool all; /* how the state was enumerated: as_perm_begin() */
	volatile unsigned way;
	volatile uint64_t turn, index; /* of the plan (plan.h), and of the states of the turn */
	unsigned failing; /* recoveries of which calls might have failed (faults.h) */
	volatile uint64_t spent, spent_again; /* cost, and what of it was for then[] */
	volatile uint64_t spent_view[AS_VIEWS]; /* the rest, by view */
};

/* Adds to the options from where the round in flight went on; nothing in the first round. */
void as_crash_options_from(struct as_crash_options *options, const struct as_flight *flight);

/* Where an earlier process ended. */
struct as_judge_resume {
	bool is; /* there was one */
	uint64_t turn, index; /* turn 0: it had not begun with the plan */
};

/* What is wrong with a state. */
struct as_problem {
	/* What is said of it: signature, summary, and as detail the same without an end, until
	 * report.c tells the story. NULL: nothing is wrong. */
	struct as_notice *notice;
	enum as_way way;
	struct as_crash_spot then[AS_CRASH_AGAIN_MAX]; /* power cuts during recovery it takes */
	struct as_moment moment;
	size_t promise; /* the operation whose promise was broken, or AS_LEGAL_NO_OP */
};

void as_problem_free(struct as_problem *problem); /* leaves it zeroed */
/* Sets it, unless it is set already; returns false. The signature is "crash: WHAT: WHY", with
 * numbers as '#'. With _set_tree() WHY is not in it, because it names what the workload made. */
bool as_problem_set(struct as_problem *problem, enum as_finding_kind kind, enum as_way way,
		    const char *what, const char *why);
bool as_problem_set_tree(struct as_problem *problem, enum as_finding_kind kind, enum as_way way,
			 const char *what, const char *why);
/* Gives it the signature "KIND: WHAT". */
void as_problem_sign(struct as_problem *problem, const char *what);
uint32_t as_problem_sig(const struct as_problem *problem);

struct as_again;

struct as_judge_args {
	const struct as_recording *recording;
	struct as_recoverer *recoverer;
	const struct as_crash_options *options;
	bool ways_agree; /* all ways must give the same tree */
	/* The record begins with a mount that replays a log: the last commit may be older. */
	bool began_with_replay;
	struct as_dedup *dedup;
	struct as_flight *flight;
	struct as_crash_counts *counts;
	struct as_shares *shares;
	uint32_t modes; /* 1 << enum as_share_row: what the workload was recorded with */
	/* Called for each new signature; the perm is at the state. False: stop. */
	bool (*report)(void *ctx, struct as_perm *perm, const struct as_perm_state *state,
		       const struct as_problem *problem);
	void *ctx;
	/* Called before a crashed disk is recovered, with the state that it is; may be NULL. */
	void (*recovers)(void *ctx, struct as_disk *disk, const struct as_perm *perm);
	/* Called after that, with what came of it; may be NULL. */
	void (*recovered)(void *ctx, const struct as_recovered *recovered);
	/* Whether the problem was reported before. */
	bool (*known)(void *ctx, const struct as_problem *problem);
	bool anew; /* each disk is recovered, also one whose end is known */
	struct as_judge_resume resume;
	struct as_again *again; /* what is known of other recoveries (again.h); NULL: nothing */
	/* Only moments are judged at which so many operations had begun. */
	size_t begun_min;
};

/* A state was looked at: tells who wants to know (options->seen). */
static inline void as_judge_seen(const struct as_judge_args *args,
				 const struct as_crash_counts *before)
{
	if (args->options->seen)
		args->options->seen(args->options->seen_ctx, before, args->counts);
}

/* Judges all states of all views, beginning with the easiest view; or the one state that
 * options->spot names. */
AS_MUST_CHECK int as_judge_all(const struct as_judge_args *args, struct as_err *err);

/* The latest moment at which the power can have failed at a cut, in a view. */
struct as_moment as_judge_moment(const struct as_recording *recording, const struct as_perm *perm,
				 enum as_view view, size_t cut);
/* The last cut at which all was flushed and fewer than `begun` operations had begun; 0: none. */
size_t as_judge_last_flush(const struct as_recording *recording, const struct as_perm *perm,
			   size_t begun);
/* Whether less is allowed at a cut than at the one before. */
bool as_judge_is_stricter(const struct as_recording *recording, const struct as_perm *perm,
			  enum as_view view, size_t cut);

#endif
