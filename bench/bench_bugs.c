/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_bugs: what ways to generate workloads are worth. Each strategy hunts each seeded bug of
 * labfs from several seeds, until the bug shows or so many operations have run. Operations are
 * counted, not seconds: the numbers are the same on every machine, however busy it is.
 *	bugs.NAME.hunts		how many hunts there were
 *	bugs.NAME.found		how many of them found their bug
 *	bugs.NAME.median	operations until the bug showed, or the most there may be
 *	bugs.NAME.rate		bugs found in a million operations, of all hunts together
 *	bugs.NAME.inputs	partitions of arguments met in so many operations on labfs
 *				without a bug, as `assay cov` counts them; mean of the seeds
 *	bugs.NAME.outputs	the same for results
 *	bugs.NAME.cpu		seconds of CPU time of all hunts, generating included
 *	cuts.NAME.recoveries	of crashed disks, of all hunts together
 *	cuts.NAME.typical	the median of the hunts
 *	cuts.NAME.bug.N		as `recoveries`, for the hunts of bug N
 * NAME is that of a row of strategy.def. Rows of `cuts` cut the power, as `assay hunt --crash`
 * does, and hunt the bugs that only then show.
 */
#include "base/choice.h"
#include "bench/bench.h"
#include "cover/own.h"
#include "crash/crash.h"
#include "hunt/stream.h"
#include "scenario/scenario.h"
#include "vfs/traits.h"
#include "vfs/watch.h"

#include <labfs/bug.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 4 /* what is generated after the bug has shown is in vain */
#define SEEDS_MAX 16
#define RUNS_MAX (LAB_BUG_LIMIT * SEEDS_MAX)

struct strategy {
	const char *name;
	const char *crash; /* parameters of the scenario; NULL: the power is not cut */
	uint64_t seeds;
	const char *profile; /* lines of a profile */
};

static const struct strategy strategies[] = {
#define STRATEGY(name, crash, seeds, profile) { name, crash, seeds, profile },
#include "bench/strategy.def"
#undef STRATEGY
};

/* How much is hunted: operations, and operations for coverage (0: not counted). */
struct extent {
	const struct as_scenario_ops *ops;
	const char *params;
	uint64_t most, covered;
};

static const struct extent extents[2] = {
	[false] = { &as_scenario_sequential, "", 60000, 20000 },
	[true] = { &as_scenario_crash, "", 20000, 0 },
};

struct score {
	uint64_t ops[RUNS_MAX], recovered[RUNS_MAX], sum;
	unsigned bug[RUNS_MAX];
	unsigned n, found;
	uint64_t inputs, outputs;
};

/* Shows only if a call fails while the workload runs. */
static bool needs_fault(unsigned number)
{
	static const unsigned numbers[] = { 48, 49, 60, 61, 65 };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i] == number)
			return true;
	return false;
}

/* Does not come back: each hunt would take until its deadline. */
static bool hangs(unsigned number)
{
	return number == LAB_BUG_LINK_AGAIN;
}

static bool concerns(const struct lab_bug_row *row, bool crash)
{
	bool cut = row->class == LAB_CLASS_CRASH || row->class == LAB_CLASS_RECOVERY;

	if (hangs(row->number))
		return false;
	return crash ? cut && !needs_fault(row->number)
		     : row->class == LAB_CLASS_SEMANTICS || row->class == LAB_CLASS_DOGFOOD ||
			       row->class == LAB_CLASS_LEAK;
}

struct job {
	struct as_target *target;
	const struct as_target *targets[1];
	struct as_traits traits;
	struct as_run_options options;
	struct as_scenario *scenario;
	struct as_stream *stream;
};

static void job_open(struct job *job, const struct extent *extent, const struct as_profile *profile,
		     const char *target, uint64_t seed, const struct as_watch *watch)
{
	struct as_scenario_args args = { .targets = job->targets, .n_targets = 1 };

	*job = (struct job){ .options = { .watch = watch, .seed = seed } };
	as_assert(!as_target_open(target, &job->target, NULL));
	as_run_traits(job->target, &job->traits);
	job->targets[0] = job->target;
	args.options = &job->options;
	args.params = extent->params;
	as_assert(!extent->ops->open(&args, &job->scenario, NULL));
	as_assert(!as_stream_new(profile, &job->traits, seed, 0, &job->stream, NULL));
}

static void job_close(struct job *job, const struct extent *extent)
{
	as_stream_free(job->stream);
	extent->ops->close(job->scenario);
	as_target_free(job->target);
}

static uint64_t recoveries_of(const struct extent *extent, const struct as_run_result *result)
{
	struct as_crash_counts counts;

	if (extent->ops != &as_scenario_crash)
		return 0;
	memcpy(&counts, result->counts, sizeof(counts));
	return counts.checked + counts.again_checked;
}

/* Runs until something is found or so many operations have run; how many have. */
static uint64_t job_run(struct job *job, const struct extent *extent, uint64_t most, bool *found,
			uint64_t *recovered)
{
	const size_t batch = extent->ops->batch ? extent->ops->batch : BATCH;
	uint64_t ops = 0;

	*found = false;
	*recovered = 0;
	while (ops < most && !*found) {
		struct as_seq *seqs[BATCH];
		const char *names[BATCH];
		struct as_work work = { (const struct as_seq *const *)seqs, names, 0, NULL };
		struct as_run_result result = { 0 };

		for (; work.n < batch; work.n++) {
			seqs[work.n] = as_stream_next(job->stream);
			names[work.n] = "bench";
			as_assert(seqs[work.n]);
		}
		as_assert(!extent->ops->run(job->scenario, &work, &result, NULL) &&
			  result.workloads);
		ops += result.ops;
		*recovered += recoveries_of(extent, &result);
		*found = result.findings;
		for (size_t i = 0; i < work.n; i++)
			as_seq_free(seqs[i]);
	}
	return ops;
}

