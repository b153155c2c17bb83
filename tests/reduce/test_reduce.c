/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reduction: with a made-up oracle, so that what must remain is known exactly; and of findings on
 * labfs with its seeded bugs, hidden in long random workloads.
 */
#include "tests/lib/skip.h"

#include "base/choice.h"
#include "reduce/reduce.h"
#include "run/run.h"
#include "tests/lib/padded.h"
#include "work/print.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- A made-up oracle ------------------------------------------------------------------------ */

/* Fails when its lines stand in the workload, in this order (each a beginning of a line). */
struct oracle {
	const char *const *lines;
	unsigned every; /* fails only in one of so many runs; 0: always */
	unsigned asked, error_at;
	enum as_reduce_stop stop;
	unsigned stop_at; /* after so many */
	size_t best; /* of what it was told */
};

static int oracle_fails(void *ctx, const struct as_seq *seq, struct as_err *err)
{
	struct oracle *o = ctx;
	const char *const *want = o->lines;
	struct as_buf line = { 0 };

	o->asked++;
	if (o->error_at && o->asked == o->error_at)
		return as_fail(err, AS_EIO, "the oracle is out of order");
	for (size_t i = 0; i < seq->n && *want; i++) {
		as_buf_clear(&line);
		as_print_op(&seq->ops[i], &line);
		want += !strncmp(as_buf_str(&line), *want, strlen(*want));
	}
	as_buf_free(&line);
	return !*want && (!o->every || o->asked % o->every == 0);
}

static enum as_reduce_stop oracle_stop(void *ctx)
{
	const struct oracle *o = ctx;

	return o->stop_at && o->asked >= o->stop_at ? o->stop : AS_REDUCE_GO_ON;
}

static void oracle_better(void *ctx, const struct as_seq *best, const char *phase)
{
	struct oracle *o = ctx;

	assert_non_null(phase);
	assert_true(best->n <= o->best || !o->best);
	o->best = best->n;
}

static struct as_seq *parse(const char *text)
{
	struct as_seq *seq = NULL;
	struct as_err err = { 0 };

	if (as_parse_text("test", text, strlen(text), &seq, &err))
		fail_msg("%s", err.msg);
	return seq;
}

static char *reduce_text(const char *text, struct oracle *o, long op_index,
			 struct as_reduced *result, int *rc)
{
	struct as_reducer reducer = { .fails = oracle_fails,
				      .stop = oracle_stop,
				      .better = oracle_better,
				      .ctx = o,
				      .op_index = op_index,
				      .runs = 4 };
	struct as_seq *seq = parse(text), *best = NULL;
	struct as_buf out = { 0 };
	struct as_err err = { 0 };
	char *copy;

	*rc = as_reduce(seq, &reducer, &best, result, &err);
	if (best)
		as_print_seq(best, &out);
	copy = best ? as_xstrdup(as_buf_str(&out)) : NULL;
	as_buf_free(&out);
	as_seq_free(seq);
	as_seq_free(best);
	return copy;
}

