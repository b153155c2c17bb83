/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_linear: how fast histories of three threads are explained, in CPU time. The histories are
 * of 24 calls on few names, as the profile `race` makes them, answered by the model itself in a
 * random order; linear.refuse has one wrong answer in each, which is searched to the end.
 */
#include "base/prng.h"
#include "bench/bench.h"
#include "race/linear.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define CALLS 24u
#define THREADS 3u
#define POOL 256u
#define BENCH_US 1000000

static const struct as_traits traits = {
	.name = "bench",
	.features = ~(uint64_t)(AS_FEAT_UNPRIVILEGED | AS_FEAT_LIBRARY),
	.name_max = 255,
	.symlink_max = 4095,
	.block_bytes = 4096,
	.size_max = INT64_MAX,
	.time_granularity_ns = 1,
};

struct history {
	struct as_op ops[CALLS];
	struct as_linear_call calls[CALLS];
};

static void draw_op(struct as_prng *prng, struct as_op *op)
{
	static const enum as_opcode codes[] = { AS_OP_MKDIR,  AS_OP_CREATE,   AS_OP_RENAME,
						AS_OP_UNLINK, AS_OP_RMDIR,    AS_OP_HARDLINK,
						AS_OP_STAT,   AS_OP_TRUNCATE, AS_OP_CHMOD };
	static const char *const paths[] = { "/a", "/b", "/c", "/a/a", "/a/b", "/b/a", "/b/c" };

	*op = as_op_make(codes[as_prng_below(prng, sizeof(codes) / sizeof(codes[0]))]);
	op->path = paths[as_prng_below(prng, 7)];
	op->path2 = paths[as_prng_below(prng, 7)];
	op->mode = 0755;
	op->len = 512 * as_prng_below(prng, 16);
}

/* Calls begin, are answered and end in random order. */
static void draw_history(struct as_prng *prng, const struct as_model *first, struct history *h)
{
	struct as_model *m = as_model_copy(first);
	size_t running[THREADS], begun = 0, ended = 0;
	bool idle[THREADS] = { true, true, true }, answered[CALLS] = { false };
	uint64_t now = 1;

	while (ended < CALLS) {
		uint32_t t = (uint32_t)as_prng_below(prng, THREADS);
		struct as_linear_call *call = idle[t] ? NULL : &h->calls[running[t]];

		if (idle[t] && begun < CALLS) {
			running[t] = begun++;
			idle[t] = false;
			draw_op(prng, &h->ops[running[t]]);
			h->calls[running[t]] = (struct as_linear_call){ .op = &h->ops[running[t]],
									.thread = t,
									.begin = now++ };
		} else if (call && !answered[running[t]]) {
			call->got.err = as_model_apply(m, call->op);
			call->got.ret = call->got.err ? -1 : 0;
			answered[running[t]] = true;
		} else if (call) {
			call->end = now++;
			idle[t] = true;
			ended++;
		}
	}
	as_model_free(m);
}

static double judge_all(const struct as_model *first, const struct history *pool, uint64_t *states)
{
	int64_t start_us = bench_cpu_us(), used_us;
	uint64_t n = 0;

	*states = 0;
	do {
		struct as_linear how = { .first = first,
					 .calls = pool[n % POOL].calls,
					 .n = CALLS };
		struct as_linear_result result;

		as_linear_judge(&how, &result);
		*states += result.states;
		as_linear_result_free(&result);
		n++;
		used_us = bench_cpu_us() - start_us;
	} while (used_us < BENCH_US);
	*states /= n;
	return (double)n * 1e6 / (double)used_us;
}

void bench_linear(as_bench_report report)
{
	struct history *pool = as_xcalloc(POOL, sizeof(*pool));
	struct as_model *first = as_model_new(&traits);
	struct as_prng prng = as_prng_seed(4);
	uint64_t states;

	for (size_t i = 0; i < POOL; i++)
		draw_history(&prng, first, &pool[i]);
	report("linear.ops", judge_all(first, pool, &states), "histories/s");
	report("linear.states", (double)states, "states/history");
	/* EXDEV: no order explains that answer. */
	for (size_t i = 0; i < POOL; i++)
		pool[i].calls[CALLS / 2].got = (struct as_outcome){ .ret = -1, .err = EXDEV };
	report("linear.refuse", judge_all(first, pool, &states), "histories/s");
	report("linear.refuse_states", (double)states, "states/history");
	as_model_free(first);
	free(pool);
}
