/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ways of a finding: what its sinks hear is what was said where it was noticed, by a child that
 * ran a workload, by one that judged crash states, by the engine in a sandbox, by whoever looked at
 * a sandbox that died, by a worker of a check, and by one that compares checkers.
 */
#include "tests/lib/skip.h"

#include "base/finding_json.h"
#include "check/told.h"
#include "crash/crash_priv.h"
#include "run/runner_priv.h"
#include "scenario/scenario.h"
#include "supervise/boxed_priv.h"
#include "work/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keeps the last finding. */
struct ear {
	struct as_sink sink;
	unsigned heard;
	struct as_notice notice; /* its options are all of the finding's */
	char target[128], workload[512], name[64], log[512];
	int line;
	bool disk, healthy;
};

static void keep(char *to, size_t bytes, const char *text)
{
	snprintf(to, bytes, "%s", text ? text : "");
}

static void hear(struct as_sink *sink, const struct as_finding *f)
{
	struct ear *ear = (struct ear *)sink;

	assert_true(as_finding_is_id(f->id));
	assert_true(as_notice_of(f, &ear->notice));
	ear->heard++;
	ear->line = f->op_line;
	ear->disk = f->disk;
	ear->healthy = f->healthy;
	keep(ear->target, sizeof(ear->target), f->target);
	keep(ear->workload, sizeof(ear->workload), f->workload);
	keep(ear->name, sizeof(ear->name), f->workload_name);
	keep(ear->log, sizeof(ear->log), f->log);
}

static struct ear *new_ear(void)
{
	struct ear *ear = as_xcalloc(1, sizeof(*ear));

	ear->sink.finding = hear;
	return ear;
}

/* Whether each word of `few` is one of `all`. */
static bool has_words(const char *all, const char *few)
{
	char *copy = as_xstrdup(few), *save = NULL;
	bool has = true;

	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		has = has && strstr(all, word);
	free(copy);
	return has;
}

static void assert_arrived(const struct as_notice *said, const struct ear *ear)
{
	const struct as_notice *heard = &ear->notice;

	assert_true(said->is && heard->is);
	assert_int_equal(heard->kind, said->kind);
	assert_int_equal(heard->op, said->op);
	assert_string_equal(heard->summary, said->summary);
	assert_string_equal(heard->signature, said->signature);
	if (*said->detail)
		assert_int_equal(strncmp(heard->detail, said->detail, strlen(said->detail)), 0);
	else
		assert_true(*heard->detail);
	if (!has_words(heard->options, said->options))
		fail_msg("'%s' lacks '%s'", heard->options, said->options);
}

static struct as_seq *parse(const char *text)
{
	struct as_seq *seq = NULL;
	struct as_err err = { 0 };

	if (as_parse_text("test", text, strlen(text), &seq, &err))
		fail_msg("%s", err.msg);
	return seq;
}

static struct as_target *target_of(const char *spec)
{
	struct as_target *target = NULL;
	struct as_err err = { 0 };

	if (as_target_open(spec, &target, &err))
		fail_msg("%s", err.msg);
	return target;
}

#define OVER "create /a 0644\ncreate /b 0600\nrename /a /b\nstat /b\n"

/* ---- A child --------------------------------------------------------------------------------- */

static void test_run(void **state)
{
	static const struct {
		const char *spec, *text;
		enum as_finding_kind kind;
	} rows[] = {
		{ "lab:bug=1", OVER, AS_FIND_OUTCOME },
		{ "lab:bug=15", "create /f 0644\nchmod /f 04755\nstat /f\n", AS_FIND_DATA },
		{ "lab:bug=15", "create /f 0644\nchmod /f 04755\n", AS_FIND_TREE },
		{ "lab:bug=19", "create /f 0644\nhardlink /f /g\n", AS_FIND_LEAK },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_target *target = target_of(rows[i].spec);
		struct as_run_options options = { 0 };
		struct as_seq *seq = parse(rows[i].text);
		struct as_runner *runner = NULL;
		struct as_run_result result;
		struct ear *ear = new_ear();
		struct as_err err = { 0 };

		if (as_runner_new(target, &options, &ear->sink, &runner, &err) ||
		    as_run_workload(runner, seq, "w", &result, &err))
			fail_msg("%s", err.msg);
		assert_int_equal(ear->heard, 1);
		assert_int_equal(ear->notice.kind, rows[i].kind);
		assert_arrived(&runner->shared->notice, ear);
		assert_string_equal(ear->target, rows[i].spec);
		assert_string_equal(ear->workload, rows[i].text);
		assert_true(ear->disk && runner->shared->notice.disk_len);
		as_runner_free(runner);
		as_target_free(target);
		as_seq_free(seq);
		free(ear);
	}
}

