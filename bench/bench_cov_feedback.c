/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_cov_feedback: what feedback is worth. Two ways go on from the same first batch of the
 * profile `coverage`, one with feedback between batches, the control without, until both have run
 * as many operations. What counts is what each met that the first batch had not (as in
 * tests/cover/test_feedback.sh, which has more targets and seeds).
 *	cov.feedback.lab.inputs		how many times as many inputs as the control
 *	cov.feedback.lab.outputs	the same for results
 *	cov.feedback.memory.*		in a directory in memory
 */
#include "base/choice.h"
#include "bench/bench.h"
#include "cover/feedback.h"
#include "cover/own.h"
#include "gen/gen.h"
#include "os/temp.h"
#include "run/run.h"
#include "vfs/traits.h"
#include "vfs/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPS 5000
#define SEEDS 3
#define BATCH 12

struct side {
	const struct as_target *target;
	const struct as_spec *spec;
	struct as_traits traits;
	struct as_profile *profile;
	struct as_own *own;
	struct as_watch watch;
	struct as_runner *runner;
	uint64_t ops;
};

struct newly {
	unsigned inputs, outputs;
};

static void side_open(struct side *side, const struct as_target *target, const struct as_spec *spec)
{
	struct as_run_options options = { 0 };

	*side = (struct side){ .target = target, .spec = spec, .profile = as_profile_new() };
	as_assert(!as_profile_find("coverage", side->profile, NULL));
	as_run_traits(target, &side->traits);
	as_assert(!as_own_new(spec, NULL, &side->own, NULL));
	side->watch = (struct as_watch)AS_OWN_WATCH(side->own);
	options.watch = &side->watch;
	as_assert(!as_runner_new(target, &options, NULL, &side->runner, NULL));
}

static void side_close(struct side *side)
{
	as_runner_free(side->runner);
	as_own_free(side->own);
	free(side->profile);
}

static void run_batch(struct side *side, uint64_t seed)
{
	struct as_chooser *chooser = as_chooser_seeded(seed);
	struct as_gen *gen;

	as_assert(
		!as_gen_new(side->profile, &side->traits, as_chooser_choice(chooser), &gen, NULL));
	for (int i = 0; i < BATCH; i++) {
		struct as_seq *seq = as_gen_next(gen, AS_GEN_SYNTAX);
		struct as_run_result result;

		as_assert(seq && !as_run_workload(side->runner, seq, "bench", &result, NULL));
		side->ops += result.ops;
		as_seq_free(seq);
		as_chooser_next(chooser);
	}
	as_gen_tries(gen, side->profile);
	as_gen_free(gen);
	as_chooser_free(chooser);
}

static void feed(struct side *side)
{
	struct as_buf text = { 0 };

	as_feedback_print(as_own_counts(side->own), &text);
	as_assert(!as_gen_feedback(side->profile, "bench", as_buf_str(&text), text.len, NULL));
	as_buf_free(&text);
}

static bool was_met(const struct as_space *first, const char *name)
{
	for (unsigned i = 0; i < first->n; i++)
		if (!strcmp(first->parts[i].name, name))
			return first->parts[i].count;
	return false;
}

static struct newly newly_met(const struct as_counts *counts, const struct as_counts *first)
{
	struct newly sum = { 0 };

	for (unsigned i = 0; i < as_counts_spaces(counts); i++) {
		struct as_space now, then;
		unsigned n = 0;

		as_counts_space(counts, i, &now);
		as_counts_space(first, i, &then);
		for (unsigned p = 0; p < now.n; p++)
			n += now.parts[p].expected && now.parts[p].count &&
			     !was_met(&then, now.parts[p].name);
		sum.inputs += now.kind == AS_SPACE_PLAIN ? n : 0;
		sum.outputs += now.kind == AS_SPACE_OUTPUT ? n : 0;
		as_space_free(&now);
		as_space_free(&then);
	}
	return sum;
}

/* Goes on from the same first batch until so many operations have run; *ops: how many did. */
static struct newly go(const struct as_target *target, const struct as_spec *spec, uint64_t seed,
		       bool feedback, uint64_t *ops)
{
	struct as_counts *first = as_counts_new(spec);
	struct newly newly;
	struct side side;

	side_open(&side, target, spec);
	run_batch(&side, seed * 1000);
	as_counts_merge(first, as_own_counts(side.own));
	side.ops = 0;
	for (uint64_t batch = 1; side.ops < *ops; batch++) {
		if (feedback)
			feed(&side);
		run_batch(&side, seed * 1000 + batch);
	}
	*ops = side.ops;
	newly = newly_met(as_own_counts(side.own), first);
	as_counts_free(first);
	side_close(&side);
	return newly;
}

static void compare(const char *name, const char *target_name, as_bench_report report)
{
	struct as_spec *spec = as_counts_spec();
	struct newly with = { 0 }, without = { 0 };
	struct as_target *target;
	char row[64];

	as_assert(!as_target_open(target_name, &target, NULL));
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		uint64_t ops = OPS;
		struct newly a = go(target, spec, seed, true, &ops);
		struct newly b = go(target, spec, seed, false, &ops);

		with.inputs += a.inputs;
		with.outputs += a.outputs;
		without.inputs += b.inputs;
		without.outputs += b.outputs;
	}
	snprintf(row, sizeof(row), "cov.feedback.%s.inputs", name);
	report(row, (double)with.inputs / (double)without.inputs, "x");
	snprintf(row, sizeof(row), "cov.feedback.%s.outputs", name);
	report(row, (double)with.outputs / (double)without.outputs, "x");
	as_target_free(target);
	as_spec_free(spec);
}

void bench_cov_feedback(as_bench_report report)
{
	struct as_temp *temp;
	char target[4096];

	compare("lab", "lab", report);
	if (as_temp_new("/dev/shm", &temp, NULL))
		return;
	snprintf(target, sizeof(target), "dir:%s", as_temp_path(temp));
	compare("memory", target, report);
	as_temp_free(temp);
}
