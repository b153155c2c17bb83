/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runs: workloads one after the other, in this process: for `assay run`, and for the engine of a
 * sandbox. */
#ifndef AS_CLI_RUNS_H
#define AS_CLI_RUNS_H

#include "cli/jobs.h"
#include "cli/rows.h"
#include "run/run.h"
#include "scenario/scenario.h"
#include "symptom/known.h"

struct as_cli_runs {
	/* Set by the caller: */
	struct as_run_options options; /* with a state, the caller is an engine */
	const struct as_scenario_ops *scenario;
	const char *params;
	struct as_sink *sinks;
	bool together; /* several workloads share a process where the scenario allows it */
	/* After each, or with `together` after `done` of them. */
	void (*told)(void *ctx, const struct as_cli_job *first, size_t done,
		     const struct as_run_result *result);
	void *ctx;
	bool json;

	bool swept; /* a sweep has made some call fail */
	/* Of sweeps: workloads, those of which every failure was tried, and the failures. */
	uint64_t n_swept, n_complete, points;

	/* The target that is open: */
	struct as_target *target;
	struct as_scenario *open;
	struct as_buf spec;
	uint64_t size_bytes;
	enum as_sweep sweep;
	struct as_known *known; /* NULL: every finding is new */
	struct as_known_filter filter;
};

/* Says what the calls of a library have used, if that was measured. */
void as_cli_usage_say(const struct as_target *target, bool json, struct as_sink *sinks);
/* Says how often blocks of its flash were erased in the worst run, with --wear. named: of several
 * targets, and says of which. */
void as_cli_wear_say(const struct as_target *target, bool named, bool json, struct as_sink *sinks);
/* What the target that is open has used. */
void as_cli_runs_say(struct as_cli_runs *runs);
/* From now on findings are new only if their signatures are not in that file and were not met
 * before. */
AS_MUST_CHECK int as_cli_runs_known(struct as_cli_runs *runs, const char *path, struct as_err *err);
/* Runs the workload at *first or, with `together`, also those after it that have the same target;
 * *first goes on to the next. */
AS_MUST_CHECK int as_cli_runs_next(struct as_cli_runs *runs, const struct as_cli_jobs *all,
				   size_t *first, struct as_run_stats *stats, struct as_err *err);
/* Whether a sweep has made some call fail. */
bool as_cli_has_swept(const struct as_run_result *result);
void as_cli_runs_close(struct as_cli_runs *runs);

#endif
