/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hunt: generate, run, judge, count, reduce, go on. Jobs are processes that each follow a stream of
 * workloads of their own (stream.h) and do with each what the scenario says (scenario.h); what they
 * find is told apart by its signature, kept once, counted, and reduced once by one more process.
 *
 * The folder of a hunt can be left at any moment, by whatever death, and gone on with (state.h).
 */
#ifndef AS_HUNT_HUNT_H
#define AS_HUNT_HUNT_H

#include "base/err.h"
#include "base/event.h"
#include "gen/profile.h"
#include "hunt/state.h"
#include "os/dir.h"
#include "os/rundir.h"
#include "reduce/reduce.h"
#include "scenario/scenario.h"
#include "supervise/boxed.h"

#define AS_HUNT_JOBS_MAX 256

struct as_folders;

/* Findings that were kept, for rooms that do not know how. */
struct as_hunt_store {
	/* A sink that keeps findings in FOLDER/findings/ID. */
	int (*open)(const struct as_dir *folder, struct as_sink **sink, struct as_err *err);
	int (*failed)(const struct as_sink *sink, struct as_err *err);
	void (*close)(struct as_sink *sink);
	/* The workload of the finding in this folder, the reduced one if there is one; and which
	 * operation failed, from 0, or -1. The scenario it was found in, "" for the default. */
	int (*load)(const struct as_dir *folder, struct as_seq **seq, long *op_index,
		    char scenario[AS_RUN_SCENARIO_MAX], struct as_err *err);
	int (*set_reduced)(const struct as_dir *folder, const struct as_seq *best,
			   const struct as_reduced *result, double seconds, struct as_err *err);
	int (*set_count)(const struct as_dir *folder, uint64_t count, struct as_err *err);
};

struct as_hunt {
	const struct as_scenario_ops *scenario;
	const char *params;
	const struct as_target *const *targets; /* opened here, also where a box runs them */
	size_t n_targets;
	const struct as_profile *profile;
	const struct as_traits *traits;
	struct as_run_options run;
	const struct as_boxed *box; /* where the target runs in a sandbox: how; NULL: it does not */
	/* Where run.watch keeps the counts of calls of each process; those of engines in boxes are
	 * put there, too. NULL: nothing is counted. */
	const char *cov;
	const struct as_folders *folders; /* open, and locked */
	int64_t start_us; /* from when on its time counts; 0: from the call on */
	unsigned reduce_seconds; /* for each signature; 0: nothing is reduced */
	unsigned batch; /* workloads between two looks at the world; 0: a default */
	const struct as_hunt_store *store;
	struct as_sink *sinks; /* hear of what is new, and of notes */
	/* Whether somebody wants us to end. */
	bool (*stop)(void *ctx);
	/* Every now and then, for people; may be NULL. */
	void (*progress)(void *ctx, const struct as_hunt_state *state, uint64_t ops_now);
	void *ctx;
};

/*
 * Hunts until the state says that it is over: time or workloads are used up; or until stop(). Then
 * workers have a second to come to an end, reductions under way included: what is not reduced is
 * gone on with when the hunt is. One that is over already only reduces.
 * The state, new or loaded, is kept in the folder on the way and at the end. What is returned is 0
 * or an error of ours; what was found stands in the state.
 */
AS_MUST_CHECK int as_hunt(const struct as_hunt *hunt, struct as_hunt_state *state,
			  struct as_err *err);

/* The folders of a hunt, below the one it was given. */
#define AS_HUNT_FOLDER AS_RUN_HUNT
/* In the folder of a job: what engines in its boxes have counted. */
#define AS_HUNT_COV "cov"

#endif
