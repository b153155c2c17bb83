/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_run: workloads from files on a target. */
#include "base/json.h"
#include "base/show.h"
#include "cli/boxes.h"
#include "cli/cli.h"
#include "cli/code.h"
#include "cli/jobs.h"
#include "cli/output.h"
#include "cli/own_cov.h"
#include "cli/rows.h"
#include "cli/runs.h"
#include "cli/start.h"
#include "cli/stopping.h"
#include "cli/trust.h"
#include "dossier/store.h"
#include "os/spawn.h"
#include "progress/result.h"
#include "run/run.h"
#include "scenario/series.h"
#include "supervise/wire.h"

#include <stdlib.h>
#include <string.h>

static void join_faults(const struct as_args *args, struct as_buf *faults)
{
	for (size_t i = 0; i < args->n_given; i++)
		if (!strcmp(args->given[i].opt->name, "fault"))
			as_buf_addf(faults, "%s%s", faults->len ? " " : "", args->given[i].value);
}

/* ---- Running --------------------------------------------------------------------------------- */

static void say_workload(const char *name, const char *spec, const struct as_run_result *r,
			 bool json, struct as_sink *sinks)
{
	struct as_buf line = { 0 };
	struct as_json j = as_json_on(&line);

	if (json) {
		as_json_object(&j);
		as_json_kstr(&j, "event", "workload");
		as_json_kstr(&j, "name", name);
		as_json_kstr(&j, "target", spec);
		as_run_result_print(&j, r);
		as_json_end(&j);
		printf("%s\n", as_buf_str(&line));
		fflush(stdout);
	} else {
		as_buf_addf(&line, "%s  %s  %s  %llu operation%s",
			    r->findings ? "FOUND"
			    : r->again	? "again"
					: "ok   ",
			    name, spec, (unsigned long long)r->ops, as_plural(r->ops));
		if (r->runs > 1)
			as_buf_addf(&line, " in %llu runs", (unsigned long long)r->runs);
		if (r->points || r->failures)
			as_buf_addf(&line, ", %llu failures tried",
				    (unsigned long long)(r->points + r->failures));
		if (r->skipped)
			as_buf_addf(&line, ", %llu not possible here",
				    (unsigned long long)r->skipped);
		as_buf_addf(&line, ", %.1f ms", (double)r->wall_us / 1e3);
		as_emit_note(sinks, "%s", as_buf_str(&line));
	}
	as_buf_free(&line);
}

#define SWEEPS_MAX 8u

/* Of sweeps. */
struct swept {
	/* Workloads, those of which every failure was tried, and the failures. */
	uint64_t n, complete, points;
};

struct run_session {
	struct as_series runs;
	struct swept swept;
	enum as_sweep sweeps[SWEEPS_MAX]; /* one after the other; runs.options has the one of now */
	size_t n_sweeps;
	struct as_cli_cov cov;
	struct as_cli_code code;
};

struct run_talk {
	const char *spec;
	bool json, together;
	struct as_sink *sinks;
	struct as_live *live;
	struct run_session *session;
};

static void count_sweep(struct run_session *session, const struct as_run_result *r)
{
	session->swept.n++;
	session->swept.complete += r->swept;
	session->swept.points += r->points;
}

static void show(struct as_live *live, const struct as_run_result *r)
{
	as_live_add(live, AS_COUNT_workloads, r->workloads);
	as_live_add(live, AS_COUNT_ops, r->ops);
	as_live_add(live, AS_COUNT_findings, r->findings);
	as_live_add(live, AS_COUNT_skipped, r->skipped);
	as_live_add_done(live, r->workloads);
}

/* For as_boxed.workload, too. */
static void tell(void *ctx, const char *name, const struct as_run_result *result)
{
	const struct run_talk *talk = ctx;
	struct as_buf line = { 0 };

	show(talk->live, result);
	count_sweep(talk->session, result);
	if (talk->together) {
		as_wire_event_print(
			&(struct as_wire_event){ .kind = AS_WIRE_BATCH, .result = *result }, &line);
		printf("%s", as_buf_str(&line));
		fflush(stdout);
	} else {
		say_workload(name, talk->spec, result, talk->json, talk->sinks);
	}
	as_buf_free(&line);
}

