/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_gen: how fast the generator explores, what a queued state costs, how much of the time goes
 * into clustering, and whether it is worth it: distinct states and distinct attribute vectors
 * against uniform random commands from the same table, with the same number of commands. Times are
 * the process's own (the machine may be busy with something else).
 */
#include "base/choice.h"
#include "base/prng.h"
#include "bench/bench.h"
#include "gen/gen.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct as_traits traits = { .name = "bench", AS_TRAITS_ANY };

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static struct as_gen *start(const struct as_profile *profile, struct as_chooser *chooser)
{
	struct as_gen *gen;
	struct as_err err;

	as_assert(as_gen_new(profile, &traits, as_chooser_choice(chooser), &gen, &err) == 0);
	return gen;
}

/* ---- Speed and memory ---- */

static void bench_core(as_bench_report report)
{
	const uint64_t extensions = 2000000;
	struct as_profile *profile = as_profile_new();
	struct as_chooser *chooser = as_chooser_seeded(1);
	struct as_gen *gen = start(profile, chooser);
	struct as_gen_stats stats = { 0 };
	uint64_t before = cpu_ns();

	while (stats.extended < extensions && as_gen_step(gen)) {
		as_chooser_next(chooser);
		as_gen_stats(gen, &stats);
	}
	report("gen.core", 1e9 * (double)stats.extended / (double)(cpu_ns() - before),
	       "extension/s");
	report("gen.core_fresh", (double)stats.fresh / (double)stats.extended, "share");
	as_gen_free(gen);
	as_chooser_free(chooser);
	free(profile);
}

struct stopwatch {
	uint64_t start, spent, calls;
};

static void watch(void *ctx, bool begin)
{
	struct stopwatch *w = ctx;

	if (begin)
		w->start = cpu_ns();
	else
		w->spent += cpu_ns() - w->start;
	w->calls += begin;
}

/* Reading the clock costs about as much as clustering few points: what a pair of readings costs is
 * measured and taken off both. */
static double clock_cost_ns(void)
{
	struct stopwatch w = { 0 };
	uint64_t before = cpu_ns();

	for (int i = 0; i < 100000; i++) {
		watch(&w, true);
		watch(&w, false);
	}
	as_assert(w.calls == 100000);
	return (double)(cpu_ns() - before) / 100000;
}

static void bench_kmeans(as_bench_report report)
{
	struct as_profile *profile = as_profile_new();
	struct as_chooser *chooser = as_chooser_seeded(1);
	struct as_gen *gen = start(profile, chooser);
	struct stopwatch w = { 0 };
	double pair = clock_cost_ns(), total, spent;
	uint64_t before;

	as_gen_view(gen)->watch = watch;
	as_gen_view(gen)->watch_ctx = &w;
	before = cpu_ns();
	for (int i = 0; i < 300000 && as_gen_step(gen); i++)
		as_chooser_next(chooser);
	total = (double)(cpu_ns() - before) - (double)w.calls * pair;
	/* Of a pair about half falls between the two readings. */
	spent = (double)w.spent - (double)w.calls * pair / 2;
	report("gen.kmeans_share", spent / total, "share");
	as_gen_free(gen);
	as_chooser_free(chooser);
	free(profile);
}

static void bench_queue(as_bench_report report)
{
	const size_t states = 1000000;
	struct as_profile *profile = as_profile_new();
	struct as_chooser *chooser = as_chooser_seeded(1);
	struct as_gen_stats stats = { 0 };
	struct mallinfo2 before = mallinfo2(), after;
	struct as_gen *gen;

	profile->queue_max = states;
	gen = start(profile, chooser);
	while (stats.queued < states && as_gen_step(gen)) {
		as_chooser_next(chooser);
		as_gen_stats(gen, &stats);
	}
	after = mallinfo2();
	report("gen.queue_1m",
	       (double)(after.uordblks + after.hblkhd - before.uordblks - before.hblkhd) /
		       (1 << 30),
	       "GiB");
	as_gen_free(gen);
	as_chooser_free(chooser);
	free(profile);
}

/* ---- Diversity ---- */

