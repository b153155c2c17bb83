/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The generator: the same workloads on every machine (golden digests), every core command goes
 * through on the model, extensions leave the backbone alone, arguments come from their
 * distributions, what is printed can be read, and labfs agrees with the model on all of it.
 */
#include "tests/lib/gen.h"

#include "base/event.h"
#include "run/run.h"
#include "vfs/traits.h"
#include "work/parse.h"
#include "work/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define GOLDEN_WORKLOADS 1000

/* Of the texts of the first thousand workloads of each built-in profile, one after the other. */
static const struct {
	const char *profile, *digest;
} golden[] = {
	{ "paper", "735b12153d5529db18eb9922b474707c" },
	{ "crash", "c9d853d9ede208e0feda9251d7b130b1" },
	{ "race", "0428b9e69881b7aa492aab24a9f82f2e" },
	{ "small", "d5066fc702abe8f993d7953b6494e532" },
	{ "coverage", "c1eab896e4af612648fec81e5a869b08" },
	{ "hunt", "2a62abd07b01233675edf1ce6fd53085" },
};

/* Profile, chooser and generator in one. */
struct setup {
	struct as_profile *profile;
	struct as_chooser *chooser;
	struct as_gen *gen;
};

static struct setup set_up(const char *name, const struct as_traits *traits)
{
	struct setup s = { .profile = as_profile_new() };
	struct as_err err = { 0 };

	if (as_profile_find(name, s.profile, &err))
		fail_msg("%s", err.msg);
	s.chooser = as_chooser_seeded(s.profile->seed);
	s.gen = t_gen_start(s.profile, traits, s.chooser);
	return s;
}

static void tear_down(struct setup *s)
{
	as_gen_free(s->gen);
	as_chooser_free(s->chooser);
	free(s->profile);
}

static void test_golden(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
		struct setup s = set_up(golden[i].profile, &t_any_traits);
		char hex[AS_DIGEST_HEX_LEN + 1];
		struct as_buf all = { 0 };

		for (int n = 0; n < GOLDEN_WORKLOADS; n++) {
			struct as_seq *seq = as_gen_next(s.gen, AS_GEN_SYNTAX);

			assert_non_null(seq);
			as_print_seq(seq, &all);
			as_buf_addc(&all, '\n');
			as_seq_free(seq);
			as_chooser_next(s.chooser);
		}
		as_digest_hex(as_hash(as_buf_str(&all), all.len), hex);
		assert_string_equal(hex, golden[i].digest);
		as_buf_free(&all);
		tear_down(&s);
	}
}

static void test_core_goes_through(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
		struct setup s = set_up(golden[i].profile, &t_any_traits);

		for (int n = 0; n < 300; n++) {
			struct as_seq *seq = as_gen_next(s.gen, AS_GEN_CORE);
			struct as_model *model = as_model_new(&t_any_traits);

			assert_true(seq->n >= s.profile->length_min);
			assert_true(seq->n <= s.profile->length_max);
			for (size_t k = 0; k < seq->n; k++) {
				assert_int_equal(as_op_table[seq->ops[k].code].layer,
						 AS_LAYER_CORE);
				assert_int_equal(as_model_apply(model, &seq->ops[k]), 0);
			}
			as_model_free(model);
			as_seq_free(seq);
		}
		tear_down(&s);
	}
}

/* Each core workload leads to a state of its own: nothing is given out twice. */
static void test_core_is_distinct(void **state)
{
	struct setup s = set_up("paper", &t_any_traits);
	struct as_visited seen = { 0 };

	(void)state;
	for (int n = 0; n < 2000; n++) {
		struct as_seq *seq = as_gen_next(s.gen, AS_GEN_CORE);
		struct as_model *model = as_model_new(&t_any_traits);

		for (size_t k = 0; k < seq->n; k++)
			as_model_apply(model, &seq->ops[k]);
		assert_true(as_visited_add(&seen, as_model_digest(model)));
		as_model_free(model);
		as_seq_free(seq);
	}
	as_visited_free(&seen);
	tear_down(&s);
}

/* What is at the end of the backbone alone is at the end of the refined workload, too. */
static int same_there(void *ctx, const char *path, const struct as_attrs *attrs)
{
	struct as_stat st;

	if (!as_model_stat(ctx, path, true, &st))
		fail_msg("%s is not there any more", path);
	assert_int_equal(st.mode & S_IFMT, attrs->type);
	return 0;
}

