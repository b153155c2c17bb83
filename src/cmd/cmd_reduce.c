/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_reduce: makes the workload of a stored finding as short and simple as it can be. The best so
 * far is kept, also when the time is up, or after an interrupt or an error.
 */
#include "base/show.h"
#include "cli/hunts.h"
#include "cli/live/live.h"
#include "cli/output.h"
#include "cli/repro.h"
#include "cli/stored.h"
#include "cli/trust.h"
#include "cmd/fsck/fsck_again.h"
#include "dossier/stored.h"
#include "os/spawn.h"
#include "reduce/reduce.h"
#include "work/print.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOR_DEFAULT "5m"

/* A signal sets it, and the one thread that works reads it. */
static volatile sig_atomic_t interrupted;

static void interrupt(int signum)
{
	(void)signum;
	interrupted = 1;
}

struct reduction {
	struct as_cli_again again;
	struct as_cli_ear ear;
	struct as_sink *talk;
	struct as_live *live;
	int64_t start_us, end_us;
	size_t shortest;
};

static int fails(void *ctx, const struct as_seq *seq, struct as_err *err)
{
	struct reduction *r = ctx;

	as_live_add(r->live, AS_COUNT_executions, 1);
	return as_cli_again_fails(&r->again, &r->ear, seq, err);
}

static enum as_reduce_stop stop(void *ctx)
{
	const struct reduction *r = ctx;

	if (interrupted)
		return AS_REDUCE_INTERRUPTED;
	return as_now_us() > r->end_us ? AS_REDUCE_TIME_UP : AS_REDUCE_GO_ON;
}

static void better(void *ctx, const struct as_seq *best, const char *phase)
{
	struct reduction *r = ctx;

	if (best->n < r->shortest)
		as_emit_note(r->talk, "%-9s %zu operation%s", phase, best->n, as_plural(best->n));
	r->shortest = best->n;
	as_live_set(r->live, AS_COUNT_shortest, best->n);
	as_live_phase(r->live, phase);
}

static void say_end(struct reduction *r, const struct as_seq *best, const struct as_reduced *result,
		    const char *id)
{
	struct as_buf text = { 0 };

	as_print_seq(best, &text);
	as_emit_note(r->talk, "%s: from %zu to %zu operation%s in %zu execution%s, %.1f s%s", id,
		     result->ops_before, result->ops_after, as_plural(result->ops_after),
		     result->executions, as_plural(result->executions),
		     (double)(as_now_us() - r->start_us) / 1e6,
		     result->complete ? ""
		     : interrupted    ? "; interrupted: the best so far is kept"
				      : "; the time was up: the best so far is kept");
	if (result->runs)
		as_emit_note(r->talk, "it fails in %u of %u runs%s", result->failed, result->runs,
			     result->flaky ? ": it is flaky" : "");
	for (char *line = text.data, *end; line && (end = strchr(line, '\n')); line = end + 1)
		as_emit_note(r->talk, "  %.*s", (int)(end - line), line);
	as_buf_free(&text);
}

