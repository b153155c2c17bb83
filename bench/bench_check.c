/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_check: exploring the states of labfs, and of ext4 in both sandboxes: transitions a second
 * without and with power cuts, in one process and in two; bytes of a state; whether it is as fast
 * after many states as after few; and how many states, and how many bugs, each search finds with
 * the same number of operations.
 */
#include "bench/bench.h"

#include "check/check.h"
#include "cli/boxes.h"

#include <stdio.h>

struct row {
	const char *name;
	unsigned nodes, depth, jobs;
	bool crash;
	enum as_search search;
	int64_t for_us;
	uint64_t transitions; /* at most; 0: any number */
	const char *ops;
	bool once; /* no power cuts during recovery */
};

static int explore(const struct row *row, const char *spec, struct as_check_status *status)
{
	struct as_run_options run = { .deadline_ms = 60000 };
	struct as_check_options options = { .nodes = row->nodes,
					    .depth = row->depth,
					    .search = row->search,
					    .crash = row->crash,
					    .crashes = as_crash_options_default(),
					    .jobs = row->jobs,
					    .max_states = 1u << 22,
					    .for_us = row->for_us,
					    .ops = row->ops,
					    .max_transitions = row->transitions,
					    .max_findings = 1,
					    .fd = -1 };
	struct as_target *target = NULL;
	struct as_check_args args = { .run = &run, .options = &options };
	int rc = as_target_open(spec, &target, NULL);

	options.crashes.prune = AS_PRUNE_PROVED;
	options.crashes.budget = 0;
	if (row->once)
		options.crashes.again = 0;
	args.target = target;
	if (!rc) {
		run.size_bytes = as_target_small_bytes(target);
		rc = as_check(&args, status, NULL);
	}
	as_target_free(target);
	return rc;
}

/* ---- File systems of the kernel -------------------------------------------------------------- */

#define KERNEL_US 20000000

/* On two cores; as many power cuts as `assay check` has without options. On the running kernel most
 * of the time of a process is waiting for the kernel's threads, so there are more of them. */
static int explore_kernel(bool boxed, struct as_check_status *status, struct as_err *err)
{
	struct as_run_options run = { .deadline_ms = 60000 };
	struct as_check_options options = { .nodes = 3,
					    .crash = true,
					    .falls = true,
					    .crashes = as_crash_options_default(),
					    .jobs = boxed ? 2 : 8,
					    .max_states = 1u << 20,
					    .for_us = KERNEL_US,
					    .fd = -1 };
	struct as_check_args args = { .run = &run, .options = &options };
	struct as_args none = { 0 };
	struct as_target *target = NULL;
	struct as_cli_box box = { 0 };
	int rc = as_target_open("ext4", &target, err);

	options.crashes.prune = AS_PRUNE_PROVED;
	options.crashes.budget = AS_CHECK_BUDGET_KERNEL;
	args.target = target;
	if (!rc)
		run.size_bytes = as_target_small_bytes(target);
	if (!rc && boxed)
		rc = as_cli_box_open(&none, "ext4", run.size_bytes, &box, err);
	if (!rc) {
		box.boxed.options = run;
		args.box = boxed ? &box.boxed : NULL;
		rc = as_check(&args, status, err);
		as_assert(rc || !status->counts.findings);
	}
	if (!rc && boxed)
		as_cli_box_close(&box);
	as_target_free(target);
	return rc;
}

static double rate(uint64_t n, const struct as_check_status *status)
{
	return (double)n * 1e6 / (double)status->wall_us;
}

/* How many times as fast two jobs do what one has done. In equal times they would do more, and
 * later transitions cost more: states are deeper. */
static void bench_speedup(as_bench_report report, const struct row *two,
			  const struct as_check_status *one)
{
	struct row row = *two;
	struct as_check_status status;
	char name[64];

	row.transitions = one->counts.transitions;
	row.for_us *= 10;
	if (!row.transitions || explore(&row, "lab", &status))
		return;
	snprintf(name, sizeof(name), "%s.speedup", row.name);
	report(name, (double)one->wall_us / (double)status.wall_us, "times");
}

