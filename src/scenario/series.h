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

struct as_series {
	/* Set by the caller: */
	struct as_run_options options;
	const struct as_scenario_ops *scenario;
	const char *params;
	struct as_sink *sinks;
	bool together; /* several workloads share a process where the scenario allows it */
	/* Before another target is opened, with the one of before, or NULL; NULL: nobody asks. */
	void (*leaves)(const struct as_series *runs);
	bool json;

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

/* Runs the first of the workloads on that target, whose disk has size_bytes (0: the target's own):
 * one or, with `together`, as many as the scenario likes to. The result is theirs alone, and
 * result->workloads says how many they are. */
AS_MUST_CHECK int as_series_run(struct as_series *runs, const char *spec, uint64_t size_bytes,
				const struct as_work *work, struct as_run_result *result,
				struct as_err *err);
void as_series_close(struct as_series *runs);

#endif
