/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_replay: brings a stored finding back: the same workload, target, options and faults. */
#include "cli/boxes.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "report/sinks.h"
#include "run/run.h"
#include "work/parse.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Hears what is found and remembers the first signature. */
struct ear {
	struct as_sink sink;
	char *signature;
};

static void ear_finding(struct as_sink *sink, const struct as_finding *f, const char *id)
{
	struct ear *ear = (struct ear *)sink;

	(void)id;
	if (!ear->signature)
		ear->signature = as_xstrdup(f->signature);
}

static int replay_here(const struct as_stored *stored, const struct as_seq *seq, const char *name,
		       const struct as_run_options *options, struct as_sink *sinks,
		       struct as_err *err)
{
	struct as_run_result result;
	struct as_runner *runner = NULL;
	struct as_target *target = NULL;
	int rc = as_target_open(stored->target, &target, err);

	if (!rc)
		rc = as_runner_new(target, options, sinks, &runner, err);
	if (!rc)
		rc = as_run_workload(runner, seq, name, &result, err);
	as_runner_free(runner);
	as_target_free(target);
	return rc;
}

static int replay_boxed(const struct as_args *args, const struct as_stored *stored,
			const struct as_seq *seq, const char *name,
			const struct as_run_options *options, struct as_sink *sinks,
			struct as_err *err)
{
	struct as_boxed_job job = { .name = name, .seq = seq };
	struct as_run_stats stats = { 0 };
	struct as_cli_box box;
	int rc = as_cli_box_open(args, stored->target, options->size_bytes, &box, err);

	if (rc)
		return rc;
	box.boxed.options = *options;
	box.boxed.told = sinks;
	box.boxed.found = sinks;
	rc = as_boxed_run(&box.boxed, &job, 1, &stats, err);
	as_cli_box_close(&box);
	return rc;
}

static int replay(const struct as_args *args, const struct as_stored *stored, struct as_sink *sinks,
		  struct as_err *err)
{
	const char *name = stored->workload_name ? stored->workload_name : "workload.txt";
	struct as_run_options options = { 0 };
	struct as_seq *seq = NULL;
	char *faults = NULL;
	int rc = as_parse_text("workload.txt", stored->workload, strlen(stored->workload), &seq,
			       err);

	if (!rc)
		rc = as_run_options_parse(stored->options, &options, &faults, err);
	if (!rc)
		rc = as_cli_check_box(args, stored->target, err);
	if (!rc && as_cli_wants_box(args, stored->target))
		rc = replay_boxed(args, stored, seq, name, &options, sinks, err);
	else if (!rc)
		rc = replay_here(stored, seq, name, &options, sinks, err);
	as_seq_free(seq);
	free(faults);
	return rc;
}

/* A folder by its path, or an id below the output folder. */
static int find_folder(const struct as_args *args, struct as_buf *folder, struct as_err *err)
{
	const char *what = args->operands[0];
	struct stat st;

	if (strchr(what, '/') || !stat(what, &st)) {
		as_buf_adds(folder, what);
		if (stat(what, &st) || !S_ISDIR(st.st_mode))
			return as_fail(err, AS_EUSE, "%s: not the folder of a finding", what);
		return 0;
	}
	as_buf_addf(folder, "%s/findings/%s", as_args_text(args, "out", AS_OUT_DEFAULT), what);
	if (stat(as_buf_str(folder), &st) || !S_ISDIR(st.st_mode))
		return as_fail(err, AS_EUSE, "no finding %s in %s/findings", what,
			       as_args_text(args, "out", AS_OUT_DEFAULT));
	return 0;
}

static int run(const struct as_args *args, struct as_err *err)
{
	struct ear ear = { .sink = { .finding = ear_finding } };
	struct as_sink *talk = as_args_has(args, "json")
				       ? as_jsonl_sink_new(stdout)
				       : as_term_sink_new(stdout, isatty(STDOUT_FILENO));
	struct as_stored stored = { 0 };
	struct as_buf folder = { 0 };
	int rc = find_folder(args, &folder, err);

	talk->next = &ear.sink;
	if (!rc)
		rc = as_stored_load(as_buf_str(&folder), &stored, err);
	if (!rc)
		rc = replay(args, &stored, talk, err);
	if (!rc && !ear.signature)
		as_emit_note(talk, "%s: did not reproduce", stored.id);
	else if (!rc && strcmp(ear.signature, stored.signature))
		as_emit_note(talk, "%s: something else was found than \"%s\"", stored.id,
			     stored.summary ? stored.summary : stored.signature);
	else if (!rc)
		as_emit_note(talk, "%s: reproduced", stored.id);
	if (!rc)
		rc = ear.signature ? AS_EXIT_FOUND : AS_EXIT_CLEAN;
	if (as_args_has(args, "json"))
		as_jsonl_sink_free(talk);
	else
		as_term_sink_free(talk);
	as_stored_free(&stored);
	as_buf_free(&folder);
	free(ear.signature);
	return rc;
}

static const struct as_opt opts[] = {
	{ .name = "out",
	  .letter = 'o',
	  .kind = AS_OPT_TEXT,
	  .arg = "DIR",
	  .help = "where findings were kept; default " AS_OUT_DEFAULT },
	{ .name = "json", .help = "say everything as JSON lines" },
	AS_CLI_BOX_OPTS,
	{ 0 },
};

const struct as_command as_cmd_replay = {
	.name = "replay",
	.operands = "ID|FOLDER",
	.summary = "bring a finding back: exit status 1 when it is there again, 0 when not",
	.text = "Runs the stored workload on the stored target with the stored options, faults "
		"included. Nothing is stored.",
	.opts = opts,
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
