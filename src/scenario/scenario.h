/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scenario: what is done with a workload to make mistakes visible. The hunt (hunt/hunt.h) generates
 * the workloads, counts and keeps findings, and reduces them; a scenario only runs workloads on its
 * target and tells the sinks what it found. The same code runs here and, where the target needs a
 * kernel of its own, in the engine inside the sandbox (`assay run --scenario NAME`).
 *
 *	sequential	one operation after the other, all oracles on (the default)
 *	race		several threads at once
 *	crash		the power fails at every point
 *	diff		the same on several targets, compared
 *
 * To add one: a struct as_scenario_ops, and a row in the table of scenario.c.
 *
 * What a finding must carry, so that the hunt can do its part:
 *   - a signature without names and numbers of this one workload: it is what findings are counted
 *     by, and a reduced workload is one that gives the same;
 *   - options from which it can be run again: as_run_options_print(), whose field `scenario` holds
 *     what the scenario was given ("race:threads=3,seed=7").
 */
#ifndef AS_SCENARIO_SCENARIO_H
#define AS_SCENARIO_SCENARIO_H

#include "base/err.h"
#include "base/event.h"
#include "run/run.h"
#include "target/target.h"
#include "work/list.h"

#define AS_SCENARIO_API 1u

/* What open is given; all of it outlives the scenario. */
struct as_scenario_args {
	const struct as_target *const *targets; /* the first is the one under test */
	size_t n_targets; /* more than one only for a scenario that compares them */
	const struct as_run_options *options;
	const char *params; /* after the colon of "NAME:PARAMS"; "" for none */
	struct as_sink *sinks; /* hear of findings and notes */
};

/* Never defined: each implementation converts its own struct to this one, and back. */
struct as_scenario;

struct as_scenario_ops {
	uint32_t api;
	const char *name, *help;
	const char *profile; /* profile of the generator, if none is asked for */
	bool many_targets;
	bool in_step; /* options->state->job always says which of several workloads is running */
	/* Workloads that are run at once, in a box and without; 0: as many as is usual. */
	unsigned batch, batch_here;
	int (*open)(const struct as_scenario_args *args, struct as_scenario **scenario,
		    struct as_err *err);
	/*
	 * Runs the first result->workloads >= 1 of the workloads: all, or up to and with the first
	 * that found something, or as few as it likes to run at once. The result begins zeroed,
	 * and sums them up. Returns 0 or an error of ours; the sinks are told what the target does
	 * wrong.
	 */
	int (*run)(struct as_scenario *scenario, const struct as_work *work,
		   struct as_run_result *result, struct as_err *err);
	/* Adds to the parameters what the workloads before came to, for the next open; NULL: this
	 * scenario does the same whatever came before. */
	void (*go_on)(const struct as_shares *so_far, struct as_buf *params);
	void (*close)(struct as_scenario *scenario); /* takes NULL */
};

extern const struct as_scenario_ops as_scenario_sequential;
extern const struct as_scenario_ops as_scenario_race;
extern const struct as_scenario_ops as_scenario_crash;
extern const struct as_scenario_ops as_scenario_diff;
/* Not in the table: only engines, and who reads the tape, know of it. */
extern const struct as_scenario_ops as_scenario_record;

/* Row i of the table, or NULL after the last. */
const struct as_scenario_ops *as_scenario(unsigned i);
/* "NAME" or "NAME:PARAMS"; *params points into the text. AS_EUSE: there is none of that name. */
AS_MUST_CHECK int as_scenario_find(const char *text, const struct as_scenario_ops **ops,
				   const char **params, struct as_err *err);

#endif