static void what_remains(void **state)
{
	static const struct {
		const char *name, *text;
		const char *lines[5];
		const char *want;
	} rows[] = {
		{ "the only one", "sync\nmkdir /a 0755\nsync\n", { "mkdir" }, "mkdir /a 0755\n" },
		{ "one is left of what needs none", "sync\nstat /\n", { NULL }, "sync\n" },
		{ "a pair far apart",
		  "create /f 0644\nsync\nsync\nstat /\nstat /\nsync\nunlink /f\nsync\n",
		  { "create", "unlink" },
		  "create /f 0644\nunlink /f\n" },
		{ "folders that are not needed",
		  "mkdir /one 0700\nmkdir /one/two 0711\ncreate /one/two/three 0600\n"
		  "stat /one/two/three\n",
		  { "create", "stat" },
		  "create /a 0644\nstat /a\n" },
		{ "numbers to powers of two, and small ones",
		  "$3 = open /f O_RDWR|O_CREAT|O_SYNC|O_APPEND 0640\n"
		  "pwrite $3 len=5000 at=12345 fill=77 mem=17\n",
		  { "$3 = open", "pwrite $3" },
		  "$3 = open /f O_RDWR\npwrite $3 len=1 at=0 fill=1\n" },
		{ "names that matter",
		  "create /longer 0644\ncreate /another 0644\nsync\n",
		  { "create /longer" },
		  "create /longer 0644\n" },
		{ "options one by one",
		  "remount opts=noatime,ro,data=journal\n",
		  { "remount opts=noatime" },
		  "remount opts=noatime\n" },
		{ "names that deepen chose",
		  "mkdir /top 0755\ndeepen /top 9\nstat /top/d/d\n",
		  { "deepen", "stat /" },
		  "deepen /a 1\nstat /d/d\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct oracle o = { .lines = rows[i].lines };
		struct as_reduced result;
		int rc;
		char *got = reduce_text(rows[i].text, &o, -1, &result, &rc);

		assert_int_equal(rc, 0);
		if (!got || strcmp(got, rows[i].want))
			fail_msg("%s: got\n%swanted\n%s", rows[i].name, got ? got : "nothing\n",
				 rows[i].want);
		assert_true(result.complete && !result.flaky);
		assert_int_equal(result.failed, 4);
		assert_int_equal(result.runs, 4);
		assert_int_equal(result.executions, o.asked);
		free(got);
	}
}

static const char *const pair[] = { "create /f", "unlink /f", NULL };
#define LONG "sync\nsync\nstat /\ncreate /f 0644\nstat /\nsync\nstat /f\nunlink /f\nsync\nsync\n"

static void flaky(void **state)
{
	struct oracle o = { .lines = pair, .every = 3 };
	struct as_reduced result;
	int rc;
	char *got = reduce_text(LONG, &o, -1, &result, &rc);

	(void)state;
	assert_int_equal(rc, 0);
	assert_string_equal(got, "create /f 0644\nunlink /f\n");
	assert_true(result.flaky);
	assert_true(result.failed >= 1 && result.failed < result.runs);
	free(got);
}

static void does_not_fail(void **state)
{
	static const char *const never[] = { "mkdir", NULL };
	struct oracle o = { .lines = never };
	struct as_reduced result;
	int rc;

	(void)state;
	assert_null(reduce_text(LONG, &o, -1, &result, &rc));
	assert_int_equal(rc, 0);
	assert_int_equal(result.executions, 4);
}

/* Whenever it is stopped, what it hands over fails; interrupted, it runs nothing more. */
static void stopped_anywhere(void **state)
{
	size_t whole = 0, cut_in_the_end = 0;

	(void)state;
	for (unsigned at = 1; !whole || at <= whole; at++) {
		for (int how = AS_REDUCE_TIME_UP; how <= AS_REDUCE_INTERRUPTED; how++) {
			struct oracle o = { .lines = pair, .stop_at = at, .stop = how };
			struct as_reduced result;
			int rc;
			char *got = reduce_text(LONG, &o, 7, &result, &rc);

			assert_int_equal(rc, 0);
			assert_non_null(strstr(got, "create /f"));
			assert_non_null(strstr(got, "unlink /f"));
			/* Nothing is run after an interrupt, be it to confirm; what is not
			 * confirmed is not complete, so that it is taken up again. */
			if (how == AS_REDUCE_INTERRUPTED && result.executions == at)
				assert_true(result.runs < 4 ? !result.complete : result.complete);
			else
				assert_int_equal(result.failed, 4);
			cut_in_the_end += result.runs > 0 && result.runs < 4;
			assert_true(result.complete || result.executions == at ||
				    how == AS_REDUCE_TIME_UP);
			whole = result.complete ? result.executions : whole;
			free(got);
		}
	}
	assert_true(whole < 40);
	assert_int_equal(cut_in_the_end, 3);
}

/* An error of ours is handed on, with what was reached. */
static void error_of_ours(void **state)
{
	(void)state;
	for (unsigned at = 1; at < 10; at++) {
		struct oracle o = { .lines = pair, .error_at = at };
		struct as_reduced result;
		int rc;
		char *got = reduce_text(LONG, &o, -1, &result, &rc);

		assert_int_equal(rc, AS_EIO);
		assert_int_equal(o.asked, at);
		assert_int_equal(got != NULL, at > 1);
		free(got);
	}
}

/* ---- labfs ----------------------------------------------------------------------------------- */

struct lab {
	struct as_sink sink;
	struct as_target *target;
	struct as_runner *runner;
	char *signature; /* heard in the last run */
	char *wanted;
	long op;
};

static void hear(struct as_sink *sink, const struct as_finding *f)
{
	struct lab *lab = (struct lab *)sink;

	free(lab->signature);
	lab->signature = as_xstrdup(f->signature);
	lab->op = f->op_index;
}

static int lab_fails(void *ctx, const struct as_seq *seq, struct as_err *err)
{
	struct lab *lab = ctx;
	struct as_run_result result;
	int rc;

	free(lab->signature);
	lab->signature = NULL;
	rc = as_run_workload(lab->runner, seq, "test", &result, err);
	if (rc)
		return rc;
	return lab->signature &&
	       (!lab->wanted || as_signature_same_symptom(lab->signature, lab->wanted));
}

static void lab_open(struct lab *lab, const char *spec)
{
	static const struct as_run_options options = { 0 };
	struct as_err err = { 0 };

	*lab = (struct lab){ .sink = { .finding = hear } };
	if (as_target_open(spec, &lab->target, &err) ||
	    as_runner_new(lab->target, &options, &lab->sink, &lab->runner, &err))
		fail_msg("%s", err.msg);
}

static void lab_close(struct lab *lab)
{
	as_runner_free(lab->runner);
	as_target_free(lab->target);
	free(lab->signature);
	free(lab->wanted);
}

/* Reduces; the result fails again with the same signature. */
static struct as_seq *lab_reduce(struct lab *lab, const struct as_seq *seq,
				 struct as_reduced *result)
{
	struct as_reducer reducer = { .fails = lab_fails, .ctx = lab };
	struct as_seq *best = NULL;
	struct as_err err = { 0 };

	assert_int_equal(lab_fails(lab, seq, &err), 1);
	lab->wanted = as_xstrdup(lab->signature);
	reducer.op_index = lab->op;
	if (as_reduce(seq, &reducer, &best, result, &err))
		fail_msg("%s", err.msg);
	assert_non_null(best);
	assert_int_equal(lab_fails(lab, best, &err), 1);
	return best;
}

#define PADDED_OPS 500
#define OPS_MAX 8
#define EXECUTIONS_MAX 150

/* The case of a bug from labfs/cases, hidden among other operations. */
static void hidden_bug(unsigned bug, uint64_t seed)
{
	char pattern[64], spec[32];
	struct as_chooser *chooser = as_chooser_seeded(seed);
	struct as_reduced result;
	struct as_seq *hidden = NULL, *whole, *best;
	struct as_err err = { 0 };
	struct lab lab;
	glob_t found;

	snprintf(pattern, sizeof(pattern), "labfs/cases/%02u-*.txt", bug);
	snprintf(spec, sizeof(spec), "lab:bug=%u", bug);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_int_equal(as_parse_file(found.gl_pathv[0], &hidden, &err), 0);
	globfree(&found);
	whole = t_padded(as_chooser_choice(chooser), hidden, PADDED_OPS);
	assert_int_equal(whole->n, PADDED_OPS);
	lab_open(&lab, spec);
	best = lab_reduce(&lab, whole, &result);
	if (best->n > OPS_MAX || result.executions > EXECUTIONS_MAX) {
		struct as_buf text = { 0 };

		as_print_seq(best, &text);
		fail_msg("bug %u, seed %llu: %zu operations, %zu executions (%s)\n%s", bug,
			 (unsigned long long)seed, best->n, result.executions, lab.wanted,
			 as_buf_str(&text));
	}
	assert_true(result.complete && !result.flaky);
	lab_close(&lab);
	as_seq_free(hidden);
	as_seq_free(whole);
	as_seq_free(best);
	as_chooser_free(chooser);
}

static void bugs_of_labfs(void **state)
{
	(void)state;
	for (unsigned bug = 1; bug <= 18; bug++)
		for (uint64_t seed = 1; seed <= 2; seed++)
			hidden_bug(bug, seed * 100 + bug);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_remains),	 cmocka_unit_test(flaky),
		cmocka_unit_test(does_not_fail), cmocka_unit_test(stopped_anywhere),
		cmocka_unit_test(error_of_ours), cmocka_unit_test(bugs_of_labfs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
