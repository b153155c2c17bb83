/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_fsck: tests a checker: damaged disks, two runs each (SWIFT). */
#include "base/json.h"
#include "cli/boxes.h"
#include "cli/hunts.h"
#include "cli/pages.h"
#include "cli/rows.h"
#include "cli/stopping.h"
#include "cmd/fsck/fsck_cross.h"
#include "cmd/fsck/fsck_session.h"
#include "os/spawn.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "fsck"
#define STATE_BYTES ((size_t)64 << 20)

/* ---- What is remembered ---------------------------------------------------------------------- */

void as_fsck_state_name(const struct as_fsck_session *s, struct as_buf *name)
{
	as_buf_addf(name, "%s-%s", as_subject_name(s->subject), s->model);
}

static int open_state(struct as_fsck_session *s, struct as_err *err)
{
	struct as_buf name = { 0 }, text = { 0 };
	int rc = 0;

	if (as_args_has(s->args, "no-store"))
		return as_args_has(s->args, "resume")
			       ? as_fail(err, AS_EUSE, "--resume needs a folder: no --no-store")
			       : 0;
	rc = as_rundir_open(s->out.folder, AS_RUNDIR_MAKE, &s->folder, err);
	if (!rc)
		rc = as_dir_below(&s->folder.dir, FOLDER, true, &s->below, err);
	if (rc || !as_args_has(s->args, "resume"))
		return rc;
	as_fsck_state_name(s, &name);
	if (!as_dir_has(&s->below, as_buf_str(&name)))
		rc = as_fail(err, AS_EUSE, "%s: there is no session of %s with the model %s",
			     s->below.path, s->setup.spec, s->model);
	if (!rc)
		rc = as_dir_read(&s->below, as_buf_str(&name), STATE_BYTES, &text, err);
	if (!rc) {
		as_fsck_state_free(&s->state);
		rc = as_fsck_state_parse(as_buf_str(&name), as_buf_str(&text), &s->state, err);
	}
	if (!rc && (strcmp(s->state.checker, s->setup.spec) || strcmp(s->state.model, s->model)))
		rc = as_fail(err, AS_EUSE, "%s/%s: it is a session of %s with the model %s",
			     s->below.path, as_buf_str(&name), s->state.checker, s->state.model);
	as_buf_free(&name);
	as_buf_free(&text);
	return rc;
}

static int save_state(struct as_fsck_session *s, uint64_t next, struct as_err *err)
{
	struct as_buf name = { 0 }, text = { 0 };
	int rc = 0;

	if (s->below.fd < 0)
		return 0;
	s->state.next = next;
	as_fsck_state_name(s, &name);
	as_fsck_state_print(&s->state, &text);
	rc = as_dir_write(&s->below, as_buf_str(&name), &text, err);
	as_buf_free(&name);
	as_buf_free(&text);
	return rc;
}

/* ---- What people see ------------------------------------------------------------------------- */

static double rate(uint64_t n, int64_t us)
{
	return us > 0 ? (double)n * 1e6 / (double)us : 0;
}

static void print_json(const struct as_fsck_session *s, const struct as_fsck_status *status)
{
	struct as_buf line = { 0 };
	struct as_json j = as_json_on(&line);

	as_json_object(&j);
	as_json_kstr(&j, "event", "fsck");
	as_json_kstr(&j, "checker", s->setup.spec);
	as_json_kstr(&j, "model", s->model);
	as_json_kuint(&j, "disks", status->counts.disks);
	as_json_kuint(&j, "runs", status->counts.runs);
	as_json_kuint(&j, "known", status->counts.known);
	as_json_kuint(&j, "forked", status->counts.forked);
	as_json_kuint(&j, "unasked", status->counts.unasked);
	as_json_kuint(&j, "problems", status->problems);
	as_json_kuint(&j, "clusters", status->clusters);
	as_json_kuint(&j, "unconfirmed", status->unconfirmed);
	as_json_kuint(&j, "lots", status->lots);
	as_json_kuint(&j, "repaired", status->damaged);
	as_json_kuint(&j, "lossy", status->lossy);
	as_json_kuint(&j, "lost_files", status->lost_files);
	as_json_kbool(&j, "all", status->all);
	as_json_kint(&j, "wall_us", status->wall_us);
	as_json_kint(&j, "search_us", status->search_us);
	as_fsck_covering_json(&s->covering, &j);
	if (!s->corrupt)
		as_symbolic_json(&s->symbolic, &j);
	as_json_end(&j);
	printf("%s\n", as_buf_str(&line));
	fflush(stdout);
	as_buf_free(&line);
}