struct seen {
	struct as_visited states, vectors;
};

static int see_vector(void *ctx, const char *path, const struct as_attrs *attrs)
{
	struct seen *seen = ctx;
	struct as_attrs vector = *attrs;

	(void)path;
	vector.ino = 0;
	as_visited_add(&seen->vectors, as_hash(&vector, sizeof(vector)));
	return 0;
}

static void see(void *ctx, const struct as_model *model)
{
	struct seen *seen = ctx;

	if (as_visited_add(&seen->states, as_model_digest_canonical(model)))
		as_model_each(model, false, see_vector, seen);
}

static void forget(struct seen *seen)
{
	as_visited_free(&seen->states);
	as_visited_free(&seen->vectors);
}

static void generated(const struct as_profile *profile, uint64_t budget, struct seen *seen)
{
	struct as_chooser *chooser = as_chooser_seeded(profile->seed);
	struct as_gen *gen = start(profile, chooser);
	struct as_gen_stats stats = { 0 };

	as_gen_on_state(gen, see, seen);
	while (stats.extended < budget && as_gen_step(gen)) {
		as_chooser_next(chooser);
		as_gen_stats(gen, &stats);
	}
	as_gen_free(gen);
	as_chooser_free(chooser);
}

/* A path of one to three names of the alphabet. */
static const char *any_path(const struct as_profile *p, struct as_prng *prng, char out[256])
{
	unsigned depth = 1 + (unsigned)as_prng_below(prng, 3);
	size_t at = 0;

	for (unsigned i = 0; i < depth; i++) {
		const char *name = p->name[as_prng_below(prng, p->n_names)];

		out[at++] = '/';
		memcpy(out + at, name, strlen(name));
		at += strlen(name);
	}
	out[at] = '\0';
	return out;
}

/* Workloads of length_max commands, each of any core type, with any names and any slot. */
static void uniform(const struct as_profile *p, uint64_t budget, struct seen *seen)
{
	struct as_prng prng = as_prng_seed(p->seed);
	struct as_model *model = NULL;
	struct as_gen_view view;
	char path[256], path2[256];

	as_view_init(&view, p, NULL);
	for (uint64_t i = 0; i < budget; i++) {
		struct as_op op = view.plain[as_prng_below(&prng, AS_OP_CHCWD + 1)];

		if (i % p->length_max == 0) {
			as_model_free(model);
			model = as_model_new(&traits);
		}
		op.path = any_path(p, &prng, path);
		op.path2 = any_path(p, &prng, path2);
		op.fd = (int32_t)as_prng_below(&prng, p->slots);
		if (op.code == AS_OP_OPEN)
			op.slot = (int32_t)as_prng_below(&prng, p->slots);
		if (as_model_apply(model, &op) == 0)
			see(seen, model);
	}
	as_model_free(model);
	as_view_free(&view);
}

/* One of all commands that are offered, each with the same chance. */
struct any {
	struct as_choice *choice;
	struct as_op op;
	struct as_buf path, path2;
	unsigned n;
};

static int take_any(void *ctx, const struct as_op *op)
{
	struct any *any = ctx;

	if (as_choose(any->choice, ++any->n) != 0)
		return 0;
	any->op = *op;
	as_buf_clear(&any->path);
	as_buf_clear(&any->path2);
	if (op->path)
		as_buf_adds(&any->path, op->path);
	if (op->path2)
		as_buf_adds(&any->path2, op->path2);
	return 0;
}

/* Does the same with commands that the state allows, each with the same chance: this is the
 * generator without its search. */
