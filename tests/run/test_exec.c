/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole runs: what is found on labfs with a bug, nothing without; faults, sweeps, options, ids. */
#include "tests/lib/skip.h"

#include "box/sandbox.h"
#include "instance/outside.h"
#include "os/spawn.h"
#include "run/run.h"
#include "work/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keeps the last finding. */
struct ear {
	struct as_sink sink;
	unsigned heard;
	enum as_finding_kind kind;
	long op;
	int line;
	bool disk;
	char id[AS_FINDING_ID_MAX], summary[512], signature[512], options[256], detail[2048];
};

static void hear(struct as_sink *sink, const struct as_finding *f)
{
	struct ear *ear = (struct ear *)sink;

	ear->heard++;
	ear->kind = f->kind;
	ear->op = f->op_index;
	ear->line = f->op_line;
	ear->disk = f->disk;
	snprintf(ear->id, sizeof(ear->id), "%s", f->id);
	snprintf(ear->summary, sizeof(ear->summary), "%s", f->summary);
	snprintf(ear->signature, sizeof(ear->signature), "%s", f->signature);
	snprintf(ear->options, sizeof(ear->options), "%s", f->options);
	snprintf(ear->detail, sizeof(ear->detail), "%s", f->detail);
}

static struct as_run_result run(const char *spec, const char *text,
				const struct as_run_options *options, struct ear *ear)
{
	struct as_run_result result = { 0 };
	struct as_runner *runner = NULL;
	struct as_target *target = NULL;
	struct as_seq *seq = NULL;
	struct as_err err = { 0 };

	*ear = (struct ear){ .sink = { .finding = hear } };
	if (as_parse_text("test", text, strlen(text), &seq, &err) ||
	    as_target_open(spec, &target, &err) ||
	    as_runner_new(target, options, &ear->sink, &runner, &err) ||
	    as_run_workload(runner, seq, "test", &result, &err))
		fail_msg("%s", err.msg);
	as_runner_free(runner);
	as_target_free(target);
	as_seq_free(seq);
	return result;
}

#define OVER "create /a 0644\ncreate /b 0600\nrename /a /b\nstat /b\n"

static void clean(void **state)
{
	struct as_run_options options = { .check_every_op = true };
	struct as_run_result r;
	struct ear ear;

	(void)state;
	r = run("lab", OVER "umount\nmount\nstat /b\ncrash\nstat /b\n", &options, &ear);
	assert_int_equal(ear.heard, 0);
	assert_int_equal(r.findings, 0);
	assert_int_equal(r.ops, 9);
	assert_int_equal(r.runs, 1);
}

static void kinds_of_findings(void **state)
{
	static const struct {
		const char *spec, *text;
		enum as_finding_kind kind;
		long op;
		const char *summary;
	} rows[] = {
		{ "lab:bug=1", OVER, AS_FIND_OUTCOME, 2, "op 3: rename /a /b: returned -1 EEXIST" },
		{ "lab:bug=15", "create /f 0644\nchmod /f 04755\nstat /f\n", AS_FIND_DATA, 2,
		  "op 3: stat /f: mode 0755, model says 4755" },
		{ "lab:bug=15", "create /f 0644\nchmod /f 04755\n", AS_FIND_TREE, -1,
		  "reading the tree: /f: mode 0755, model says 4755" },
		{ "lab:bug=19", "create /f 0644\nhardlink /f /g\n", AS_FIND_LEAK, -1,
		  "unmount: 1 allocation" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_run_options options = { 0 };
		struct ear ear;

		run(rows[i].spec, rows[i].text, &options, &ear);
		assert_int_equal(ear.heard, 1);
		assert_int_equal(ear.kind, rows[i].kind);
		assert_int_equal(ear.op, rows[i].op);
		assert_int_equal(ear.line, rows[i].op + 1);
		if (strncmp(ear.summary, rows[i].summary, strlen(rows[i].summary)))
			fail_msg("said: %s", ear.summary);
		assert_true(ear.disk);
	}
}

/* With a check after each operation the guilty one is named. */
static void check_every_op(void **state)
{
	struct as_run_options options = { .check_every_op = true };
	struct ear ear;

	(void)state;
	run("lab:bug=15", "create /f 0644\nchmod /f 04755\nsync\n", &options, &ear);
	assert_int_equal(ear.kind, AS_FIND_TREE);
	assert_int_equal(ear.op, 1);
}

/* The same finding has the same id, whatever the numbers in it; another workload another one. */
static void ids(void **state)
{
	struct as_run_options options = { 0 };
	struct ear a, b;

	(void)state;
	run("lab:bug=1", OVER, &options, &a);
	run("lab:bug=1", OVER, &options, &b);
	assert_string_equal(a.id, b.id);
	assert_int_equal(strncmp(a.id, "lab-outcome-", 12), 0);
	run("lab:bug=1", OVER "sync\n", &options, &b);
	assert_string_equal(a.signature, b.signature);
	assert_string_not_equal(a.id, b.id);
	assert_null(strpbrk(a.id, "/: "));
}

static void faults_are_excused(void **state)
{
	/* Every allocation and read fails from here on: what cannot work may say so. */
	static const char *const plans[] = { "read:1+:eio",   "write:1+:eio",	    "alloc:1",
					     "alloc:12",      "write:3:tear=1,eio", "flush:1:eio",
					     "read:2:flip=77" };

	(void)state;
	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		struct as_run_options options = { .faults = plans[i] };
		struct ear ear;

		run("lab", OVER "sync\numount\nmount\nstat /b\n", &options, &ear);
		if (ear.heard)
			fail_msg("%s: %s", plans[i], ear.summary);
		/* What failed may be on the disk all the same. */
		run("lab:commit=every", OVER "crash\nsync\n", &options, &ear);
		if (ear.heard)
			fail_msg("%s, crash: %s", plans[i], ear.summary);
	}
}