static void check_backbone(const struct as_seq *core, const struct as_seq *ext)
{
	struct as_model *alone = as_model_new(&t_any_traits), *with = as_model_new(&t_any_traits);
	bool kept = true;
	size_t k = 0;

	for (size_t i = 0; i < ext->n; i++) {
		bool backbone = k < core->n && as_op_equal(&ext->ops[i], &core->ops[k]);
		int err = as_model_apply(with, &ext->ops[i]);

		if (backbone) {
			assert_int_equal(err, as_model_apply(alone, &core->ops[k++]));
		} else {
			assert_int_not_equal(as_op_table[ext->ops[i].code].layer, AS_LAYER_CORE);
			kept &= !as_gen_rows[ext->ops[i].code].breaks;
		}
	}
	assert_int_equal(k, core->n);
	if (kept)
		as_model_each_name(alone, false, same_there, with);
	as_model_free(alone);
	as_model_free(with);
}

static void test_extensions_keep_the_backbone(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
		struct setup s = set_up(golden[i].profile, &t_any_traits);
		struct as_gen_stats stats = { 0 };

		for (int n = 0; n < 200; n++) {
			struct as_seq *core = as_gen_next(s.gen, AS_GEN_CORE);
			struct as_seq *ext = as_gen_extend(core, s.profile, &t_any_traits,
							   as_chooser_choice(s.chooser), &stats);
			struct as_seq *full =
				as_gen_fill(ext, s.profile, as_chooser_choice(s.chooser));

			check_backbone(core, ext);
			/* The syntax layer changes neither order nor paths. */
			assert_int_equal(full->n, ext->n);
			for (size_t k = 0; k < ext->n; k++) {
				assert_int_equal(full->ops[k].code, ext->ops[k].code);
				assert_int_equal(full->ops[k].fd, ext->ops[k].fd);
				if (ext->ops[k].path)
					assert_string_equal(full->ops[k].path, ext->ops[k].path);
			}
			as_seq_free(core);
			as_seq_free(ext);
			as_seq_free(full);
		}
		assert_true(stats.inserted > 200);
		tear_down(&s);
	}
}

static void test_read_what_is_printed(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
		struct setup s = set_up(golden[i].profile, &t_any_traits);

		for (int n = 0; n < 200; n++) {
			struct as_seq *seq = as_gen_next(s.gen, AS_GEN_SYNTAX), *read;
			struct as_buf text = { 0 };
			struct as_err err = { 0 };

			as_print_seq(seq, &text);
			if (as_parse_text("gen", as_buf_str(&text), text.len, &read, &err))
				fail_msg("%s", err.msg);
			assert_true(as_seq_equal(seq, read));
			as_seq_free(seq);
			as_seq_free(read);
			as_buf_free(&text);
		}
		tear_down(&s);
	}
}

/* Shares of what is drawn, over many workloads. */
static void test_arguments_follow_their_distributions(void **state)
{
	struct setup s = set_up("paper", &t_any_traits);
	unsigned mkdirs = 0, plain = 0, opens = 0, nonblock = 0, writes = 0, large = 0;

	(void)state;
	for (int n = 0; n < 1500; n++) {
		struct as_seq *seq = as_gen_next(s.gen, AS_GEN_SYNTAX);

		for (size_t k = 0; k < seq->n; k++) {
			const struct as_op *op = &seq->ops[k];

			mkdirs += op->code == AS_OP_MKDIR;
			plain += op->code == AS_OP_MKDIR && op->mode == 0755;
			opens += op->code == AS_OP_OPEN;
			nonblock += op->code == AS_OP_OPEN && (op->flags & AS_O_NONBLOCK);
			writes += op->code == AS_OP_WRITE;
			large += op->code == AS_OP_WRITE && op->len > 32768;
		}
		as_seq_free(seq);
		as_chooser_next(s.chooser);
	}
	assert_true(mkdirs > 500 && opens > 500 && writes > 200);
	assert_in_range(100 * plain / mkdirs, 86, 94);
	assert_in_range(100 * nonblock / opens, 7, 13);
	assert_in_range(100 * large / writes, 40, 60);
	tear_down(&s);
}

