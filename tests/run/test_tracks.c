/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A batch that runs on several instances at once (run/runner_tracks.c) comes to the same as one
 * that runs on one: the same findings, of the same workloads, in the same order, and the same
 * counts. The model is told less than the truth (the option grpid), so that some workloads fail.
 */
#include "tests/lib/mounted.h"

#include "run/runner_priv.h"
#include "vfs/watch.h"
#include "work/parse.h"

#define N 40

static const char passes[] = "mkdir /d 0755\ncreate /d/f 0644\n$0 = open /d/f O_RDWR\n"
			     "write $0 len=5000 fill=3\nclose $0\nfstat $3\n";
static const char fails[] = "mkdir /d 0755\nchown /d 0 7\ncreate /d/f 0644\nstat /d/f\n";

struct catcher {
	struct as_sink sink;
	unsigned n;
	char names[N][16];
};

static void caught(struct as_sink *sink, const struct as_finding *finding)
{
	struct catcher *c = (struct catcher *)sink;

	snprintf(c->names[c->n++ % N], sizeof(c->names[0]), "%s", finding->workload_name);
}

struct fixture {
	struct as_target *target;
	struct as_runner *runner;
	const struct as_seq *seqs[N];
	const char *names[N];
	char text[N][16];
	struct catcher c;
};

static void open_fixture(struct fixture *f, const struct as_run_options *options,
			 const size_t *failing)
{
	struct as_err err = { 0 };

	*f = (struct fixture){ .c.sink.finding = caught };
	for (size_t i = 0; i < N; i++) {
		bool fail = *failing == i;
		const char *text = fail ? fails : passes;
		struct as_seq *seq;

		failing += fail;
		snprintf(f->text[i], sizeof(f->text[i]), "w%zu", i);
		f->names[i] = f->text[i];
		assert_int_equal(as_parse_text(f->names[i], text, strlen(text), &seq, &err), 0);
		f->seqs[i] = seq;
	}
	if (as_target_open("ext4:grpid", &f->target, &err) ||
	    as_runner_new(f->target, options, &f->c.sink, &f->runner, &err))
		fail_msg("%s", err.msg);
}

static void close_fixture(struct fixture *f)
{
	as_runner_free(f->runner);
	as_target_free(f->target);
	for (size_t i = 0; i < N; i++)
		as_seq_free((struct as_seq *)f->seqs[i]);
}

static struct as_run_result run_all(struct fixture *f)
{
	struct as_run_result sum = { 0 };

	for (size_t at = 0, done = 0; at < N; at += done) {
		struct as_work batch = { f->seqs + at, f->names + at, N - at, NULL };
		struct as_run_result result = { 0 };
		struct as_err err = { 0 };

		if (as_run_batch(f->runner, &batch, &done, &result, &err))
			fail_msg("%s", err.msg);
		assert_true(done && done <= N - at);
		sum.runs += result.runs;
		sum.ops += result.ops;
		sum.skipped += result.skipped;
		sum.findings += result.findings + result.again;
	}
	return sum;
}

static void nobody(void *ctx)
{
	(void)ctx;
}

static void holds_nothing(void *ctx, int fd, const char *path, bool directory)
{
	(void)ctx;
	(void)fd;
	(void)path;
	(void)directory;
}

static void hears_nothing(void *ctx, long nr, const uint64_t args[6], int64_t raw)
{
	(void)ctx;
	(void)nr;
	(void)args;
	(void)raw;
}

/* Somebody who looks on keeps the batch in one child. */
static const struct as_watch watch = { .open = nobody,
				       .ended = nobody,
				       .close = nobody,
				       .begin = nobody,
				       .holds = holds_nothing,
				       .call = hears_nothing };

static void need_tracks(const struct fixture *f)
{
	if (as_runner_tracks(f->runner, N) < 2)
		skip_because("one processor: batches run on one instance");
}

static void same(const size_t *failing, unsigned n)
{
	struct as_run_options alone = { .watch = &watch }, beside = { 0 };
	struct as_run_result a, b;
	struct fixture f, g;

	open_fixture(&f, &alone, failing);
	open_fixture(&g, &beside, failing);
	assert_int_equal(as_runner_tracks(f.runner, N), 1);
	need_tracks(&g);
	a = run_all(&f);
	b = run_all(&g);
	assert_int_equal(a.runs, b.runs);
	assert_int_equal(a.ops, b.ops);
	assert_int_equal(a.skipped, b.skipped);
	assert_int_equal(a.findings, n);
	assert_int_equal(b.findings, n);
	assert_int_equal(f.c.n, g.c.n);
	for (unsigned i = 0; i < n; i++) {
		char name[16];

		snprintf(name, sizeof(name), "w%zu", failing[i]);
		assert_string_equal(f.c.names[i], name);
		assert_string_equal(g.c.names[i], name);
	}
	close_fixture(&f);
	close_fixture(&g);
}

static void test_same(void **state)
{
	static const size_t cases[][8] = { { N }, { 0, N }, { N - 1, N }, { 6, 7, 9, 30, N } };
	static const unsigned counts[] = { 0, 1, 1, 4 };

	(void)state;
	t_need_host("ext4");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		same(cases[i], counts[i]);
}

/* What was found once and does not come again is reported all the same. */
static void test_once(void **state)
{
	static const size_t failing[] = { 9, N };
	const struct as_run_options options = { 0 };
	struct as_run_result result = { 0 };
	struct as_beside beside;
	struct as_work batch;
	struct as_err err = { 0 };
	struct fixture f;

	(void)state;
	t_need_host("ext4");
	open_fixture(&f, &options, failing);
	need_tracks(&f);
	batch = (struct as_work){ f.seqs, f.names, N, NULL };
	if (as_runner_beside(f.runner, &batch, as_runner_tracks(f.runner, N), &beside, &result,
			     &err))
		fail_msg("%s", err.msg);
	assert_int_equal(f.c.n, 0);
	assert_non_null(beside.found);
	assert_int_equal(beside.found_at, 9);
	assert_true(beside.passed <= 9);
	assert_int_equal(beside.passed + beside.doubtful, 10);
	assert_int_equal(result.runs, beside.passed);
	assert_int_equal(result.ops, beside.passed * 6);
	assert_int_equal(as_runner_report_beside(f.runner, &beside, &batch, &result, &err), 0);
	assert_int_equal(f.c.n, 1);
	assert_string_equal(f.c.names[0], "w9");
	close_fixture(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_same),
					    cmocka_unit_test(test_once) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
