/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_replay: runs a stored finding again: on the same target, with the same options and faults,
 * and with its workload, the reduced one if there is one. */
#include "cli/output.h"
#include "cli/stored.h"
#include "cli/trust.h"
#include "cmd/fsck/fsck_again.h"
#include "dossier/stored.h"
#include "symptom/still.h"

#include <string.h>
#include <unistd.h>

/* The finding keeps its id, whichever of its workloads was run. */
struct caller {
	struct as_sink sink;
	struct as_sink *to;
	const struct as_stored *stored;
};

static void call_by_name(struct as_sink *sink, const struct as_finding *f)
{
	struct caller *caller = (struct caller *)sink;
	bool same =
		as_still_fails(AS_STILL_SYMPTOM, caller->stored->finding.signature, f->signature);
	struct as_finding named = *f;

	if (same)
		named.id = caller->stored->finding.id;
	as_emit_finding(caller->to, &named);
}

static void call_note(struct as_sink *sink, const char *line)
{
	as_emit_note(((struct caller *)sink)->to, "%s", line);
}

static int replay(const struct as_args *args, const struct as_stored *stored, struct as_sink *sinks,
		  struct as_err *err)
{
	bool reduced = stored->reduced && !as_args_has(args, "original");
	const char *text = reduced ? stored->reduced : stored->workload;
	struct as_cli_again again = { 0 };
	struct as_seq *seq = NULL;
	int rc = as_cli_stored_parse(stored, reduced ? AS_REDUCED_NAME : "workload.txt", text, &seq,
				     err);

	if (!rc)
		rc = as_cli_again_open(args, stored, seq, sinks, &again, err);
	if (!rc)
		rc = as_cli_again_run(&again, seq, err);
	as_cli_again_close(&again);
	as_seq_free(seq);
	return rc;
}

/* ---- Several times --------------------------------------------------------------------------- */

/* What was allocated and lost is not always seen: a number somewhere in memory may look like a
 * pointer to it. */
#define LEAK_RUNS 5

struct attempts {
	unsigned long long runs, same, heard;
};

static bool may_hide(const struct as_stored *stored)
{
	const char *options = stored->finding.options;

	return options && strstr(options, "kmemleak=");
}

/* With --times, so often. Otherwise once, or until what may hide has shown itself. */
static int replay_often(const struct as_args *args, const struct as_stored *stored,
			struct as_sink *sinks, struct as_cli_ear *ear, struct attempts *a,
			struct as_err *err)
{
	bool told = as_args_has(args, "times");
	unsigned long long most = as_args_number(args, "times", may_hide(stored) ? LEAK_RUNS : 1);
	int rc = 0;

	while (!rc && a->runs < most && (told || !a->same)) {
		ear->heard = ear->same = false;
		rc = replay(args, stored, sinks, err);
		a->runs++;
		a->same += ear->same;
		a->heard += ear->heard;
	}
	return rc;
}

static void say(const struct as_args *args, const struct as_stored *stored,
		const struct attempts *a, struct as_sink *talk)
{
	const struct as_finding *f = &stored->finding;
	struct as_buf often = { 0 };

	if (a->runs > 1)
		as_buf_addf(&often, " in %llu of %llu runs", a->same, a->runs);
	if (!a->heard)
		as_emit_note(talk, "%s: did not reproduce%s%s", f->id,
			     a->runs > 1 ? " in any of the runs" : "",
			     as_cli_again_differs(args, stored));
	else if (!a->same)
		as_emit_note(talk, "%s: something else was found than \"%s\"", f->id,
			     f->summary ? f->summary : f->signature);
	else
		as_emit_note(talk, "%s: reproduced%s", f->id, as_buf_str(&often));
	as_buf_free(&often);
}

static int run(const struct as_args *args, struct as_err *err)
{
	struct as_cli_ear ear = as_cli_ear_new();
	struct attempts attempts = { 0 };
	bool json = as_args_has(args, "json");
	struct as_sink *talk = as_cli_talk_new(args, false);
	struct as_stored stored = { 0 };
	struct caller caller = { { .finding = call_by_name, .note = call_note }, talk, &stored };
	struct as_dir folder;
	int rc = as_cli_stored_find(args, &folder, err);

	talk->next = &ear.sink;
	if (!rc)
		rc = as_stored_load(&folder, &stored, err);
	ear.wanted = stored.finding.signature;
	if (!rc && as_fsck_is_stored(&stored)) {
		rc = as_fsck_again(args, &folder, &stored, talk, err);
		goto out;
	}
	if (!rc)
		rc = replay_often(args, &stored, &caller.sink, &ear, &attempts, err);
	if (!rc)
		say(args, &stored, &attempts, talk);
	if (!rc)
		rc = attempts.heard ? AS_EXIT_FOUND : AS_EXIT_CLEAN;
out:
	as_cli_talk_free(talk, json);
	as_stored_free(&stored);
	as_dir_close(&folder);
	return rc;
}

static const struct as_opt opts[] = {
	{ .name = "original", .help = "run the workload as it was found, not the reduced one" },
	{ .name = "times",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .min = 1,
	  .max = 1000,
	  .help = "run it so often, and say in how many runs it was reproduced; default 1, but "
		  "memory that the kernel has lost is looked for in up to 5 runs" },
	AS_CLI_STORED_OPTS,
	{ 0 },
};

const struct as_command as_cmd_replay = {
	.name = "replay",
	.operands = "ID|FOLDER",
	.summary = "reproduce a finding: exit status 1 if it was reproduced, 0 if not",
	.text = "Runs the stored workload, the reduced one where there is one, on the stored "
		"target with the stored options, faults included. Nothing is stored.",
	.opts = opts,
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