static void test_left_out(void **state)
{
	struct as_traits fat = t_any_traits;
	struct setup s;

	(void)state;
	fat.features &= ~(uint64_t)(AS_FEAT_SYMLINK | AS_FEAT_HARDLINK | AS_FEAT_MKNOD |
				    AS_FEAT_XATTR_USER);
	s = set_up("paper", &fat);
	assert_true(as_gen_left_out(s.gen, AS_OP_SYMLINK));
	assert_true(as_gen_left_out(s.gen, AS_OP_WRITE_XATTR));
	assert_false(as_gen_left_out(s.gen, AS_OP_MKDIR));
	for (int n = 0; n < 300; n++) {
		struct as_seq *seq = as_gen_next(s.gen, AS_GEN_SYNTAX);

		for (size_t k = 0; k < seq->n; k++)
			assert_false(as_gen_left_out(s.gen, seq->ops[k].code));
		as_seq_free(seq);
	}
	tear_down(&s);
}

static void test_nothing_left(void **state)
{
	struct as_profile *profile = as_profile_new();
	struct as_chooser *chooser = as_chooser_seeded(1);
	struct as_err err = { 0 };
	struct as_gen *gen;

	(void)state;
	memset(profile->weight, 0, sizeof(profile->weight));
	/* There is nothing to close at the start, and nothing can be opened. */
	profile->weight[AS_OP_CLOSE] = 1;
	assert_int_equal(as_gen_new(profile, &t_any_traits, as_chooser_choice(chooser), &gen, &err),
			 AS_EUSE);
	assert_non_null(strstr(err.msg, "no possible command is left"));
	assert_null(gen);
	as_chooser_free(chooser);
	free(profile);
}

/* A full queue and a full set of explored states: the search goes on. */
static void test_bounds(void **state)
{
	struct setup s = set_up("paper", &t_any_traits);
	struct as_gen_stats stats;

	(void)state;
	as_gen_free(s.gen);
	s.profile->queue_max = 50;
	s.profile->visited_max = 2000;
	s.profile->length_max = 10;
	s.gen = t_gen_start(s.profile, &t_any_traits, s.chooser);
	for (int n = 0; n < 20000; n++) {
		assert_true(as_gen_step(s.gen));
		as_gen_stats(s.gen, &stats);
		assert_true(stats.queued <= 50);
	}
	assert_true(stats.evicted > 1000);
	assert_true(stats.forgotten > 1);
	tear_down(&s);
}

/* ---- On labfs -------------------------------------------------------------------------------- */

struct ear {
	struct as_sink sink;
	char summary[512];
};

static void hear(struct as_sink *sink, const struct as_finding *f)
{
	snprintf(((struct ear *)sink)->summary, sizeof(((struct ear *)sink)->summary), "%s",
		 f->summary);
}

static void test_lab_agrees(void **state)
{
	const struct as_run_options options = { .deadline_ms = 20000 };
	struct ear ear = { .sink = { .finding = hear } };
	struct as_traits traits;
	struct as_target *target;
	struct as_runner *runner;
	struct as_err err = { 0 };

	(void)state;
	if (as_target_open("lab", &target, &err) ||
	    as_runner_new(target, &options, &ear.sink, &runner, &err))
		fail_msg("%s", err.msg);
	as_run_traits(target, &traits);
	for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
		struct setup s = set_up(golden[i].profile, &traits);

		for (int n = 0; n < 60; n++) {
			struct as_seq *seq = as_gen_next(s.gen, AS_GEN_SYNTAX);
			struct as_run_result result = { 0 };

			if (as_run_workload(runner, seq, "generated", &result, &err))
				fail_msg("%s", err.msg);
			if (result.findings) {
				struct as_buf text = { 0 };

				as_print_seq(seq, &text);
				print_message("%s", as_buf_str(&text));
				fail_msg("%s %d: %s", golden[i].profile, n, ear.summary);
			}
			as_seq_free(seq);
		}
		tear_down(&s);
	}
	as_runner_free(runner);
	as_target_free(target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_core_goes_through),
		cmocka_unit_test(test_core_is_distinct),
		cmocka_unit_test(test_extensions_keep_the_backbone),
		cmocka_unit_test(test_read_what_is_printed),
		cmocka_unit_test(test_arguments_follow_their_distributions),
		cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_nothing_left),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_lab_agrees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
