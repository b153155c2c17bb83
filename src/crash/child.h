/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * child: the child that records a workload and judges its crash states, and the memory it shares
 * with the parent. It forks once more to judge: a file system that dies or hangs there takes only
 * that process with it, and the next one resumes after the state that killed it, with the same
 * record.
 */
#ifndef AS_CRASH_CHILD_H
#define AS_CRASH_CHILD_H

#include "base/err.h"
#include "base/event.h"
#include "base/notice.h"
#include "crash/crash.h"
#include "crash/dedup.h"
#include "crash/judge.h"
#include "host/host.h"
#include "os/spawn.h"
#include "os/stack.h"
#include "progress/result.h"
#include "recording/draw.h"

#define AS_CRASH_REPORTS_MAX 16
#define AS_CRASH_DEATHS_MAX 16 /* of one workload, which is then given up */

struct as_crash_shared {
	struct as_flight flight;
	volatile int64_t op; /* while recording; -1: the mount */
	volatile bool recorded, finished, judged;
	bool fired; /* a fault has hit while the workload ran */
	bool unjudged; /* a race with too many orders to be judged */
	struct as_raced raced;
	char plan[AS_DRAW_TEXT_MAX]; /* that was drawn for this workload; "": none */
	uint64_t ops;
	uint64_t writes, flushes; /* of the recording, or of the last of several rounds */
	struct as_crash_counts counts;
	struct as_shares shares;
	struct as_host_log log;
	struct as_stack stack; /* where the child died that records, or the one that judges */
	int tool_rc;
	struct as_err tool_err;
	uint64_t disk_end; /* of what is in disk_fd */
	unsigned n_reports;
	/* What the parent is told (report.c). Their disks are images in disk_fd. */
	struct as_notice reports[AS_CRASH_REPORTS_MAX];
};

struct as_kcov;
struct as_kcov_area;

struct as_crash_args {
	const struct as_target *target;
	const struct as_run_options *run;
	const struct as_crash_options *options;
	struct as_run_fresh fresh;
	const struct as_seq *seq;
	const struct as_plan *plan; /* what fails while the workload runs; NULL: nothing */
	uint64_t race_seed, race_delays; /* if options->race.threads */
	struct as_dedup *dedup;
	struct as_kcov_area *code; /* NULL: nobody asks what the kernel reaches */
	struct as_kcov *kcov; /* of the process that records; NULL likewise */
	struct as_crash_shared *shared;
	int disk_fd;
	/* What happened before this round, in words; NULL: this is the first one. */
	const char *before;
	uint64_t after_ns; /* the clock then */
	size_t first_op; /* the number of the round's first operation in the workload */
};

/* For as_spawn_fork(). */
int as_crash_child(void *args);

/* Its parts, for rounds.c. Records args->seq; what a mount of `crashed` finds must be allowed by
 * may_begin(ctx) (record.h). An answer that is wrong is reported. Free the recording in any case.
 */
AS_MUST_CHECK int as_crash_record(const struct as_crash_args *args, struct as_disk *crashed,
				  bool (*may_begin)(void *ctx, const struct as_tree *tree,
						    struct as_buf *why),
				  void *ctx, struct as_recording *recording, struct as_err *err);
AS_MUST_CHECK int as_crash_recoverer(const struct as_crash_args *args,
				     struct as_recoverer **recoverer, struct as_err *err);
/* Judges the crash states of a recording, in processes of their own. */
AS_MUST_CHECK int as_crash_judge(const struct as_crash_args *args,
				 const struct as_recording *recording, struct as_err *err);

/* Adds a report of a problem with a state; false: there is no more room, or nothing else is looked
 * for. perm and state are NULL where the problem is one of the recording. recoverer: see story.h.
 */
bool as_crash_report_add(const struct as_crash_args *args, const struct as_recording *recording,
			 struct as_perm *perm, const struct as_perm_state *state,
			 const struct as_problem *problem, struct as_recoverer *recoverer);
bool as_crash_report_has(const struct as_crash_shared *shared, const char *signature);
/* The words that bring a finding back: the scenario, with its parameters. */
void as_crash_report_options(struct as_notice *report, const struct as_crash_options *options);
/* Before the parent reads them, since the target may have written over them. */
void as_crash_report_mend(struct as_crash_shared *shared);

#endif
