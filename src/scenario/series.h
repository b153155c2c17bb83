/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * series: workloads one after the other by a scenario, in this process. The target stays open as
 * long as the next workload has the same one.
 */
#ifndef AS_SCENARIO_SERIES_H
#define AS_SCENARIO_SERIES_H

#include "run/run.h"
#include "scenario/scenario.h"
#include "symptom/known.h"

/* A workload and where it is run. */
struct as_series_job {
	const char *path; /* where it is read from */
	const char *name; /* for people */
	struct as_seq *seq;
	struct as_buf spec; /* the target */
	uint64_t size_bytes; /* of the disk; 0: the target's own */
};

/* Whether both run on the same target, with a disk of the same size. */
bool as_series_alike(const struct as_series_job *a, const struct as_series_job *b);

struct as_series {
	/* Set by the caller: */
	struct as_run_options options;
	const struct as_scenario_ops *scenario;
	const char *params;
	struct as_sink *sinks;
	bool together; /* several workloads share a process where the scenario allows it */
	/* After each, or with `together` after `done` of them. */
	void (*told)(void *ctx, const struct as_series_job *first, size_t done,
		     const struct as_run_result *result);
	void *ctx;
	/* Before another target is opened, with the one of before, or NULL; NULL: nobody asks. */
	void (*leaves)(const struct as_series *runs);
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

/* From now on findings are new only if their signatures are not in that file and were not met
 * before. */
AS_MUST_CHECK int as_series_known(struct as_series *runs, const char *path, struct as_err *err);
/* Runs the workload at *first or, with `together`, also those after it that have the same target;
 * *first goes on to the next. */
AS_MUST_CHECK int as_series_next(struct as_series *runs, const struct as_series_job *jobs, size_t n,
				size_t *first, struct as_run_stats *stats, struct as_err *err);
/* Whether a sweep has made some call fail. */
bool as_run_has_swept(const struct as_run_result *result);
void as_series_close(struct as_series *runs);

#endif