/* Of the workload that is swept; those before are in the runs' sum. */
static void boxed_swept(void *ctx, const struct as_sweep_at *at)
{
	const struct run_talk *talk = ctx;
	char plan[128];

	as_sweep_plan(talk->session->runs.options.sweep, at, plan, sizeof(plan));
	as_live_set(talk->live, AS_COUNT_failures, talk->session->swept.points + at->points);
	as_live_phase(talk->live, plan);
}

/* Workloads from `first` on that have the same target run in one box, one after the other. */
static int run_boxed(const struct as_args *args, const struct as_cli_jobs *all, size_t *first,
		     struct run_session *r, struct as_cli_output *out, struct as_run_result *stats,
		     struct as_err *err)
{
	const struct as_cli_job *job = &all->jobs[*first];
	struct run_talk talk = { .spec = as_buf_str(&job->spec),
				 .json = out->json,
				 .sinks = out->talk,
				 .live = out->live,
				 .session = r };
	struct as_work work = as_cli_jobs_work(all, *first);
	struct as_cli_share share;
	struct as_cli_box box;
	int rc = as_cli_share_open(out, &share, err);

	as_cli_stop_release();
	*first += work.n;
	if (!rc)
		rc = as_cli_box_open(args, talk.spec, job->size_bytes, &box, err);
	if (!rc) {
		box.boxed.options = r->runs.options;
		box.boxed.options.size_bytes = job->size_bytes;
		box.boxed.out = share.dir.path;
		box.boxed.cov = r->cov.own ? AS_CLI_COV_FOLDER : NULL;
		box.boxed.notes = r->code.set ? &r->code.sink : out->chain;
		box.boxed.findings = out->chain;
		box.boxed.workload = tell;
		box.boxed.swept = boxed_swept;
		box.boxed.ctx = &talk;
		rc = as_boxed_run(&box.boxed, &work, stats, err);
		as_cli_box_close(&box);
	}
	if (!rc && r->cov.own)
		rc = as_cli_cov_take(&r->cov, &share.dir, err);
	as_cli_share_close(&share);
	as_cli_work_free(&work);
	return rc;
}

/* Whether all sweeps go through the operations. */
static bool sweeps_by_op(const struct run_session *r)
{
	bool all = true;

	for (size_t i = 0; i < r->n_sweeps; i++)
		all &= as_sweep_by_op(r->sweeps[i]);
	return all;
}

/* --sweep-op */
static int read_sweep_only(const char *text, struct run_session *r, struct as_err *err)
{
	struct as_run_options *o = &r->runs.options;
	char *end;

	if (!text)
		return 0;
	if (!sweeps_by_op(r))
		return as_fail(err, AS_EUSE,
			       "--sweep-op: needs --sweep kalloc, --sweep kpage or --sweep kio");
	if (o->max_faults > 1)
		return as_fail(err, AS_EUSE, "--sweep-op and --max-faults 2 exclude each other");
	o->sweep_only = AS_SWEEP_MOUNT;
	if (!strcmp(text, "mount"))
		return 0;
	o->sweep_only = strtoull(text, &end, 10);
	if (text[0] < '1' || text[0] > '9' || *end || o->sweep_only >= AS_SWEEP_MOUNT)
		return as_fail(err, AS_EUSE,
			       "--sweep-op: '%s' is not the number of an operation (from 1), nor "
			       "'mount'",
			       text);
	return 0;
}

/* --sweep KIND,KIND,... */
static int read_sweeps(const char *text, struct run_session *r, struct as_err *err)
{
	char *list = as_xstrdup(text), *left = list, *name;
	int rc = 0;

	while (!rc && (name = strsep(&left, ","))) {
		enum as_sweep *sweep = &r->sweeps[r->n_sweeps];

		if (!*name || r->n_sweeps == SWEEPS_MAX)
			rc = as_fail(err, AS_EUSE,
				     "--sweep: '%.40s' is not a list of up to %u kinds", text,
				     SWEEPS_MAX);
		else
			rc = as_sweep_parse(name, sweep, err);
		if (!rc && !*sweep && (left || r->n_sweeps))
			rc = as_fail(err, AS_EUSE, "--sweep: 'none' is not a kind of a list");
		r->n_sweeps++;
	}
	free(list);
	return rc;
}

static int read_options(const struct as_args *args, struct as_buf *faults, struct run_session *r,
			struct as_err *err)
{
	const char *scenario = as_args_text(args, "scenario", NULL);
	struct as_run_options *o = &r->runs.options;
	int rc;