static void uniform_valid(const struct as_profile *p, uint64_t budget, struct seen *seen)
{
	struct as_chooser *chooser = as_chooser_seeded(p->seed);
	struct as_choice *choice = as_chooser_choice(chooser);
	uint32_t weight[AS_OP_COUNT] = { 0 };
	struct any any = { .choice = choice };
	struct as_model *model = NULL;
	struct as_gen_view view;

	for (int i = 0; i <= AS_OP_CHCWD; i++)
		weight[i] = 1;
	as_view_init(&view, p, choice);
	for (uint64_t i = 0; i < budget; i++) {
		enum as_opcode code;

		any.n = 0;
		if (i % p->length_max == 0) {
			as_model_free(model);
			model = as_model_new(&traits);
		}
		as_chooser_next(chooser);
		as_view_look(&view, model, false);
		code = as_view_draw_type(&view, weight);
		as_assert(as_view_build_all(&view, model, code, take_any, &any) == 0 && any.n);
		any.op.path = any.path.len ? as_buf_str(&any.path) : NULL;
		any.op.path2 = any.path2.len ? as_buf_str(&any.path2) : NULL;
		as_assert(as_model_apply(model, &any.op) == 0);
		see(seen, model);
	}
	as_buf_free(&any.path);
	as_buf_free(&any.path2);
	as_model_free(model);
	as_view_free(&view);
	as_chooser_free(chooser);
}

static double count(const struct as_visited *visited)
{
	return (double)as_digests_n(&visited->set);
}

/* One more command gives at most one more state. So no search can be better than the stricter
 * baseline by more than a factor of budget / states; that bound is reported, too. */
static void bench_diversity(as_bench_report report)
{
	const uint64_t budget = 300000;
	struct as_profile *profile = as_profile_new();
	struct seen ours = { 0 }, theirs = { 0 }, valid = { 0 }, shapes = { 0 };

	generated(profile, budget, &ours);
	uniform(profile, budget, &theirs);
	uniform_valid(profile, budget, &valid);
	profile->prune = AS_PRUNE_CANONICAL;
	profile->types = 3;
	generated(profile, budget, &shapes);
	report("gen.diversity", count(&ours.states) / count(&theirs.states), "times");
	report("gen.diversity_vectors", count(&ours.vectors) / count(&theirs.vectors), "times");
	report("gen.diversity_valid", count(&ours.states) / count(&valid.states), "times");
	report("gen.diversity_valid_bound", (double)budget / count(&valid.states), "times");
	report("gen.diversity_valid_canonical", count(&shapes.states) / count(&valid.states),
	       "times");
	report("gen.vectors_valid", count(&ours.vectors) / count(&valid.vectors), "times");
	report("gen.vectors_valid_canonical", count(&shapes.vectors) / count(&valid.vectors),
	       "times");
	report("gen.states", count(&ours.states), "states");
	report("gen.states_uniform", count(&theirs.states), "states");
	report("gen.states_uniform_valid", count(&valid.states), "states");
	report("gen.vectors", count(&ours.vectors), "vectors");
	report("gen.vectors_uniform", count(&theirs.vectors), "vectors");
	report("gen.vectors_uniform_valid", count(&valid.vectors), "vectors");
	forget(&ours);
	forget(&theirs);
	forget(&valid);
	forget(&shapes);
	free(profile);
}

/* Operations a second of whole workloads with drawn arguments, as a hunt uses them. */
static void bench_syntax(as_bench_report report)
{
	static const char *const names[] = { "hunt", "paper", "coverage" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct as_profile *profile = as_profile_new();
		struct as_chooser *chooser = as_chooser_seeded(1);
		uint64_t ops = 0, before;
		struct as_buf name = { 0 };
		struct as_gen *gen;
		struct as_err err;

		as_assert(as_profile_find(names[i], profile, &err) == 0);
		gen = start(profile, chooser);
		before = cpu_ns();
		while (ops < 200000) {
			struct as_seq *seq = as_gen_next(gen, AS_GEN_SYNTAX);

			ops += seq->n;
			as_seq_free(seq);
			as_chooser_next(chooser);
		}
		as_buf_addf(&name, "gen.syntax%s%s", i ? "_" : "", i ? names[i] : "");
		report(as_buf_str(&name), 1e9 * (double)ops / (double)(cpu_ns() - before), "op/s");
		as_buf_free(&name);
		as_gen_free(gen);
		as_chooser_free(chooser);
		free(profile);
	}
}

void bench_gen(as_bench_report report)
{
	bench_core(report);
	bench_kmeans(report);
	bench_queue(report);
	bench_syntax(report);
	bench_diversity(report);
}