static void progress(void *ctx, const struct as_fsck_status *status)
{
	struct as_fsck_session *s = ctx;
	struct as_err err;
	const struct {
		enum as_counter counter;
		uint64_t n;
	} rows[] = {
		{ AS_COUNT_disks, status->counts.disks },
		{ AS_COUNT_runs, status->counts.runs },
		{ AS_COUNT_known, status->counts.known },
		{ AS_COUNT_problems, status->problems },
		{ AS_COUNT_unconfirmed, status->unconfirmed },
		{ AS_COUNT_findings, status->clusters },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		as_live_set(s->out.live, rows[i].counter, rows[i].n);
	if (s->covering.cover.row)
		as_live_set(s->out.live, AS_COUNT_covered_blocks,
			    s->covering.cover.row->count(&s->covering.cover));
	if (!s->corrupt)
		as_live_set(s->out.live, AS_COUNT_paths,
			    status->tallies[AS_SEARCH_FOLLOWED] +
				    status->tallies[AS_SEARCH_STRAYED]);
	as_live_done(s->out.live, status->lots);
	(void)save_state(s, status->next, &err);
	/* What cannot be written now is written at the end, or reported then. */
	if (!s->corrupt && as_symbolic_save(&s->symbolic, &s->below, status, &err))
		return;
	(void)!as_fsck_covering_save(&s->covering, &s->below, status->wall_us, &err);
}

static const char *target_words(const struct as_fsck_session *s, struct as_buf *out)
{
	as_buf_addf(out, "%s, %s", s->setup.spec, s->model);
	return as_buf_str(out);
}

static void say_end(const struct as_fsck_session *s, const struct as_fsck_status *status)
{
	as_emit_note(s->out.chain,
		     "%s: %llu damaged disks, %llu runs and %llu that were known, %.0f disks/s",
		     s->setup.spec, (unsigned long long)status->counts.disks,
		     (unsigned long long)status->counts.runs,
		     (unsigned long long)status->counts.known,
		     rate(status->counts.disks, status->wall_us));
	if (status->damaged)
		as_emit_note(s->out.chain,
			     "of %llu disks that were repaired, %llu lost files, %llu in all",
			     (unsigned long long)status->damaged, (unsigned long long)status->lossy,
			     (unsigned long long)status->lost_files);
	if (!s->corrupt)
		as_symbolic_say(&s->symbolic, status, s->out.chain);
	if (status->all && (s->corrupt || !status->tallies[AS_SEARCH_CUT]))
		as_emit_note(s->out.chain,
			     s->corrupt ? "every damage of the model `%s` was tried"
					: "every path that could be solved was run: %s",
			     s->model);
	if (status->counts.unasked)
		as_emit_note(s->out.chain,
			     "%llu disks could not be shown to the kernel: its sandbox failed",
			     (unsigned long long)status->counts.unasked);
	if (status->unconfirmed > status->unasked)
		as_emit_note(s->out.chain, "%llu of what was found did not come back",
			     (unsigned long long)(status->unconfirmed - status->unasked));
}

/* --solved N */
static bool enough(void *ctx, const struct as_fsck_status *status)
{
	const struct as_fsck_session *s = ctx;

	return status->tallies[AS_SEARCH_FOLLOWED] + status->tallies[AS_SEARCH_STRAYED] >=
	       as_args_number(s->args, "solved", 0);
}

/* ---- Running --------------------------------------------------------------------------------- */

static int go(struct as_fsck_session *s, struct as_err *err)
{
	struct as_fsck_args args = {
		.setup = &s->setup,
		.subject = s->subject,
		.judge = s->judge,
		.bases = s->bases,
		.n_bases = s->n_bases,
		.model = s->model,
		.corrupt = s->corrupt,
		.kernel = s->asks ? &s->word : NULL,
		.source = s->corrupt ? NULL : &s->symbolic.source,
		.fork = !as_args_has(s->args, "no-fork"),
		.jobs = (unsigned)as_args_number(s->args, "jobs", 1),
		.max_lots = as_args_number(s->args, "lots", 0),
		.max_clusters = as_args_number(s->args, "max-findings", 0),
		.cover = s->covering.cover.row ? &s->covering.cover : NULL,
		.first = s->state.next,
		.known = &s->state.known,
		.halt = &s->halt,
		.enough = as_args_has(s->args, "solved") ? enough : NULL,
		.sinks = s->out.chain,
		.export = s->export.fd >= 0 ? &s->export : NULL,
		.progress = progress,
		.ctx = s,
	};
	struct as_fsck_status status = { 0 };
	struct as_run_result stats = { 0 };
	struct as_buf words = { 0 };
	int rc = as_fsck_time(s, &args.for_us, err);

	/* From now on, a session that is killed can go on. */
	if (!rc)
		rc = save_state(s, s->state.next, err);
	as_live_target(s->out.live, target_words(s, &words), s->asks ? "asks a kernel" : "",
		       args.jobs);
	as_live_goal(s->out.live, args.for_us,
		     args.max_lots ? args.max_lots
		     : s->corrupt && as_corrupt_lots(s->corrupt) != UINT64_MAX
			     ? as_corrupt_lots(s->corrupt)
			     : 0);
	as_buf_free(&words);
	s->out.lasting = true;
	s->out.reports = s->args;
	if (!rc)
		rc = as_fsck_lead(&args, &status, err);
	progress(s, &status);
	as_cli_output_quiet(&s->out, rc, err);
	if (!rc)
		rc = save_state(s, status.next, err);
	if (!rc)
		rc = as_fsck_covering_save(&s->covering, &s->below, status.wall_us, err);
	if (!rc)
		as_fsck_covering_say(&s->covering, s->out.chain);
	if (!rc && !s->corrupt)
		rc = as_symbolic_save(&s->symbolic, &s->below, &status, err);
	if (!rc && !s->corrupt)
		rc = as_symbolic_judge(&s->symbolic, err);
	if (!rc && s->out.json)
		print_json(s, &status);
	else if (!rc)
		say_end(s, &status);
	stats.workloads = status.counts.disks;
	stats.ops = status.counts.runs + status.counts.known;
	stats.findings = status.clusters;
	stats.wall_us = status.wall_us;
	return as_cli_output_close(&s->out, &stats, rc, err);
}

static void close_session(struct as_fsck_session *s)
{
	as_corrupt_free(s->corrupt);
	as_symbolic_close(&s->symbolic);
	as_judge_free(s->judge);
	as_fsck_kernel_free(s->kernel);
	as_subject_free(s->subject);
	for (size_t i = 0; i < s->n_bases; i++)
		as_fsck_base_free(&s->bases[i]);
	free(s->bases);
	as_generic_free(&s->generic);
	as_suite_free(&s->suite);
	as_fsck_crashes_free(&s->crashes);
	as_fsck_crashed_free(&s->crashed);
	as_fsck_covering_close(&s->covering);
	as_fsck_state_free(&s->state);
	as_dir_close(&s->below);
	as_dir_close(&s->export);
	if (s->folder.dir.fd >= 0)
		as_rundir_close(&s->folder);
	as_chunks_free(s->store);
}

static void say_left_out(const struct as_fsck_session *s)
{
	const char *at = as_buf_str(&s->suite.left_out);

	for (size_t len; *at; at += len + 1) {
		len = strcspn(at, "\n");
		as_emit_note(s->out.chain, "--suite: left out: %.*s", (int)len, at);
	}
}

static int run_one(const struct as_args *args, struct as_err *err)
{
	struct as_fsck_session s = {
		.args = args,
		.setup = { .spec = args->operands[0],
			   .exits = as_args_text(args, "exits", NULL),
			   .check = as_args_text(args, "check", NULL),
			   .type = as_args_text(args, "type", NULL),
			   .deadline_ms = (unsigned)as_args_number(args, "deadline", 0) * 1000,
			   .whole = as_args_has(args, "no-fork"),
			   .hint_ms = as_symbolic_hint_ms(args) },

		.store = as_chunks_new(),
		.folder.dir = AS_DIR_NONE,
		.below = AS_DIR_NONE,
		.export = AS_DIR_NONE,
	};
	struct as_subject_setup confirms = s.setup;
	int64_t for_us;
	int rc = as_cli_begin_time(args, &for_us, err);

	/* Runs of the worker processes share what they can. What they find is confirmed and made
	 * smaller by runs that share nothing. */
	confirms.whole = confirms.patient = true;
	confirms.halt = &s.halt;
	if (!rc)
		rc = as_subject_open(&confirms, &s.subject, err);
	if (!rc) {
		const char *type = as_subject_type(s.subject);

		s.setup.probed = true;
		s.setup.served = as_subject_served(s.subject);
		s.model = as_fsck_model(args, type);
		s.judge = as_judge_new(s.subject);
		rc = as_fsck_word_setup(args, type, &s.word, &s.asks, err);
		if (!rc && s.asks)
			rc = as_fsck_kernel_open(&s.word, &s.kernel, err);
		as_judge_set_kernel(s.judge, s.kernel);
		if (!rc)
			rc = as_fsck_open_disks(&s, err);
	}
	if (!rc)
		rc = as_fsck_covering_open(args, &s.covering, err);
	if (!rc && as_args_has(args, "export")) {
		bool made;

		rc = as_dir_open(as_args_text(args, "export", NULL), &made, &s.export, err);
	}
	if (!rc)
		rc = as_cli_output_open(args, &s.out, err);
	if (!rc && s.generic.note.len)
		as_emit_note(s.out.chain, "%s", as_buf_str(&s.generic.note));
	if (!rc)
		say_left_out(&s);
	if (!rc) {
		s.state = (struct as_fsck_state){ .checker = as_xstrdup(s.setup.spec),
						  .model = as_xstrdup(s.model),
						  .seed = as_args_number(args, "seed", 1) };
		rc = open_state(&s, err);
		if (as_args_has(args, "resume"))
			as_cli_output_goes_on(&s.out);
		if (!rc)
			rc = as_fsck_open_model(&s, err);
		s.halt.stop = as_cli_stop_catch();
		as_cli_opened();
		rc = rc ? as_cli_output_close(&s.out, &(struct as_run_result){ 0 }, rc, err)
			: go(&s, err);
	}
	close_session(&s);
	return rc;
}

/* Other forms of the command, and options that do not go with them: the last one only not with the
 * first form. */
static const char *const forms[] = { "table", "score", "compare" };
static const char *const not_with[] = { "disk",	 "model", "where", "export", "fields", "type",
					"exits", "check", "lots",  "size",   "layout", "resume" };
#define N_NOT_WITH (sizeof(not_with) / sizeof(not_with[0]))

static int refuse(const struct as_args *args, struct as_err *err)
{
	for (size_t k = 0; k < sizeof(forms) / sizeof(forms[0]); k++)
		for (size_t i = 0; i < N_NOT_WITH - (k > 0); i++)
			if (as_args_has(args, forms[k]) && as_args_has(args, not_with[i]))
				return as_fail(err, AS_EUSE, "--%s does not go with --%s",
					       not_with[i], forms[k]);
	return 0;
}

static int run(const struct as_args *args, struct as_err *err)
{
	if (refuse(args, err))
		return AS_EUSE;
	if (as_args_has(args, "table"))
		return as_fsck_table(args, err);
	if (as_args_has(args, "score"))
		return as_fsck_score(args, err);
	if (as_args_has(args, "compare"))
		return args->n_operands
			       ? as_fail(err, AS_EUSE,
					 "--compare takes its checkers itself, with commas")
			       : as_fsck_compare(args, err);
	return args->n_operands == 1
		       ? run_one(args, err)
		       : as_fail(err, AS_EUSE, "fsck: which checker? One, or --compare, --score");
}

static const struct as_opt opts[] = {
	{ .name = "compare",
	  .kind = AS_OPT_TEXT,
	  .arg = "LIST",
	  .help = "give checkers of several types the same damage and compare what they recover: "
		  "types, checkers or TYPE=CHECKER, with commas, such as ext4,reiserfs,minix3" },
	{ .name = "score",
	  .help = "rank checkers by what their repairs lose, for each kind of damage; operands "
		  "are the checkers, default all that are installed" },
	{ .name = "table",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .min = 7,
	  .max = 11,
	  .help = "make a table of the SWIFT paper for the checkers of this machine: 7 how they "
		  "are run, 8 what is found field by field, 9 what is found with --suite, 10 the "
		  "fields that the types of --compare have in common, 11 what exploring them "
		  "symbolically gives, --for each" },
	{ .name = "model",
	  .kind = AS_OPT_CHOICE,
	  .choices = "fields|suite|bits|crash",
	  .help = "how disks are damaged: field by field (fields), what the checker repairs on the "
		  "images of --suite (suite), bits and sectors (bits), what a power cut leaves of "
		  "a workload or of a repair (crash); default fields where the "
		  "type is described, else bits" },
	{ .name = "for",
	  .kind = AS_OPT_TEXT,
	  .arg = "TIME",
	  .help = "stop after this time, such as 90s or 10m, with --score of each checker; "
		  "default: when every damage was tried, and 1m for bits" },
	{ .name = "disk",
	  .kind = AS_OPT_TEXT,
	  .arg = "FILE",
	  .help = "the healthy disk to damage, a raw image or a saved disk (.zst); default: one "
		  "with every kind of file, made for this" },
	{ .name = "content",
	  .kind = AS_OPT_CHOICE,
	  .choices = "generic|rich|dirty",
	  .help = "what is on the disk that is made, of ext2, ext3, ext4 and lab: every kind of "
		  "file (generic); deep trees, extended attributes, trees of extents, large "
		  "directories (rich); the same with a journal to be replayed, and orphans "
		  "(dirty); default generic" },
	{ .name = "suite",
	  .kind = AS_OPT_TEXT,
	  .arg = "DIR",
	  .help = "a folder of test cases, each with an image (image.gz): --model suite damages "
		  "these images, and with --symbolic the bytes that a repair changes in them are "
		  "unknown" },
	{ .name = "workload",
	  .kind = AS_OPT_TEXT,
	  .arg = "FILE",
	  .help = "the workload during which --model crash cuts the power, after its last `mount`; "
		  "default: workloads that the seed gives" },
	{ .name = "size",
	  .kind = AS_OPT_SIZE,
	  .arg = "N",
	  .min = 512,
	  .help = "size of the disk that is made; default: a small one" },
	{ .name = "where",
	  .kind = AS_OPT_CHOICE,
	  .choices = "any|metadata|data",
	  .help = "which sectors --model bits damages; default any" },
	{ .name = "fields",
	  .kind = AS_OPT_TEXT,
	  .arg = "N|NAMES",
	  .help = "how many fields --model fields damages at once, 1 or 2; default 1. With "
		  "--symbolic: which fields are unknown, such as `i_mode,superblock.s_magic`; "
		  "default all, one after the other" },
	{ .name = "symbolic",
	  .help = "explore the checker's paths: bytes of the disk are unknown, and each branch "
		  "that depends on them is taken both ways; needs valgrind and libz3" },
	{ .name = "range",
	  .kind = AS_OPT_TEXT,
	  .arg = "OFF+LEN",
	  .help = "with --symbolic: these bytes of the disk are unknown, instead of fields" },
	{ .name = "sound",
	  .kind = AS_OPT_TEXT,
	  .arg = "FILE",
	  .help = "with --symbolic: --disk is what a crash left, this is the disk before it, and "
		  "what differs is unknown" },
	{ .name = "each",
	  .kind = AS_OPT_TEXT,
	  .arg = "TIME",
	  .help = "with --symbolic: at most this time for each place (a field, or what takes its "
		  "place), such as 1000s; default: any" },
	{ .name = "solved",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .min = 1,
	  .max = INT64_MAX,
	  .help = "with --symbolic: stop after so many disks that were solved; default: any "
		  "number" },
	{ .name = "concretize",
	  .kind = AS_OPT_CHOICE,
	  .choices = "first|frequent|arith|full|none",
	  .help = "with --symbolic: which bytes keep their values when a question takes too long: "
		  "the first half, the most frequent half, those in arithmetic, all but one; "
		  "default first" },
	{ .name = "questions",
	  .kind = AS_OPT_TEXT,
	  .arg = "FILE",
	  .help = "with --symbolic and one process: write the questions that Z3 gets to this "
		  "file; default: nowhere" },
	{ .name = "no-reseal",
	  .help = "leave checksums as they are; default: compute them anew, so that the checker "
		  "sees the damage and not a wrong checksum" },
	AS_CLI_JOBS_OPT(64, "how many processes run the checker"),
	{ .name = "resume",
	  .help = "go on with a session, a comparison or a score that was stopped or killed" },
	{ .name = "seed",
	  .letter = 's',
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .max = INT64_MAX,
	  .help = "seed of what is drawn at random; default 1" },
	{ .name = "export",
	  .kind = AS_OPT_TEXT,
	  .arg = "DIR",
	  .help = "also write each finding to this folder as a case of e2fsprogs' test suite: "
		  "image.gz, name, expect.1, expect.2" },
	{ .name = "coverage",
	  .kind = AS_OPT_CHOICE,
	  .choices = "gcov|blocks",
	  .help = "measure how much of the checker's code is reached, over time, into "
		  "fsck/coverage.csv of the run folder: gcov, if it was built with --coverage; "
		  "blocks, for any checker, by Valgrind; each disk costs one more run" },
	{ .name = "no-fork",
	  .help = "run the checker from its beginning on each disk; default: runs on disks that "
		  "differ in one field are forked when the checker first reads it" },
	{ .name = "lots",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .max = INT64_MAX,
	  .help = "stop after so many lots of damages; default: no limit" },
	{ .name = "max-findings",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .max = INT64_MAX,
	  .help = "stop after so many different findings; default: no limit" },
	{ .name = "deadline",
	  .kind = AS_OPT_NUMBER,
	  .arg = "SECONDS",
	  .min = 1,
	  .max = 3600,
	  .help = "a run that takes longer than this hangs; default 5, with --symbolic --suite "
		  "0.5, and 30 when what was found is confirmed" },
	{ .name = "exits",
	  .kind = AS_OPT_TEXT,
	  .arg = "MAP",
	  .help = "what each exit status of checker:COMMAND means, such as "
		  "`0=clean 1=repaired 4=left 8-255=failed`; default: as fsck(8) says" },
	{ .name = "check",
	  .kind = AS_OPT_TEXT,
	  .arg = "COMMAND",
	  .help = "the command of checker:COMMAND that looks and writes nothing" },
	{ .name = "type",
	  .kind = AS_OPT_TEXT,
	  .arg = "T",
	  .help = "what the disks of checker:COMMAND are, such as ext4" },
	{ .name = "layout",
	  .kind = AS_OPT_TEXT,
	  .arg = "FILE",
	  .help = "a description of the disks (docs/LAYOUT.md), for --model fields, --where and "
		  "--symbolic" },
	{ .name = "kernel",
	  .help = "show each repaired disk to the kernel: it must mount it, read it, and make and "
		  "delete a file in every directory; labfs is always asked" },
	AS_CLI_BOX_PLAIN_OPTS,
	AS_CLI_OUTPUT_OPTS,
	AS_CLI_REPORT_OPT,
	{ 0 },
};

const struct as_command as_cmd_fsck = {
	.name = "fsck",
	.operands = "[CHECKER...]",
	.summary = "test a checker: run it twice on damaged disks and compare what it says",
	.text = "CHECKER is e2fsck, fsck.minix, labfs-fsck, reiserfsck, jfs_fsck, fsck.f2fs, "
		"fsck.fat, fsck.exfat, xfs_repair, btrfs-check, fsck.gfs2, or `checker:COMMAND "
		"{disk}`. After a colon, a checker of several types takes one of them "
		"(e2fsck:ext2), and labfs-fsck a bug (labfs-fsck:bug=50).\n"
		"Each damaged disk is checked twice, and the answers must agree: what was repaired "
		"must be clean, what could not be repaired must still be there. A checker must not "
		"die or hang, must not change what it calls clean, and must write nothing when it "
		"is told to look only. Findings are kept with the disk and a script in plain "
		"shell.\n"
		"Exit status: 0 nothing was found, 1 something was, 3 the checker is missing, 128 "
		"+ N if signal N ended it before anything was found.",
	.opts = opts,
	.min_operands = 0,
	.max_operands = -1,
	.run = run,
};