static int reduce(const struct as_args *args, const struct as_dir *folder,
		  const struct as_stored *stored, struct reduction *r, struct as_err *err)
{
	struct as_reducer reducer = { .fails = fails,
				      .stop = stop,
				      .better = better,
				      .ctx = r,
				      .op_index = stored->finding.op_index,
				      .runs = (unsigned)as_args_number(args, "runs",
								       AS_REDUCE_RUNS) };
	struct as_seq *seq = NULL, *best = NULL;
	struct as_reduced result;
	struct as_seen seen = { .op_index = -1 };
	struct as_err late;
	int status = AS_EXIT_CLEAN;
	int rc = as_cli_stored_parse(stored, "workload.txt", stored->workload, &seq, err);

	r->shortest = seq ? seq->n : 0;
	as_live_target(r->live, stored->finding.id, "", 1);
	as_live_goal(r->live, r->end_us - r->start_us, 0);
	as_live_set(r->live, AS_COUNT_shortest, r->shortest);
	if (!rc && !seq->n)
		rc = as_fail(err, AS_EUSE, "%s: there is no operation in its workload",
			     stored->finding.id);
	if (!rc)
		rc = as_cli_again_open(args, stored, seq, &r->ear.sink, &r->again, err);
	if (!rc)
		rc = as_reduce(seq, &reducer, &best, &result, err);
	as_live_close(r->live, false, rc, err);
	r->live = NULL;
	/* The best so far is kept also after an error of ours. */
	if (best) {
		int kept;

		if (!rc && !interrupted)
			as_cli_again_look(&r->again, &r->ear, best, &result, &seen);
		kept = as_cli_stored_keep(folder, best, &result, &seen,
					  (double)(as_now_us() - r->start_us) / 1e6,
					  rc ? &late : err);

		/* The program is of use, but not needed. */
		if (!kept)
			(void)!as_cli_repro(folder, r->again.spec, &late);
		rc = rc ? rc : kept;
		status = AS_EXIT_FOUND;
	}
	if (best && !rc)
		say_end(r, best, &result, stored->finding.id);
	else if (!rc)
		as_emit_note(r->talk, "%s: did not reproduce in %zu runs: nothing to reduce%s",
			     stored->finding.id, result.executions,
			     as_cli_again_differs(args, stored));
	as_cli_again_close(&r->again);
	as_seq_free(seq);
	as_seq_free(best);
	as_seen_free(&seen);
	return rc ? rc : status;
}

static int run(const struct as_args *args, struct as_err *err)
{
	struct sigaction act = { .sa_handler = interrupt, .sa_flags = SA_RESTART };
	struct reduction r = { .ear = as_cli_ear_new(), .start_us = as_now_us() };
	struct as_stored stored = { 0 };
	struct as_dir folder;
	bool json = as_args_has(args, "json");
	int64_t for_us = 0;
	int rc = as_cli_stored_find(args, &folder, err);

	if (!rc)
		rc = as_cli_read_duration("for", as_args_text(args, "for", FOR_DEFAULT), &for_us,
					  err);
	r.talk = as_cli_talk_new(args, as_args_has(args, "quiet"));
	r.end_us = r.start_us + for_us;
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	if (!rc)
		rc = as_stored_load(&folder, &stored, err);
	r.ear.wanted = stored.finding.signature;
	if (!rc && as_fsck_is_stored(&stored)) {
		as_emit_note(r.talk,
			     "%s: its damage was made as small as possible when it was found",
			     stored.finding.id);
		rc = as_fsck_again(args, &folder, &stored, r.talk, err);
	} else if (!rc) {
		r.live = as_live_open(
			&(struct as_live_setup){ .command = "reduce",
						 .finds_nothing = true,
						 .json = json,
						 .quiet = as_args_has(args, "quiet") });
		rc = reduce(args, &folder, &stored, &r, err);
	}
	as_cli_talk_free(r.talk, json);
	as_stored_free(&stored);
	as_dir_close(&folder);
	return rc;
}

static const struct as_opt opts[] = {
	{ .name = "for",
	  .kind = AS_OPT_TEXT,
	  .arg = "TIME",
	  .help = "how long to reduce, such as 90s or 10m; then the best so far is kept; "
		  "default " FOR_DEFAULT },
	{ .name = "runs",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .min = 1,
	  .max = 1000,
	  .help = "run the result N times to see whether it always fails; if the failure is "
		  "flaky, run each candidate N times, too; default 3" },
	AS_CLI_STORED_OPTS,
	AS_CLI_QUIET_OPT,
	{ 0 },
};

const struct as_command as_cmd_reduce = {
	.name = "reduce",
	.operands = "ID|FOLDER",
	.summary = "make a finding's workload as short and simple as possible",
	.text = "Looks for the shortest prefix that fails with the same signature, removes "
		"operations from the front and then anywhere, with those that depend on them, and "
		"simplifies what is left: fewer flags, smaller numbers, shorter names. The "
		"result is workload.reduced.txt in the finding's folder, which `assay replay` "
		"uses from then on; repro.c, README.md and finding.json are updated. After an "
		"interrupt, the best so far is kept. Exit status: 1 the finding was reproduced, 0 "
		"it was not.",
	.opts = opts,
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