/* Whatever a child says, of any kind, with words of its own. */
static void test_said(void **state)
{
	struct as_target *target = target_of("lab");
	struct as_run_options options = { .seed = 9 };
	struct as_seq *seq = parse(OVER);
	struct as_runner *runner = NULL;
	struct as_run_result result = { 0 };
	struct ear *ear = new_ear();
	struct as_err err = { 0 };

	(void)state;
	if (as_runner_new(target, &options, &ear->sink, &runner, &err))
		fail_msg("%s", err.msg);
	for (int kind = 0; kind < AS_FIND_KINDS; kind++) {
		struct as_notice *notice = &runner->shared->notice;

		as_shared_clear(runner->shared);
		as_notice_begin(notice, (enum as_finding_kind)kind, kind % 5 - 1);
		AS_NOTICE_SETF(notice, summary, "summary \"%d\" \xff", kind);
		AS_NOTICE_SETF(notice, signature, "race: open answered E%d", kind);
		AS_NOTICE_SETF(notice, detail, "line\n\tline %d\n", kind);
		AS_NOTICE_SET(notice, options, "scenario=race:threads=2 fault=read:3:eio");
		as_notice_close(notice);
		if (as_runner_report(runner, seq, "w", NULL, &result, &err))
			fail_msg("%s", err.msg);
		assert_int_equal(ear->heard, kind + 1);
		assert_arrived(notice, ear);
		assert_string_equal(ear->notice.options,
				    "check=end seed=9 scenario=race:threads=2 fault=read:3:eio");
		assert_int_equal(ear->line, notice->op + 1);
		assert_false(ear->disk);
	}
	as_runner_free(runner);
	as_target_free(target);
	as_seq_free(seq);
	free(ear);
}

/* ---- Crash states ---------------------------------------------------------------------------- */

static void test_crash(void **state)
{
	static const char text[] = "create /a 0644\nsync\nrename /a /b\nsync\n";
	struct as_target *target = target_of("lab:bug=26");
	struct as_crash_options options;
	struct as_run_options run = { 0 };
	struct as_crash_counts counts;
	struct as_seq *seq = parse(text);
	struct as_crasher *crasher = NULL;
	struct as_run_result result;
	struct ear *ear = new_ear();
	struct as_err err = { 0 };

	(void)state;
	if (as_crash_options_parse("", &options, &err) ||
	    as_crasher_new(target, &run, &options, &ear->sink, &crasher, &err) ||
	    as_crash_workload(crasher, seq, "w", &result, &counts, &err))
		fail_msg("%s", err.msg);
	assert_true(ear->heard > 0);
	assert_int_equal(crasher->shared->n_reports, ear->heard);
	/* The last one is the one that was kept. */
	assert_arrived(&crasher->shared->reports[ear->heard - 1], ear);
	assert_non_null(strstr(ear->notice.options, "scenario=crash:"));
	assert_true(ear->disk && ear->healthy);
	as_crasher_free(crasher);
	as_target_free(target);
	as_seq_free(seq);
	free(ear);
}

/* ---- A difference ---------------------------------------------------------------------------- */