	join_faults(args, faults);
	o->faults = faults->len ? as_buf_str(faults) : NULL;
	if (scenario && strlen(scenario) >= sizeof(o->scenario))
		return as_fail(err, AS_EUSE, "--scenario: '%.20s...' is too long", scenario);
	if (scenario && strcmp(scenario, "sequential"))
		memcpy(o->scenario, scenario, strlen(scenario) + 1);
	rc = as_cli_run_options(args, o, err);
	if (!rc)
		rc = read_sweeps(as_args_text(args, "sweep", as_args_text(args, "faults", "none")),
				 r, err);
	o->sweep = r->sweeps[0];
	if (!rc && as_args_has(args, "sweep") && as_args_has(args, "faults"))
		rc = as_fail(err, AS_EUSE, "--sweep and --faults are the same: give one of them");
	if (!rc && o->max_faults > 1 && !sweeps_by_op(r))
		rc = as_fail(err, AS_EUSE,
			     "--max-faults: needs --sweep kalloc, --sweep kpage or --sweep kio");
	if (!rc)
		rc = read_sweep_only(as_args_text(args, "sweep-op", NULL), r, err);
	if (!rc && o->sweep && faults->len)
		rc = as_fail(err, AS_EUSE, "--sweep and --fault exclude each other");
	return rc;
}

/* Those from `first` on that have the same target, in this process. */
static int run_here(const struct as_cli_jobs *all, size_t *first, struct run_session *r,
		    struct as_cli_output *out, struct as_run_result *sum, struct as_err *err)
{
	const struct as_cli_job *job = &all->jobs[*first];
	struct as_work work = as_cli_jobs_work(all, *first), left = work;
	struct run_talk talk = { .spec = as_buf_str(&job->spec),
				 .json = out->json,
				 .together = r->runs.together,
				 .sinks = r->runs.sinks,
				 .live = out->live,
				 .session = r };
	int rc = 0;

	while (left.n && !rc && !as_cli_unheard()) {
		struct as_run_result result;

		as_live_phase(out->live, left.names[0]);
		r->runs.options.stop = as_cli_stop_catch();
		rc = as_series_run(&r->runs, talk.spec, job->size_bytes, &left, &result, err);
		if (!rc)
			tell(&talk, left.names[0], &result);
		as_run_result_add(sum, &result);
		if (!rc)
			rc = as_cli_output_failed(out, err);
		left.seqs += result.workloads;
		left.names += result.workloads;
		left.n -= result.workloads;
	}
	*first += work.n - left.n;
	as_cli_work_free(&work);
	return rc;
}

static int run_jobs(const struct as_args *args, const struct as_cli_jobs *all,
		    struct run_session *r, struct as_cli_output *out, struct as_run_result *stats,
		    struct as_err *err)
{
	size_t i = 0;
	int rc = 0;

	while (i < all->n && !rc && !as_cli_unheard()) {
		as_cli_show_where(out->live, args, as_buf_str(&all->jobs[i].spec), 1);
		as_live_phase(out->live, all->jobs[i].name);
		rc = as_cli_wants_box(args, as_buf_str(&all->jobs[i].spec))
			     ? run_boxed(args, all, &i, r, out, stats, err)
			     : run_here(all, &i, r, out, stats, err);
		if (!rc)
			rc = as_cli_output_failed(out, err);
	}
	return rc;
}

static int sweep_jobs(const struct as_args *args, const struct as_cli_jobs *all,
		      struct run_session *r, struct as_cli_output *out, struct as_run_result *stats,
		      struct as_err *err)
{
	int rc = 0;

	as_live_goal(out->live, 0, all->n * r->n_sweeps);
	for (size_t i = 0; i < r->n_sweeps && !rc && !as_cli_unheard(); i++) {
		r->runs.options.sweep = r->sweeps[i];
		rc = run_jobs(args, all, r, out, stats, err);
	}
	return rc;
}

/* Names of lists from standard input, one on each line; an empty line is the end. */
static int run_lists(const struct as_args *args, struct run_session *r, struct as_cli_output *out,
		     struct as_run_result *stats, struct as_err *err)
{
	char *path = NULL;
	size_t cap = 0;
	ssize_t len;
	int rc = 0;

	while (!rc && (len = getline(&path, &cap, stdin)) > 0 && path[0] != '\n') {
		struct as_cli_jobs all = { 0 };

		path[strcspn(path, "\n")] = '\0';
		rc = as_cli_jobs_read(args, path, &all, err);
		if (!rc)
			rc = sweep_jobs(args, &all, r, out, stats, err);
		as_cli_jobs_free(&all);
	}
	free(path);
	return rc;
}

