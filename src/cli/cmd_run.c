/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_run: workloads from files on a target. All files are read before the first runs, so that bad
 * input costs nobody's time.
 */
#include "base/json.h"
#include "base/spawn.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "run/run.h"
#include "work/parse.h"

#include <stdlib.h>
#include <string.h>

struct job {
	const char *path;
	struct as_seq *seq;
	struct as_buf spec;
	uint64_t size_bytes;
};

/* The target of one file: the option, or what the file says. */
static int choose_target(const struct as_args *args, struct job *job, struct as_err *err)
{
	const char *asked = as_args_text(args, "target", NULL);
	const char *meta = as_seq_meta(job->seq, "target");
	int rc;

	if (asked) {
		as_buf_adds(&job->spec, asked);
	} else if (!meta) {
		return as_fail(err, AS_EUSE, "%s: no --target given and no @target in the file",
			       job->path);
	} else {
		rc = as_target_parse_meta(meta, &job->spec, &job->size_bytes, err);
		if (rc)
			return as_fail_in(err, "%s", job->path);
	}
	if (as_args_has(args, "size"))
		job->size_bytes = as_args_number(args, "size", 0);
	return 0;
}

static int read_jobs(const struct as_args *args, struct job *jobs, struct as_err *err)
{
	bool stdin_read = false;
	int rc = 0;

	for (int i = 0; i < args->n_operands && !rc; i++) {
		jobs[i].path = args->operands[i];
		if (!strcmp(jobs[i].path, "-")) {
			if (stdin_read)
				return as_fail(err, AS_EUSE, "standard input was given twice");
			stdin_read = true;
		}
		rc = as_parse_file(jobs[i].path, &jobs[i].seq, err);
		if (!rc)
			rc = choose_target(args, &jobs[i], err);
	}
	return rc;
}

static void join_faults(const struct as_args *args, struct as_buf *faults)
{
	for (size_t i = 0; i < args->n_given; i++)
		if (!strcmp(args->given[i].opt->name, "fault"))
			as_buf_addf(faults, "%s%s", faults->len ? " " : "", args->given[i].value);
}

/* ---- Running --------------------------------------------------------------------------------- */

struct session {
	struct as_run_options options;
	struct as_target *target;
	struct as_runner *runner;
	const struct job *current; /* whose target is loaded */
};

/* Files with the same target share its fresh disk. */
static int get_ready(struct session *b, const struct job *job, struct as_sink *sinks,
		     struct as_err *err)
{
	int rc;

	if (b->current && b->current->size_bytes == job->size_bytes &&
	    !strcmp(as_buf_str(&b->current->spec), as_buf_str(&job->spec)))
		return 0;
	as_runner_free(b->runner);
	as_target_free(b->target);
	b->runner = NULL;
	b->target = NULL;
	b->current = NULL;
	rc = as_target_open(as_buf_str(&job->spec), &b->target, err);
	if (rc)
		return rc;
	b->options.size_bytes = job->size_bytes;
	rc = as_runner_new(b->target, &b->options, sinks, &b->runner, err);
	if (!rc)
		b->current = job;
	return rc;
}

static void say_workload(const struct job *job, const struct as_run_result *r, bool json,
			 struct as_sink *sinks)
{
	struct as_buf line = { 0 };
	struct as_json j = as_json_on(&line);

	if (json) {
		as_json_object(&j);
		as_json_kstr(&j, "event", "workload");
		as_json_kstr(&j, "name", job->path);
		as_json_kstr(&j, "target", as_buf_str(&job->spec));
		as_json_kuint(&j, "runs", r->runs);
		as_json_kuint(&j, "ops", r->ops);
		as_json_kuint(&j, "skipped", r->skipped);
		as_json_kuint(&j, "findings", r->findings);
		as_json_kint(&j, "wall_us", r->wall_us);
		as_json_end(&j);
		printf("%s\n", as_buf_str(&line));
		fflush(stdout);
	} else {
		as_buf_addf(&line, "%s  %s  %s  %llu operations", r->findings ? "FOUND" : "ok   ",
			    job->path, as_buf_str(&job->spec), (unsigned long long)r->ops);
		if (r->runs > 1)
			as_buf_addf(&line, " in %llu runs", (unsigned long long)r->runs);
		if (r->skipped)
			as_buf_addf(&line, ", %llu not possible here",
				    (unsigned long long)r->skipped);
		as_buf_addf(&line, ", %.1f ms", (double)r->wall_us / 1e3);
		as_emit_note(sinks, "%s", as_buf_str(&line));
	}
	as_buf_free(&line);
}

