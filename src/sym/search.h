/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search: explores a checker path by path, as a source of damages for fsck/lead.h. Each path gives
 * a disk, which is judged as any other damaged disk is.
 */
#ifndef AS_SYM_SEARCH_H
#define AS_SYM_SEARCH_H

#include "fsck/lead.h"
#include "sym/blocks.h"
#include "sym/keep.h"
#include "sym/place.h"
#include "sym/solve.h"

/* What is counted, in the tallies of the source. */
enum as_search_tally {
	AS_SEARCH_PATHS, /* runs under the tool */
	AS_SEARCH_AGAIN, /* of them: paths that were known */
	AS_SEARCH_FOLLOWED, /* solved disks whose path was the one that was predicted */
	AS_SEARCH_STRAYED, /* those whose path was another one */
	AS_SEARCH_QUESTIONS,
	AS_SEARCH_SOLVED,
	AS_SEARCH_NONE, /* no bytes take the other way */
	AS_SEARCH_LATE,
	AS_SEARCH_SAVED, /* late, but solved with some bytes as they were */
	AS_SEARCH_SAVED_DONE, /* of them: paths that ran to their end */
	AS_SEARCH_SAVED_BUGGY, /* and those of them with a problem */
	AS_SEARCH_LEFT_OUT, /* branches that were put off to another round, for want of time */
	AS_SEARCH_BY_CACHE,
	AS_SEARCH_BY_QUICK,
	AS_SEARCH_BY_BOUNDS,
	AS_SEARCH_BY_TRIES,
	AS_SEARCH_BY_Z3,
	AS_SEARCH_Z3_DEATHS,
	AS_SEARCH_BLOCKS, /* of code that were new */
	AS_SEARCH_HANGS, /* runs under the tool that did not end in time */
	AS_SEARCH_TOOL_DEATHS,
	AS_SEARCH_WRONG, /* values that differ from the tool's: an error of ours */
	AS_SEARCH_RUN_US, /* time under the tool */
	AS_SEARCH_SOLVE_US,
	AS_SEARCH_BUGGY, /* paths with a problem */
	AS_SEARCH_DONE, /* paths that ran to their end under the tool */
	AS_SEARCH_CUT, /* places that used up their time */
	AS_SEARCH_UNSEALED, /* of those that strayed: a checksum was compared */
	AS_SEARCH_FELL, /* runs that died under the tool, and not natively */
	/* Runs in which something is not followed (path.h). */
	AS_SEARCH_ASYNC,
	AS_SEARCH_THREADS,
	AS_SEARCH_FORKS,
	AS_SEARCH_EXECS,
	AS_SEARCH_Z3_US, /* of the time of solving: in the processes of Z3 */
	AS_SEARCH_Z3_CPU_US, /* the processor time of these */
	AS_SEARCH_Z3_ASKED, /* questions that they got */
	AS_SEARCH_CROSSED, /* disks with several answers, or an edge, that were judged */
	AS_SEARCH_DROPPED, /* runs with operations that are not followed */
	AS_SEARCH_TALLIES
};

_Static_assert(AS_SEARCH_TALLIES <= AS_FSCK_TALLIES, "there is room for all of them");

struct as_search_setup {
	struct as_fsck_base *bases;
	struct as_places *places;
	struct as_solver_setup solver;
	unsigned deadline_ms; /* of a run under the tool */
	int64_t each_us; /* time for each place; 0: any */
	/* Disks are those of a suite: they are judged as they are, too, and any field of them may
	 * get another value. */
	bool suite;
	struct as_search_shared *shared;
	const struct as_keep *keep; /* what is remembered; NULL: nothing */
};

_Static_assert(AS_KEEP_TALLIES == AS_FSCK_TALLIES, "what is remembered is what is counted");

#define AS_SEARCH_WHY_BYTES 512u

/* What all workers of a session share. */
struct as_search_shared {
	uint32_t left_out; /* disks that could not be explored, by one worker each */
	uint32_t told; /* 1: `why` is being written, 2: it is there */
	char why[AS_SEARCH_WHY_BYTES]; /* of the first of them */
	/* At any moment; the leader's are those of whole turns. */
	uint64_t tallies[AS_FSCK_TALLIES];
	struct as_blocks blocks;
};

/* Notes what earlier sessions reached in `shared`, and adds what they counted. */
void as_search_recall(const struct as_search_setup *setup, const char *program,
		      uint64_t tallies[AS_FSCK_TALLIES]);

/* The source; its ctx is a struct as_search_setup. */
extern const struct as_fsck_source as_search_source;

#endif