/* A supervisor excuses what the kernel says meanwhile: as_box_state.faults. */
static void a_supervisor_hears_of_faults(void **state)
{
	size_t bytes = sizeof(struct as_box_state) + as_run_state_bytes();
	struct as_box_state *box = as_shared_alloc(bytes);
	struct as_run_options options = { .state = box };
	struct ear ear;

	(void)state;
	run("lab", OVER, &options, &ear);
	assert_int_equal(box->faults, 0);
	options.faults = "write:1+:eio";
	run("lab", OVER, &options, &ear);
	assert_int_equal(box->faults, 2);
	as_shared_free(box, bytes);
}

static void sweeps(void **state)
{
	static const struct {
		const char *spec;
		enum as_sweep sweep;
		const char *text;
		bool finds;
	} rows[] = {
		{ "lab", AS_SWEEP_ALLOC, OVER, false },
		{ "lab", AS_SWEEP_READ,
		  "mkdir /a 0755\ncreate /a/f 0644\numount\nmount\nstat /a/f\n", false },
		{ "lab", AS_SWEEP_WRITE, OVER "sync\n", false },
		/* A lookup that takes a failed read for "not there". */
		{ "lab:bug=22", AS_SWEEP_READ,
		  "mkdir /a 0755\ncreate /a/f 0644\numount\nmount\nstat /a/f\n", true },
		/* A NULL that is not looked at. */
		{ "lab:bug=21", AS_SWEEP_ALLOC, "create /f 0644\n$0 = open /f O_RDWR\n", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_run_options options = { .sweep = rows[i].sweep };
		struct as_run_result r;
		struct ear ear;

		r = run(rows[i].spec, rows[i].text, &options, &ear);
		/* One run without a fault, some with, and a last one in which none fired. */
		assert_true(r.runs > 4);
		if (!!ear.heard != rows[i].finds)
			fail_msg("%s, sweep %s: %s", rows[i].spec, as_sweep_name(rows[i].sweep),
				 ear.heard ? ear.summary : "nothing found");
		assert_true(r.findings <= ear.heard);
		if (ear.heard)
			assert_non_null(strstr(ear.options, "fault="));
	}
}

static void options_as_text(void **state)
{
	static const char *const rows[] = {
		"check=end",
		"check=op",
		"check=op sandbox=host",
		"check=op seed=9 choices=seed:7",
		"check=end choices=0.1.2 fault=read:3:eio",
		"check=end corrupt=16",
		"check=end fields=16 layout=/a%20b/100%25.layout",
		"check=op size=4194304 seed=9 deadline_ms=1000 fault=read:3:eio fault=alloc:7",
	};
	static const char *const bad[] = { "check=sometimes", "size=x",	     "frob",	  "seed=",
					   "size=1 y=2",      "layout=/a%2", "layout=%00" };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_run_options options;
		struct as_buf text = { 0 };
		char *faults;

		assert_int_equal(as_run_options_parse(rows[i], &options, &faults, NULL), 0);
		as_run_options_print(&options, &text);
		assert_string_equal(as_buf_str(&text), rows[i]);
		as_buf_free(&text);
		free(faults);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct as_run_options options;
		char *faults;

		assert_int_equal(as_run_options_parse(bad[i], &options, &faults, NULL), AS_EUSE);
		free(faults);
	}
}

/* The detail shows what came before, with its answers. */
static void context(void **state)
{
	struct as_run_options options = { 0 };
	struct ear ear;

	(void)state;
	run("lab:bug=1", "mkdir /x 0755\nmkdir /x 0755\n" OVER, &options, &ear);
	assert_non_null(strstr(ear.detail, "     2  mkdir /x 0755 = -1 EEXIST\n"));
	assert_non_null(strstr(ear.detail, "     5  rename /a /b = -1 EEXIST\n"));
	assert_null(strstr(ear.detail, "stat /b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean),
		cmocka_unit_test(kinds_of_findings),
		cmocka_unit_test(check_every_op),
		cmocka_unit_test(ids),
		cmocka_unit_test(faults_are_excused),
		cmocka_unit_test(a_supervisor_hears_of_faults),
		cmocka_unit_test(sweeps),
		cmocka_unit_test(options_as_text),
		cmocka_unit_test(context),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