static int run_jobs(const struct as_args *args, const struct job *jobs, struct as_err *err)
{
	struct session b = { 0 };
	struct as_run_stats stats = { 0 };
	struct as_buf faults = { 0 };
	struct as_cli_output out;
	int64_t start_us = as_now_us();
	int rc;

	join_faults(args, &faults);
	b.options.check_every_op = !strcmp(as_args_text(args, "check", "end"), "op");
	b.options.deadline_ms = (unsigned)as_args_number(args, "deadline", 10) * 1000;
	b.options.seed = as_args_number(args, "seed", 0);
	b.options.faults = faults.len ? as_buf_str(&faults) : NULL;
	rc = as_sweep_parse(as_args_text(args, "sweep", "none"), &b.options.sweep, err);
	if (!rc && b.options.sweep && faults.len)
		rc = as_fail(err, AS_EUSE, "--sweep and --fault exclude each other");
	if (!rc)
		rc = as_cli_output_open(args, &out, err);
	if (rc) {
		as_buf_free(&faults);
		return rc;
	}
	for (int i = 0; i < args->n_operands && !rc; i++) {
		struct as_run_result result = { 0 };

		rc = get_ready(&b, &jobs[i], out.chain, err);
		if (!rc)
			rc = as_run_workload(b.runner, jobs[i].seq, jobs[i].path, &result, err);
		if (!rc)
			say_workload(&jobs[i], &result, as_args_has(args, "json"), out.chain);
		stats.workloads += !rc;
		stats.ops += result.ops;
		stats.skipped += result.skipped;
		stats.findings += result.findings;
	}
	stats.wall_us = as_now_us() - start_us;
	rc = as_cli_output_close(&out, &stats, rc, err);
	as_runner_free(b.runner);
	as_target_free(b.target);
	as_buf_free(&faults);
	return rc;
}

static int run(const struct as_args *args, struct as_err *err)
{
	struct job *jobs = as_xcalloc((uint64_t)args->n_operands, sizeof(*jobs));
	int rc = read_jobs(args, jobs, err);

	if (!rc)
		rc = run_jobs(args, jobs, err);
	for (int i = 0; i < args->n_operands; i++) {
		as_seq_free(jobs[i].seq);
		as_buf_free(&jobs[i].spec);
	}
	free(jobs);
	return rc;
}

static const struct as_opt opts[] = {
	{ .name = "target",
	  .letter = 't',
	  .kind = AS_OPT_TEXT,
	  .arg = "T",
	  .help = "what to test, in place of the files' @target; `assay targets` lists them" },
	{ .name = "check",
	  .kind = AS_OPT_CHOICE,
	  .choices = "op|end",
	  .help = "compare the whole tree after every operation, or at the end (default)" },
	{ .name = "size",
	  .kind = AS_OPT_SIZE,
	  .arg = "N",
	  .min = 512,
	  .help = "size of the disk, such as 16M; default: the target's own" },
	{ .name = "fault",
	  .kind = AS_OPT_TEXT,
	  .arg = "RULE",
	  .many = true,
	  .help = "let a call fail: read:3:eio, write:2+:eio, flush:1:drop, alloc:7" },
	{ .name = "sweep",
	  .kind = AS_OPT_CHOICE,
	  .choices = "alloc|read|write",
	  .help = "run again and again, failing call 1, 2, 3, ... until none is left to fail" },
	{ .name = "deadline",
	  .kind = AS_OPT_NUMBER,
	  .arg = "SECONDS",
	  .min = 1,
	  .max = 3600,
	  .help = "how long one operation may take before it is a hang; default 10" },
	{ .name = "seed",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .max = INT64_MAX,
	  .help = "of the choices that a target leaves to chance; default 0" },
	AS_CLI_OUTPUT_OPTS,
	{ 0 },
};

const struct as_command as_cmd_run = {
	.name = "run",
	.operands = "FILE...",
	.summary = "run workloads on a file system and judge every answer",
	.text = "Each workload gets a fresh file system in a process of its own. Every answer is "
		"compared with a model of POSIX and Linux, then the whole tree; then the file "
		"system is unmounted, its memory counted, its checker run, and the tree read once "
		"more after a second mount. The first finding ends a workload. FILE may be - for "
		"standard input.",
	.opts = opts,
	.min_operands = 1,
	.max_operands = -1,
	.run = run,
};