static void bench_rates(as_bench_report report)
{
	static const struct row rows[] = {
		{ "check.lab", 3, 0, 1, false, AS_SEARCH_bfs, 5000000, 0, NULL, false },
		{ "check.lab.two", 3, 0, 2, false, AS_SEARCH_bfs, 5000000, 0, NULL, false },
		{ "check.lab.crash", 3, 0, 1, true, AS_SEARCH_bfs, 5000000, 0, NULL, false },
		{ "check.lab.crash.two", 3, 0, 2, true, AS_SEARCH_bfs, 5000000, 0, NULL, false },
		{ "check.lab.crash.once", 3, 0, 1, true, AS_SEARCH_bfs, 5000000, 0, NULL, true },
		{ "check.lab.long", 3, 0, 1, false, AS_SEARCH_bfs, 20000000, 0, NULL, false },
	};
	struct as_check_status one = { 0 };

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_check_status status;
		char name[64];

		if (!as_bench_wants(rows[i].name) || explore(&rows[i], "lab", &status))
			continue;
		report(rows[i].name, rate(status.counts.transitions, &status), "transition/s");
		snprintf(name, sizeof(name), "%s.states", rows[i].name);
		report(name, (double)status.states, "state");
		snprintf(name, sizeof(name), "%s.state_bytes", rows[i].name);
		report(name, (double)status.bytes / (double)status.states, "byte");
		if (rows[i].jobs == 1)
			one = status;
		else
			bench_speedup(report, &rows[i], &one);
	}
}

static void bench_kernel(as_bench_report report, const char *name, bool boxed)
{
	struct as_check_status status;
	struct as_err err = { 0 };
	char row[64];

	if (!as_bench_wants(name))
		return;
	if (explore_kernel(boxed, &status, &err)) {
		fprintf(stderr, "%s: %s\n", name, err.msg);
		return;
	}
	report(name, rate(status.counts.transitions, &status), "transition/s");
	snprintf(row, sizeof(row), "%s.states", name);
	report(row, rate(status.states, &status), "state/s");
	snprintf(row, sizeof(row), "%s.recovered", name);
	report(row, rate(status.counts.crash.checked + status.counts.crash.memoised, &status),
	       "crash state/s");
}

/* ---- Searches -------------------------------------------------------------------------------- */

/* Each search may try so many operations, on a sound labfs and on one with each of these bugs. */
static const unsigned by_answers[] = { 1,  2,  3,  4,  7,  8,  9,  10, 11, 12,
				       13, 14, 16, 19, 20, 43, 45, 47, 0 };
static const unsigned by_power_cuts[] = { 26, 28, 29, 30, 34, 35, 36, 37,
					  38, 39, 40, 41, 42, 77, 79, 0 };

static const struct {
	bool crash;
	uint64_t transitions;
	const char *ops;
	const unsigned *bugs; /* 0 ends them */
} contests[] = {
	{ false, 20000, "all", by_answers },
	{ true, 2000, NULL, by_power_cuts },
};

static void contest(as_bench_report report, enum as_search search, unsigned which)
{
	struct row row = { .nodes = 2,
			   .jobs = 1,
			   .crash = contests[which].crash,
			   .search = search,
			   .transitions = contests[which].transitions,
			   .ops = contests[which].ops };
	const char *kind = row.crash ? ".crash" : "";
	struct as_check_status status;
	unsigned found = 0, n = 0;
	char name[64], spec[32];

	if (explore(&row, "lab", &status))
		return;
	snprintf(name, sizeof(name), "check.search.%s%s.states", as_search_name(search), kind);
	report(name, (double)status.states, "state");
	for (; contests[which].bugs[n]; n++) {
		snprintf(spec, sizeof(spec), "lab:bug=%u", contests[which].bugs[n]);
		if (!explore(&row, spec, &status))
			found += status.counts.findings > 0;
	}
	snprintf(name, sizeof(name), "check.search.%s%s.bugs", as_search_name(search), kind);
	snprintf(spec, sizeof(spec), "of %u", n);
	report(name, found, spec);
}

static bool wants_search(enum as_search search)
{
	char name[64];

	snprintf(name, sizeof(name), "check.search.%s", as_search_name(search));
	return as_bench_wants(name);
}

static void bench_searches(as_bench_report report)
{
	for (unsigned i = 0; i < sizeof(contests) / sizeof(contests[0]); i++)
		for (unsigned k = 0; k < AS_SEARCHES; k++)
			if (wants_search((enum as_search)k))
				contest(report, (enum as_search)k, i);
}

void bench_check(as_bench_report report)
{
	bench_rates(report);
	bench_searches(report);
	bench_kernel(report, "check.ext4.host", false);
	bench_kernel(report, "check.ext4.uml", true);
}