/* In a sandbox, other processes count the calls. */
static int open_cov(const struct as_args *args, const struct as_cli_jobs *all,
		    const struct as_cli_output *out, struct run_session *r, struct as_err *err)
{
	bool boxed = false;
	int rc;

	for (size_t i = 0; i < all->n; i++)
		boxed |= as_cli_wants_box(args, as_buf_str(&all->jobs[i].spec));
	if (boxed && !out->store && as_args_has(args, "cov"))
		return as_fail(err, AS_EUSE, "--cov of a sandbox needs the folder of the findings");
	rc = as_cli_cov_open(args, NULL, &r->cov, err);
	r->runs.options.watch = as_cli_cov_watch(&r->cov);
	return rc;
}

/* A fault before the first operation tests the mount. */
static bool tested_mount(const struct as_series *b, const struct as_run_result *stats)
{
	return !stats->findings && stats->workloads && !stats->ops && b->options.faults;
}

/* A run that tested nothing is an error: success would say that something was tested. */
static int check_something(const struct run_session *r, const struct as_run_result *stats,
			   struct as_err *err)
{
	const struct as_run_options *o = &r->runs.options;

	if (stats->findings || tested_mount(&r->runs, stats))
		return 0;
	if (!stats->workloads)
		return as_fail(err, AS_EUSE, "nothing was run: no workload was named");
	if (!stats->ops)
		return as_fail(err, AS_EUSE, "nothing was run: there is no operation in %s",
			       stats->workloads == 1 ? "the workload" : "any of the workloads");
	if (o->sweep && !r->swept.points)
		return as_fail(err, AS_EUSE,
			       "--sweep %s: no call of that kind was made, so none could fail",
			       as_sweep_name(o->sweep));
	return 0;
}

/* "All" is said only if every sweep came to its end by itself. */
static void say_swept(const struct run_session *r, struct as_sink *sinks)
{
	unsigned long long points = r->swept.points, left = r->swept.n - r->swept.complete;

	if (!r->runs.options.sweep || !points)
		return;
	if (!left)
		as_emit_note(sinks, "all %llu failures%s of %s workload%s were tried", points,
			     r->runs.options.max_faults > 1 ? " and pairs of failures" : "",
			     r->swept.n == 1 ? "this" : "these", as_plural(r->swept.n));
	else
		as_emit_note(sinks,
			     "%llu failures were tried, but not all: %llu of %llu sweeps did not "
			     "come to their end",
			     points, left, (unsigned long long)r->swept.n);
}

static int run_all(const struct as_args *args, const struct as_cli_jobs *all, bool lists,
		   struct as_err *err)
{
	struct run_session r = { .runs = { .together = as_args_has(args, "together"),
					   .leaves = as_cli_runs_say } };
	struct as_run_result stats = { 0 };
	struct as_buf faults = { 0 };
	struct as_cli_output out;
	int64_t start_us = as_now_us();
	int rc = read_options(args, &faults, &r, err);

	if (!rc)
		rc = as_scenario_find(as_args_text(args, "scenario", "sequential"),
				      &r.runs.scenario, &r.runs.params, err);
	as_cli_typed_scenario(args, as_args_text(args, "scenario", ""));
	for (size_t i = 0; !rc && i < all->n; i++)
		rc = as_cli_check_kernel(args, as_buf_str(&all->jobs[i].spec), err);
	if (!rc)
		rc = as_cli_output_open(args, &out, err);
	if (rc)
		goto out;
	as_cli_code_open(args, &r.code, &r.runs.options);
	r.code.sink.next = out.chain;
	r.code.live = out.live;
	r.runs.sinks = r.code.set ? &r.code.sink : out.chain;
	r.runs.json = out.json;
	rc = open_cov(args, all, &out, &r, err);
	if (!rc && as_args_has(args, "known") &&
	    as_series_known(&r.runs, as_args_text(args, "known", ""), err))
		rc = as_fail_in(err, "--known");
	if (!rc)
		rc = lists ? run_lists(args, &r, &out, &stats, err)
			   : sweep_jobs(args, all, &r, &out, &stats, err);
	as_cli_runs_say(&r.runs);
	if (!rc && !out.json)
		say_swept(&r, out.chain);
	stats.wall_us = as_now_us() - start_us;
	if (rc == AS_ESTOP)
		as_emit_note(out.chain, "stopped by %s: %llu of %zu workloads were run",
			     as_signal_name(as_cli_stopped()), (unsigned long long)stats.workloads,
			     all->n);
	else if (!rc && tested_mount(&r.runs, &stats))
		as_emit_note(out.chain, "no operation was run: the mount failed by the fault, "
					"which is not wrong");
	rc = as_cli_code_close(&r.code, out.store ? as_store_sink_folder(out.store) : NULL,
			       out.chain, out.json, rc == AS_ESTOP ? 0 : rc, err);
	rc = as_cli_output_close(&out, &stats, rc, err);
	if (!rc && !as_cli_stopped())
		rc = check_something(&r, &stats, err);
out:
	as_series_close(&r.runs);
	rc = as_cli_cov_close(&r.cov, rc, err);
	as_buf_free(&faults);
	return rc;
}