static void test_diff(void **state)
{
	struct as_run_options options = { 0 };
	struct as_seq *seq = parse(OVER);
	const struct as_seq *seqs[] = { seq };
	const char *names[] = { "w" };
	struct as_work work = { .seqs = seqs, .names = names, .n = 1 };
	struct ear *ear = new_ear();
	struct as_scenario_args args = { .options = &options,
					 .params = "lab,lab:bug=1",
					 .sinks = &ear->sink };
	struct as_scenario *scenario = NULL;
	struct as_run_result result = { 0 };
	struct as_err err = { 0 };

	(void)state;
	if (as_scenario_diff.open(&args, &scenario, &err) ||
	    as_scenario_diff.run(scenario, &work, &result, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(ear->heard, 1);
	assert_int_equal(ear->notice.kind, AS_FIND_DIFF);
	assert_int_equal(ear->notice.op, 2);
	assert_string_equal(ear->notice.signature, "diff: rename: returned -# EEXIST, others #");
	assert_string_equal(ear->target, "lab:bug=1");
	assert_non_null(strstr(ear->notice.options, "scenario=diff:lab,lab:bug=1"));
	as_scenario_diff.close(scenario);
	as_seq_free(seq);
	free(ear);
}

/* ---- A sandbox ------------------------------------------------------------------------------- */

struct rig {
	struct ear *ear;
	struct as_boxed how;
	const struct as_seq *seqs[1];
	const char *names[1];
	struct as_work work;
	bool done;
	size_t list;
	struct as_box_state *state;
	struct as_box box;
	struct as_run_result sum;
	struct as_boxed_session session;
};

static void open_rig(struct rig *rig, const struct as_seq *seq)
{
	*rig = (struct rig){ .ear = new_ear() };
	rig->state = as_xcalloc(1, sizeof(*rig->state) + as_run_state_bytes());
	rig->how = (struct as_boxed){ .target = "lab",
				      .notes = &rig->ear->sink,
				      .findings = &rig->ear->sink };
	rig->seqs[0] = seq;
	rig->names[0] = "w";
	rig->work = (struct as_work){ .seqs = rig->seqs, .names = rig->names, .n = 1 };
	rig->box = (struct as_box){ .share_fd = -1, .state = rig->state };
	rig->session = (struct as_boxed_session){ .how = &rig->how,
						  .work = &rig->work,
						  .done = &rig->done,
						  .list = &rig->list,
						  .n_list = 1,
						  .sum = &rig->sum,
						  .box = &rig->box };
	as_boxed_clear(&rig->session);
	rig->session.greeted = true;
}

static void close_rig(struct rig *rig)
{
	as_boxed_free_texts(&rig->session);
	free(rig->state);
	free(rig->ear);
}

/* What an engine says in a line. */
static void test_guest(void **state)
{
	struct as_notice *said = as_xcalloc(1, sizeof(*said));
	struct as_wire_event event = { .kind = AS_WIRE_FINDING };
	struct as_seq *seq = parse(OVER);
	struct rig rig;
	bool reported;

	(void)state;
	open_rig(&rig, seq);
	as_notice_begin(said, AS_FIND_DATA, 3);
	AS_NOTICE_SET(said, summary, "op 4: stat /b: mode 0600, model says 0644");
	AS_NOTICE_SET(said, signature, "state: mode of a file; after rename");
	AS_NOTICE_SET(said, detail, "     4  stat /b = 0\n\t\xc3\xa9\n");
	AS_NOTICE_SET(said, options, "check=op seed=3");
	as_notice_close(said);
	event.finding = as_notice_open(said);
	event.finding.target = "lab";
	event.finding.workload = OVER;
	event.finding.workload_name = "w";
	event.finding.log = "it said\n";
	event.finding.op_line = 4;
	event.finding.id = "lab-data-12345678";
	as_wire_event_print(&event, &rig.session.events);
	assert_int_equal(as_boxed_take_events(&rig.session, &reported, NULL), 0);
	assert_int_equal(rig.ear->heard, 1);
	assert_arrived(said, rig.ear);
	assert_string_equal(rig.ear->notice.options, said->options);
	assert_string_equal(rig.ear->workload, OVER);
	assert_string_equal(rig.ear->log, "it said\n");
	assert_int_equal(rig.ear->line, 4);
	close_rig(&rig);
	as_seq_free(seq);
	free(said);
}

/* What is left of a box that died, in memory that its kernel has scribbled over. */
static void test_panic(void **state)
{
	struct as_seq *seq = parse(OVER);
	struct as_child_shared *sh;
	struct rig rig;

	(void)state;
	open_rig(&rig, seq);
	sh = (struct as_child_shared *)(void *)rig.state->engine;
	memset(&sh->notice, 'x', sizeof(sh->notice));
	memset(sh->answers, 'y', sizeof(sh->answers));
	sh->phase = PHASE_OP;
	sh->op = 2;
	sh->ops = 2;
	as_boxed_post_mortem(&rig.session, 0, BOXED_SILENT);
	assert_int_equal(rig.ear->heard, 1);
	assert_int_equal(rig.ear->notice.kind, AS_FIND_HANG);
	assert_int_equal(rig.ear->notice.op, 2);
	assert_string_equal(rig.ear->notice.summary, "op 3: rename /a /b: the kernel fell silent");
	assert_string_equal(rig.ear->notice.signature, "hang: rename: the kernel fell silent");
	assert_non_null(strstr(rig.ear->notice.detail, "     3  rename /a /b ...\n"));
	assert_string_equal(rig.ear->workload, OVER);
	assert_int_equal(rig.sum.findings, 1);
	close_rig(&rig);
	/* Before anything ran. */
	open_rig(&rig, seq);
	memset(rig.state->engine, 0xff, sizeof(struct as_child_shared));
	as_boxed_post_mortem(&rig.session, 0, BOXED_SILENT);
	assert_int_equal(rig.ear->notice.op, -1);
	assert_string_equal(rig.ear->notice.summary, "setting up: the kernel fell silent");
	close_rig(&rig);
	as_seq_free(seq);
}

/* ---- A check --------------------------------------------------------------------------------- */

static void test_check(void **state)
{
	struct as_suspect *suspect = as_xcalloc(1, sizeof(*suspect));
	struct as_told *told = as_xcalloc(1, sizeof(*told));
	struct as_buf text = { 0 };

	(void)state;
	as_try_begin(&suspect->tried, "rename /a /b");
	as_notice_begin(&suspect->notice, AS_FIND_RECOVERY, -1);
	AS_NOTICE_SET(&suspect->notice, summary, "reading the tree: /a: mode 0600");
	AS_NOTICE_SET(&suspect->notice, signature, "recovery: reading the tree");
	AS_NOTICE_SET(&suspect->notice, detail, "more\nlines\n");
	AS_NOTICE_SET(&suspect->notice, options, AS_SUSPECT_CRASH);
	as_notice_close(&suspect->notice);
	as_told_print_suspect(suspect, &text);
	as_told_parse(as_buf_str(&text), told);
	assert_int_equal(told->kind, AS_TOLD_SUSPECT);
	assert_int_equal(told->notice.kind, AS_FIND_RECOVERY);
	assert_int_equal(told->notice.op, -1);
	assert_string_equal(told->notice.summary, suspect->notice.summary);
	assert_string_equal(told->notice.signature, suspect->notice.signature);
	assert_string_equal(told->notice.detail, suspect->notice.detail);
	assert_true(as_suspect_is_crash(&told->notice));
	as_told_free(told);
	as_buf_free(&text);
	free(told);
	free(suspect);
}

/* ---- Checkers -------------------------------------------------------------------------------- */

static void test_compared(void **state)
{
	static const struct as_finding_file files[] = { { "README.md", "# odd\n", false },
							{ "repro.sh", "#!/bin/sh\n", true },
							{ "damage.txt", "", false } };
	struct as_finding said = { .id = "odd-fsck-12345678",
				   .kind = AS_FIND_FSCK,
				   .target = "checker:odd {disk}",
				   .summary = "byte 3 is 0x7f; gone",
				   .detail = "00000003: 00 7f\n",
				   .signature = "1 fsck: odd: name; field inode.mode",
				   .workload = "",
				   .workload_name = "generic",
				   .options =
					   "fsck=odd deed=mode:zero deadline=5 compare=a,b {disk}",
				   .op_index = -1,
				   .files = files,
				   .n_files = 3 };
	struct as_finding r;
	struct as_buf text = { 0 };
	struct as_err err = { 0 };

	(void)state;
	as_finding_pack(&said, &text);
	if (as_finding_unpack(text.data, text.len, AS_FINDING_WHOLE, &r, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(r.kind, said.kind);
	assert_int_equal(r.op_index, -1);
	assert_string_equal(r.target, said.target);
	assert_string_equal(r.summary, said.summary);
	assert_string_equal(r.detail, said.detail);
	assert_string_equal(r.signature, said.signature);
	assert_string_equal(r.options, said.options);
	assert_string_equal(r.workload, "");
	assert_string_equal(r.workload_name, said.workload_name);
	assert_int_equal(r.n_files, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(r.files[i].name, files[i].name);
		assert_string_equal(r.files[i].text, files[i].text);
		assert_int_equal(r.files[i].program, files[i].program);
	}
	as_finding_free(&r);
	as_buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run),   cmocka_unit_test(test_said),
		cmocka_unit_test(test_crash), cmocka_unit_test(test_diff),
		cmocka_unit_test(test_guest), cmocka_unit_test(test_panic),
		cmocka_unit_test(test_check), cmocka_unit_test(test_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
