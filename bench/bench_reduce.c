/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_reduce: how many executions a reduction takes. The workload has 500 operations on labfs, of
 * which one pair is guilty: a creation, and a rename over it (bug 1), among random others. The mean
 * and the worst of several seeds.
 */
#include "base/choice.h"
#include "bench.h"
#include "os/spawn.h"
#include "reduce/reduce.h"
#include "run/run.h"
#include "tests/lib/padded.h"

#include <stdlib.h>
#include <string.h>

#define OPS 500
#define SEEDS 10

struct subject {
	struct as_sink sink;
	struct as_runner *runner;
	char *signature, *wanted;
	long op;
};

static void hear(struct as_sink *sink, const struct as_finding *f)
{
	struct subject *s = (struct subject *)sink;

	free(s->signature);
	s->signature = as_xstrdup(f->signature);
	s->op = f->op_index;
}

static int fails(void *ctx, const struct as_seq *seq, struct as_err *err)
{
	struct subject *s = ctx;
	struct as_run_result result;
	int rc;

	free(s->signature);
	s->signature = NULL;
	rc = as_run_workload(s->runner, seq, "bench", &result, err);
	return rc ? rc : s->signature && (!s->wanted || !strcmp(s->signature, s->wanted));
}

static struct as_reduced reduce(struct subject *s, uint64_t seed)
{
	static const char pair[] = "create /a 0644\ncreate /b 0644\nrename /a /b\n";
	struct as_chooser *chooser = as_chooser_seeded(seed);
	struct as_seq *hidden = NULL, *whole, *best = NULL;
	struct as_reducer reducer = { .fails = fails, .ctx = s };
	struct as_reduced result;
	struct as_err err;

	as_assert(!as_parse_text("bench", pair, sizeof(pair) - 1, &hidden, &err));
	whole = t_padded(as_chooser_choice(chooser), hidden, OPS);
	free(s->wanted);
	s->wanted = NULL;
	as_assert(fails(s, whole, &err) == 1);
	s->wanted = as_xstrdup(s->signature);
	reducer.op_index = s->op;
	as_assert(!as_reduce(whole, &reducer, &best, &result, &err) && best);
	as_seq_free(hidden);
	as_seq_free(whole);
	as_seq_free(best);
	as_chooser_free(chooser);
	return result;
}

void bench_reduce(as_bench_report report)
{
	static const struct as_run_options options = { 0 };
	struct subject s = { .sink = { .finding = hear } };
	struct as_target *target = NULL;
	size_t executions = 0, worst = 0, ops = 0;
	int64_t start_us = as_now_us();
	struct as_err err;

	as_assert(!as_target_open("lab:bug=1", &target, &err));
	as_assert(!as_runner_new(target, &options, &s.sink, &s.runner, &err));
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct as_reduced r = reduce(&s, seed);

		executions += r.executions;
		ops += r.ops_after;
		worst = r.executions > worst ? r.executions : worst;
	}
	report("reduce.executions", (double)executions / SEEDS, "executions");
	report("reduce.executions_worst", (double)worst, "executions");
	report("reduce.operations_left", (double)ops / SEEDS, "operations");
	report("reduce.time", (double)(as_now_us() - start_us) / 1e3 / SEEDS, "ms");
	as_runner_free(s.runner);
	as_target_free(target);
	free(s.signature);
	free(s.wanted);
}