static int run(const struct as_args *args, struct as_err *err)
{
	const char *list = as_args_text(args, "list", NULL);
	bool lists = list && !strcmp(list, "-");
	struct as_cli_jobs all = { 0 };
	int rc = lists ? 0 : as_cli_jobs_read(args, list, &all, err);

	if (!rc)
		rc = run_all(args, &all, lists, err);
	as_cli_jobs_free(&all);
	return rc;
}

static const struct as_opt opts[] = {
	AS_CLI_FILES_TARGET_OPT,
	AS_CLI_TRUST_OPT,
	AS_CLI_RUN_OPT(check_every_op),
	AS_CLI_RUN_OPT(size_bytes),
	{ .name = "fault",
	  .kind = AS_OPT_TEXT,
	  .arg = "RULE",
	  .many = true,
	  .help = "make a call fail: read:3:eio, write:2+:eio, flush:1:drop, alloc:7, kalloc:2:5" },
	{ .name = "sweep",
	  .kind = AS_OPT_TEXT,
	  .arg = "KIND",
	  .help = "run the workload several times: call 1 of this kind fails, then call 2, then "
		  "call 3, and so on until there is no such call: alloc, read, write, or erase of "
		  "flash, with EIO; or read:eilseq, read:flip, write:enospc, write:eilseq, "
		  "write:drop, write:flip, erase:drop. In a kernel that can do it (--kernel "
		  "debug): kalloc, kpage or kio, of the mount and of each operation in turn. "
		  "Several kinds, with commas, are swept one after the other" },
	{ .name = "faults", .kind = AS_OPT_TEXT, .arg = "KIND", .help = "the same as --sweep" },
	{ .name = "sweep-op",
	  .kind = AS_OPT_TEXT,
	  .arg = "N|mount",
	  .help = "with a sweep in a kernel: only the calls of operation N fail, or only those of "
		  "the mount; default: of all" },
	AS_CLI_RUN_OPT(max_faults),
	AS_CLI_DEADLINE_OPT("how long one operation may take before it is a hang"),
	AS_CLI_RUN_OPT(seed),
	AS_CLI_RUN_OPT(choices),
	AS_CLI_CORRUPT_OPT,
	AS_CLI_USAGE_OPTS,
	AS_CLI_BOUND_OPTS,
	{ .name = "list",
	  .kind = AS_OPT_TEXT,
	  .arg = "FILE",
	  .help = "also run the workloads that this file lists: each line has a path or, separated "
		  "by a tab, a path and a name for reports; with -, the names of such files are "
		  "read from standard input, up to an empty line" },
	AS_CLI_MATRIX_OPT,
	AS_CLI_WEAR_OPT,
	{ .name = "scenario",
	  .kind = AS_OPT_TEXT,
	  .arg = "NAME",
	  .help = "do this with each workload; default sequential: run it once" },
	{ .name = "together",
	  .help = "run several workloads in one process: this is faster, but one may disturb the "
		  "next" },
	{ .name = "known",
	  .kind = AS_OPT_TEXT,
	  .arg = "FILE",
	  .help = "do not report, but only count, findings whose signatures are in this file (one "
		  "on each line) or were met before" },
	AS_CLI_COV_OPT,
	AS_CLI_RUN_OPT(kcov),
	AS_CLI_RUN_OPT(kmemleak),
	AS_CLI_BOX_OPTS,
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
		"standard input; a line `@workload NAME` in it begins another workload.",
	.opts = opts,
	.max_operands = -1,
	.run = run,
};
