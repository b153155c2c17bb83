/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * judge: a checker on one damaged disk. It is run twice, and the two answers must agree (SWIFT,
 * Table 1); what else it must not do is in problem.def.
 */
#ifndef AS_FSCK_JUDGE_H
#define AS_FSCK_JUDGE_H

#include "base/buf.h"
#include "base/err.h"
#include "damage/damage.h"
#include "fsck/subject.h"

#include <stdbool.h>
#include <stdint.h>

enum as_fsck_problem {
#define PROBLEM(id, name, words) AS_FSCK_##id,
#include "fsck/problem.def"
#undef PROBLEM
	AS_FSCK_PROBLEMS
};

const char *as_fsck_problem_name(enum as_fsck_problem problem);
const char *as_fsck_problem_words(enum as_fsck_problem problem);

/* One run, without its record. */
struct as_fsck_run {
	enum as_check_answer answer;
	bool documented;
	bool wrote, changed; /* changed: bytes differ, not only that something was written */
	struct as_ended ended;
	char died[160];
	bool has_address; /* that it could not reach then */
	uint64_t address;
	char *output;
	struct as_disk *disk; /* after it */
};

/* What was seen of one disk. */
#define AS_FSCK_RUNS 5 /* repair, again, and three more to see whether it settles */
struct as_fsck_seen {
	const struct as_fsck_run *run[AS_FSCK_RUNS];
	unsigned n;
	const struct as_fsck_run *check; /* NULL: there is no such mode, or it was not run */
	const struct as_fsck_run *after; /* the same on the disk of the second run; NULL: not run */
	unsigned loss_files; /* see loss.h */
};

struct as_fsck_verdict {
	uint32_t problems; /* mask of 1 << enum as_fsck_problem */
	struct {
		struct as_buf summary, signature;
	} found[AS_FSCK_PROBLEMS];
	struct as_fsck_seen seen; /* it lives until the next disk is judged */
	struct as_buf lost; /* what is missing, a line for each file */
	struct as_buf kernel; /* what the kernel printed when it was asked; "": nothing is wrong */
};

/* The signature of a problem, for as_still_fails(); NULL: the disk does not show it. */
const char *as_fsck_verdict_shows(const struct as_fsck_verdict *verdict,
				  enum as_fsck_problem problem);
void as_fsck_verdict_free(struct as_fsck_verdict *verdict);

/* A healthy disk, and what is known of it. */
struct as_fsck_base {
	struct as_disk *disk;
	const char *name; /* "generic", "f_dup" */
	const char *work; /* the text of the workload whose power fails; NULL: there is none */
	/* Bytes that a run may change although nothing is wrong: those that it changes on the
	 * healthy disk. */
	struct as_damage writes;
	/* Of a checker that builds structures anew: the sectors that it writes to on the healthy
	 * disk, a bit each, whether they change or not. NULL: it is none. */
	unsigned char *rebuilt;
	uint64_t rebuilt_sectors;
	bool called_damaged; /* the checker finds errors on it */
	bool dirty; /* work is left for the checker, such as a log: to do it is no repair */
	bool sick; /* it is no healthy disk: then those are repairs, which excuse nothing */
	struct as_loss *loss; /* its tree; NULL: it cannot be read, or there is none */
};

/* Where a disk comes from. */
enum as_fsck_health {
	AS_FSCK_MADE, /* it was made by a file system: it is healthy, whatever the checker says */
	AS_FSCK_DIRTY, /* the same, but it was not unmounted */
	AS_FSCK_GIVEN, /* the user says that it is healthy */
	AS_FSCK_SICK, /* it is not */
};

struct as_judge;

/* The subject must outlive it. */
struct as_judge *as_judge_new(struct as_fsck_subject *subject);
void as_judge_free(struct as_judge *judge); /* takes NULL */
/* From now on it is not run to look only: for callers that want the repaired disk. */
void as_judge_repairs_only(struct as_judge *judge);
/* From now on a disk is not run again if its first run is enough; NULL: every disk is. */
void as_judge_set_enough(struct as_judge *judge,
			 bool (*is)(void *ctx, const struct as_fsck_run *first), void *ctx);
/* From now on a disk is not judged (AS_ESTOP) if one of its runs takes longer than that; 0, or more
 * than its deadline: it is judged to its end. */
void as_judge_hurry(struct as_judge *judge, unsigned ms);
/* From now on disks with which the checker is content are shown to the file system itself; it must
 * outlive the judge. NULL: they are not. */
struct as_fsck_kernel;
void as_judge_set_kernel(struct as_judge *judge, struct as_fsck_kernel *kernel);

/* Runs the checker on a disk before it is damaged, and notes what it writes. AS_EUSE: it does not
 * look at its disk at all, or it finds errors on a disk that was given as healthy. */
AS_MUST_CHECK int as_judge_base(struct as_judge *judge, struct as_fsck_base *base,
				enum as_fsck_health health, struct as_err *err);
void as_fsck_base_free(struct as_fsck_base *base);

/* `disk` is the base with the damage. 0 or an error of ours. */
AS_MUST_CHECK int as_judge_disk(struct as_judge *judge, const struct as_fsck_base *base,
				const struct as_damage *damage, struct as_disk *disk,
				struct as_fsck_verdict *verdict, struct as_err *err);

/*
 * The disks that follow are the base with one of these damages: their runs share what the checker
 * does before it looks at a damaged byte. Nothing else changes. Where that is not possible, or not
 * worth it, nothing happens.
 */
void as_judge_lot_begin(struct as_judge *judge, const struct as_fsck_base *base,
			const struct as_damage *damages, size_t n);
void as_judge_lot_end(struct as_judge *judge);

/* What it did so far. */
struct as_judge_counts {
	/* known: runs whose result was known already; forked: those of `runs` that were begun
	 * together; unasked: disks that the kernel could not be shown. */
	uint64_t disks, runs, known, forked, unasked;
};
struct as_judge_counts as_judge_counts(const struct as_judge *judge);

/* Whether two answers in a row are right: Table 1. */
bool as_fsck_agree(enum as_check_answer first, enum as_check_answer second);

#endif
