/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hunt: generates workloads, runs and judges them, counts and reduces findings, and continues. Jobs
 * are processes: each draws workloads from a stream of its own (stream.h) and does with each what
 * the scenario says (scenario.h). Of the findings with the same signature, one is kept, and all are
 * counted. One more process reduces the one that is kept.
 *
 * A hunt may be killed at any moment; it can be resumed from its folder (state.h).
 */
#ifndef AS_HUNT_HUNT_H
#define AS_HUNT_HUNT_H

#include "base/codeset.h"
#include "base/err.h"
#include "base/event.h"
#include "gen/profile.h"
#include "hunt/state.h"
#include "os/dir.h"
#include "os/rundir.h"
#include "reduce/reduce.h"
#include "reduce/seen.h"
#include "scenario/scenario.h"
#include "supervise/boxed.h"

#define AS_HUNT_JOBS_MAX 256

struct as_folders;

/* A finding as it was found. The owner frees seq and the buffers. */
struct as_hunt_found {
	struct as_seq *seq;
	long op_index; /* of the operation that failed, from 0; -1: none */
	char scenario[AS_RUN_SCENARIO_MAX]; /* "": the default */
	char alter[AS_RUN_ALTER_MAX]; /* what was wrong on its disk; "": nothing */
	uint64_t size_bytes; /* of its disk; 0: the default */
	struct as_buf target, faults; /* the faults that it met */
};

/* How findings are kept: this room does not know the dossier. */
struct as_hunt_store {
	/* A sink that keeps findings in FOLDER/findings/ID. */
	int (*open)(const struct as_dir *folder, struct as_sink **sink, struct as_err *err);
	int (*failed)(const struct as_sink *sink, struct as_err *err);
	void (*close)(struct as_sink *sink);
	/* The finding in this folder. */
	int (*load)(const struct as_dir *folder, struct as_hunt_found *found, struct as_err *err);
	int (*set_reduced)(const struct as_dir *folder, const struct as_seq *best,
			   const struct as_reduced *result, const struct as_seen *seen,
			   double seconds, struct as_err *err);
	/* How often it was met, and its likely cause. */
	int (*set_count)(const struct as_dir *folder, uint64_t count, const char *group,
			 struct as_err *err);
};

struct as_hunt {
	const struct as_scenario_ops *scenario;
	const char *params;
	const struct as_target *const *targets; /* open, also if they run in a box */
	size_t n_targets;
	const struct as_profile *profile;
	const struct as_traits *traits;
	struct as_run_options run;
	const struct as_boxed *box; /* how targets run in a sandbox; NULL: they run here */
	/* The folder in which run.watch keeps the counts of calls of each process; those of
	 * engines in boxes are moved there, too. NULL: calls are not counted. */
	const char *cov;
	/* What code of the kernel was reached, in memory that all processes share; workloads that
	 * reach more are bred (breed.h). NULL: nobody asks. */
	struct as_codeset *code;
	bool no_breed; /* none are bred, though */
	const struct as_folders *folders; /* open, and locked */
	unsigned lane; /* of those that a process opened one after the other in its folder */
	int64_t start_us; /* when its time began; 0: with the call */
	unsigned reduce_seconds; /* for each signature; 0: nothing is reduced */
	unsigned batch; /* workloads of a batch; 0: a default */
	const struct as_hunt_store *store;
	struct as_sink *sinks; /* get new findings, and notes */
	/* The size of the disk of some batches (sets.h), which fill it; 0: that of all of them. */
	uint64_t small_bytes;
	bool cheap_sets; /* its target is a library: another set costs next to nothing */
	/* Sets targets and box to those of this set of the state (sets.h); called in the
	 * process that uses it. May be NULL if the state has no sets. */
	int (*open_set)(void *ctx, size_t set, struct as_hunt *hunt, struct as_err *err);
	/* Whether the hunt is to end. */
	bool (*stop)(void *ctx);
	/* Called now and then to show the progress; may be NULL. */
	void (*progress)(void *ctx, const struct as_hunt_state *state, uint64_t ops_now);
	void *ctx;
};

/*
 * Hunts until the state says that it is over (time or workloads are used up) or until stop(). Then
 * the workers have a second to end. A reduction that is interrupted continues when the hunt is
 * resumed. A hunt that is over already only reduces.
 * The state, new or loaded, is saved in the folder now and then and at the end. Returns 0 or an
 * error of ours; the findings are in the state.
 */
AS_MUST_CHECK int as_hunt(const struct as_hunt *hunt, struct as_hunt_state *state,
			  struct as_err *err);

/* The folders of a hunt, below the one it was given. */
#define AS_HUNT_FOLDER AS_RUN_HUNT
/* In the folder of a job: the counts of engines in its boxes. */
#define AS_HUNT_COV "cov"

#endif