static void hunt(const struct extent *extent, const struct as_profile *profile,
		 const struct lab_bug_row *row, uint64_t seed, struct score *score)
{
	char target[32];
	struct job job;
	uint64_t ops, recovered;
	bool found;

	snprintf(target, sizeof(target), "lab:bug=%u", row->number);
	job_open(&job, extent, profile, target, seed, NULL);
	ops = job_run(&job, extent, extent->most, &found, &recovered);
	job_close(&job, extent);
	as_assert(score->n < RUNS_MAX);
	score->bug[score->n] = row->number;
	score->recovered[score->n] = recovered;
	score->ops[score->n++] = found ? ops : extent->most;
	score->sum += ops;
	score->found += found;
}

static void cover(const struct extent *extent, const struct as_profile *profile, uint64_t seed,
		  struct score *score)
{
	struct as_spec *spec = as_counts_spec();
	struct as_watch watch;
	struct as_own *own;
	struct job job;
	uint64_t recovered;
	bool found;

	as_assert(!as_own_new(spec, NULL, &own, NULL));
	watch = (struct as_watch)AS_OWN_WATCH(own);
	job_open(&job, extent, profile, "lab", seed, &watch);
	(void)job_run(&job, extent, extent->covered, &found, &recovered);
	job_close(&job, extent);
	as_assert(!found);
	for (unsigned i = 0; i < as_counts_spaces(as_own_counts(own)); i++) {
		struct as_space space;

		as_counts_space(as_own_counts(own), i, &space);
		for (unsigned p = 0; p < space.n; p++) {
			bool met = space.parts[p].expected && space.parts[p].count;

			score->inputs += met && space.kind == AS_SPACE_PLAIN;
			score->outputs += met && space.kind == AS_SPACE_OUTPUT;
		}
		as_space_free(&space);
	}
	as_own_free(own);
	as_spec_free(spec);
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void say(as_bench_report report, const struct strategy *strategy, const char *what,
		double value, const char *unit)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.%s.%s", strategy->crash ? "cuts" : "bugs", strategy->name,
		 what);
	report(name, value, unit);
}

/* Only numbers that were met are reported. */
static void say_recovered(as_bench_report report, const struct strategy *strategy,
			  const struct score *score)
{
	uint64_t sorted[RUNS_MAX], sum = 0;
	char name[32];

	for (unsigned i = 0; i < score->n; i++)
		sum += sorted[i] = score->recovered[i];
	qsort(sorted, score->n, sizeof(sorted[0]), by_number);
	say(report, strategy, "recoveries", (double)sum, "recoveries");
	say(report, strategy, "typical", (double)sorted[score->n / 2], "recoveries");
	for (unsigned i = 0; lab_bug_row(i); i++) {
		bool met = false;

		sum = 0;
		for (unsigned k = 0; k < score->n; k++)
			if (score->bug[k] == lab_bug_row(i)->number) {
				sum += score->recovered[k];
				met = true;
			}
		snprintf(name, sizeof(name), "bug.%u", lab_bug_row(i)->number);
		if (met)
			say(report, strategy, name, (double)sum, "recoveries");
	}
}

static void measure(const struct strategy *strategy, as_bench_report report)
{
	struct extent of = extents[strategy->crash != NULL], *extent = &of;
	struct as_profile *profile = as_profile_new();
	struct score score = { 0 };
	double cpu = 0;

	as_assert(strategy->seeds <= SEEDS_MAX);
	of.params = strategy->crash ? strategy->crash : "";
	as_assert(!as_profile_parse(strategy->name, strategy->profile, strlen(strategy->profile),
				    profile, NULL));
	for (uint64_t seed = 1; seed <= strategy->seeds; seed++) {
		cpu -= bench_all_s();
		for (unsigned i = 0; lab_bug_row(i); i++)
			if (concerns(lab_bug_row(i), strategy->crash != NULL))
				hunt(extent, profile, lab_bug_row(i), seed, &score);
		cpu += bench_all_s();
		if (extent->covered)
			cover(extent, profile, seed, &score);
	}
	if (strategy->crash)
		say_recovered(report, strategy, &score);
	qsort(score.ops, score.n, sizeof(score.ops[0]), by_number);
	say(report, strategy, "hunts", score.n, "hunts");
	say(report, strategy, "found", score.found, "hunts");
	say(report, strategy, "median", (double)score.ops[score.n / 2], "op");
	say(report, strategy, "rate", 1e6 * score.found / (double)score.sum, "bugs/Mop");
	if (extent->covered) {
		say(report, strategy, "inputs", (double)score.inputs / (double)strategy->seeds,
		    "partitions");
		say(report, strategy, "outputs", (double)score.outputs / (double)strategy->seeds,
		    "partitions");
	}
	say(report, strategy, "cpu", cpu, "s");
	free(profile);
}

static bool is_wanted(const struct strategy *strategy)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.%s.", strategy->crash ? "cuts" : "bugs", strategy->name);
	return as_bench_wants(name);
}

static void measure_all(bool crash, as_bench_report report)
{
	for (size_t i = 0; i < sizeof(strategies) / sizeof(strategies[0]); i++)
		if (crash == (strategies[i].crash != NULL) && is_wanted(&strategies[i]))
			measure(&strategies[i], report);
}

void bench_bugs(as_bench_report report)
{
	measure_all(false, report);
}

void bench_cuts(as_bench_report report)
{
	measure_all(true, report);
}
