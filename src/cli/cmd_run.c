/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_run: workloads from files on a target. */
#include "base/json.h"
#include "base/show.h"
#include "cli/boxes.h"
#include "cli/cli.h"
#include "cli/jobs.h"
#include "cli/output.h"
#include "cli/own_cov.h"
#include "cli/rows.h"
#include "cli/start.h"
#include "cli/stopping.h"
#include "cli/trust.h"
#include "hunt/known.h"
#include "os/spawn.h"
#include "run/run.h"
#include "scenario/scenario.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KNOWN_MAX_BYTES ((size_t)64 << 20)

static void join_faults(const struct as_args *args, struct as_buf *faults)
{
	for (size_t i = 0; i < args->n_given; i++)
		if (!strcmp(args->given[i].opt->name, "fault"))
			as_buf_addf(faults, "%s%s", faults->len ? " " : "", args->given[i].value);
}

/* ---- Running --------------------------------------------------------------------------------- */

struct run_session {
	struct as_run_options options;
	const struct as_scenario_ops *scenario;
	const char *params;
	struct as_target *target;
	struct as_scenario *open;
	struct as_buf spec; /* of the target that is loaded */
	uint64_t size_bytes;
	struct as_known *known; /* NULL: everything found is new */
	struct as_known_filter filter;
	struct as_sink *sinks;
	bool together, json;
	bool swept; /* some call was failed */
	struct as_cli_cov cov;
};

static void unload(struct run_session *b)
{
	if (b->open)
		b->scenario->close(b->open);
	as_target_free(b->target);
	b->open = NULL;
	b->target = NULL;
	as_buf_clear(&b->spec);
}

/* Files with the same target share its fresh disk. */
static int get_ready(struct run_session *b, const struct as_cli_job *job, struct as_err *err)
{
	const struct as_target *targets[1];
	struct as_scenario_args args = { .targets = targets,
					 .n_targets = 1,
					 .options = &b->options,
					 .params = b->params,
					 .sinks = b->sinks };
	int rc;

	if (b->open && b->size_bytes == job->size_bytes &&
	    !strcmp(as_buf_str(&b->spec), as_buf_str(&job->spec)))
		return 0;
	unload(b);
	rc = as_target_open(as_buf_str(&job->spec), &b->target, err);
	if (rc)
		return rc;
	b->options.size_bytes = b->size_bytes = job->size_bytes;
	as_buf_adds(&b->spec, as_buf_str(&job->spec));
	targets[0] = b->target;
	return b->scenario->open(&args, &b->open, err);
}

static void add_counts(struct as_json *j, const struct as_run_result *r)
{
	static const uint64_t none[AS_RUN_COUNTS];

	if (!memcmp(r->counts, none, sizeof(none)))
		return;
	as_json_key(j, "counts");
	as_json_array(j);
	for (size_t i = 0; i < AS_RUN_COUNTS; i++)
		as_json_uint(j, r->counts[i]);
	as_json_end(j);
}

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
		as_json_kuint(&j, "runs", r->runs);
		as_json_kuint(&j, "ops", r->ops);
		as_json_kuint(&j, "skipped", r->skipped);
		as_json_kuint(&j, "unjudged", r->unjudged);
		as_json_kuint(&j, "excused", r->excused);
		as_json_kuint(&j, "findings", r->findings);
		as_json_kuint(&j, "again", r->again);
		as_json_kint(&j, "wall_us", r->wall_us);
		add_counts(&j, r);
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
		if (r->skipped)
			as_buf_addf(&line, ", %llu not possible here",
				    (unsigned long long)r->skipped);
		as_buf_addf(&line, ", %.1f ms", (double)r->wall_us / 1e3);
		as_emit_note(sinks, "%s", as_buf_str(&line));
	}
	as_buf_free(&line);
}

/* A sweep runs a workload once without a fault, and ends with a run in which none was met. */
static bool has_swept(const struct as_run_result *r)
{
	return r->runs > 2;
}

struct run_talk {
	const char *spec;
	bool json;
	struct as_sink *sinks;
	bool *swept;
};

static void boxed_workload(void *ctx, const struct as_boxed_job *job,
			   const struct as_run_result *result)
{
	const struct run_talk *talk = ctx;

	*talk->swept |= has_swept(result);
	say_workload(job->name, talk->spec, result, talk->json, talk->sinks);
}

/* Those from `first` on that have the same target run in one box, one behind the other. */
static int run_boxed(const struct as_args *args, const struct as_cli_jobs *all, size_t *first,
		     struct run_session *b, struct as_cli_output *out, struct as_run_stats *stats,
		     struct as_err *err)
{
	const struct as_cli_job *job = &all->jobs[*first];
	struct run_talk talk = { as_buf_str(&job->spec), out->json, out->talk, &b->swept };
	struct as_boxed_job *jobs = as_xcalloc(all->n, sizeof(*jobs));
	struct as_cli_share share;
	struct as_cli_box box;
	size_t n = 0;
	int rc = as_cli_share_open(out, &share, err);

	as_cli_stop_release();
	for (; *first < all->n && as_cli_jobs_alike(job, &all->jobs[*first]); ++*first)
		jobs[n++] = (struct as_boxed_job){ all->jobs[*first].name, all->jobs[*first].seq };
	if (!rc)
		rc = as_cli_box_open(args, talk.spec, job->size_bytes, &box, err);
	if (!rc) {
		box.boxed.options = b->options;
		box.boxed.options.size_bytes = job->size_bytes;
		box.boxed.out = share.dir.path;
		box.boxed.cov = b->cov.own ? AS_CLI_COV_FOLDER : NULL;
		box.boxed.told = out->chain;
		box.boxed.found = out->chain;
		box.boxed.workload = boxed_workload;
		box.boxed.ctx = &talk;
		rc = as_boxed_run(&box.boxed, jobs, n, stats, err);
		as_cli_box_close(&box);
	}
	if (!rc && b->cov.own)
		rc = as_cli_cov_take(&b->cov, &share.dir, err);
	as_cli_share_close(&share);
	free(jobs);
	return rc;
}

/* For a supervisor, who knows the workloads: what the next `done` of them came to. */
static void say_batch(size_t done, const struct as_run_result *r)
{
	struct as_buf line = { 0 };
	struct as_json j = as_json_on(&line);

	as_json_object(&j);
	as_json_kstr(&j, "event", "batch");
	as_json_kuint(&j, "done", done);
	as_json_kuint(&j, "ops", r->ops);
	as_json_kuint(&j, "skipped", r->skipped);
	as_json_kuint(&j, "unjudged", r->unjudged);
	as_json_kuint(&j, "excused", r->excused);
	as_json_kuint(&j, "findings", r->findings);
	as_json_end(&j);
	printf("%s\n", as_buf_str(&line));
	fflush(stdout);
	as_buf_free(&line);
}

/* The workload at *first, or several from there on that have the same target. */
static int run_here(struct run_session *b, const struct as_cli_jobs *all, size_t *first,
		    struct as_run_stats *stats, struct as_err *err)
{
	const struct as_cli_job *job = &all->jobs[*first];
	const struct as_seq **seqs = as_xcalloc(all->n, sizeof(*seqs));
	const char **names = as_xcalloc(all->n, sizeof(*names));
	struct as_scenario_work work = { seqs, names, 0 };
	struct as_run_result result = { 0 };
	size_t done = 0;
	int rc;

	for (size_t i = *first; i < all->n && as_cli_jobs_alike(job, &all->jobs[i]) &&
				((b->together && b->scenario->in_step) || !work.n);
	     i++) {
		seqs[work.n] = all->jobs[i].seq;
		names[work.n++] = all->jobs[i].name;
	}
	/* One who is watched is ended by his supervisor. */
	if (b->options.state)
		b->options.state->job = (int64_t)*first;
	else
		b->options.stop = as_cli_stop_catch();
	rc = get_ready(b, job, err);
	if (!rc)
		rc = b->scenario->run(b->open, &work, &done, &result, err);
	if (!rc && b->together)
		say_batch(done, &result);
	else if (!rc)
		say_workload(job->name, as_buf_str(&job->spec), &result, b->json, b->sinks);
	b->swept |= has_swept(&result);
	*first += done;
	stats->workloads += rc ? 0 : done;
	stats->ops += result.ops;
	stats->skipped += result.skipped;
	stats->unjudged += result.unjudged;
	stats->excused += result.excused;
	stats->findings += result.findings;
	free(seqs);
	free(names);
	return rc;
}

static int read_options(const struct as_args *args, struct as_buf *faults, struct as_run_options *o,
			struct as_err *err)
{
	const char *state = as_args_text(args, AS_BOX_STATE_OPTION, NULL);
	const char *scenario = as_args_text(args, "scenario", NULL);
	int rc;

	join_faults(args, faults);
	o->check_every_op = !strcmp(as_args_text(args, "check", "end"), "op");
	o->deadline_ms = (unsigned)as_args_number(args, "deadline", 10) * 1000;
	o->seed = as_args_number(args, "seed", 0);
	o->max_bytes = as_args_number(args, "max-bytes", 0);
	o->max_entries = as_args_number(args, "max-entries", 0);
	o->faults = faults->len ? as_buf_str(faults) : NULL;
	if (scenario && strlen(scenario) >= sizeof(o->scenario))
		return as_fail(err, AS_EUSE, "--scenario: '%.20s...' is too long", scenario);
	if (scenario && strcmp(scenario, "sequential"))
		memcpy(o->scenario, scenario, strlen(scenario) + 1);
	rc = as_sweep_parse(as_args_text(args, "sweep", "none"), &o->sweep, err);
	if (!rc && o->sweep && faults->len)
		rc = as_fail(err, AS_EUSE, "--sweep and --fault exclude each other");
	if (!rc && state)
		rc = as_box_state_open(state, &o->state, err);
	return rc;
}

/* Signatures that are no news. */
static int read_known(const char *path, struct run_session *b, struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc;

	if (!path)
		return 0;
	b->known = as_known_new();
	b->filter = as_known_filter(b->known, b->sinks, false);
	b->sinks = &b->filter.sink;
	rc = as_buf_read_file(&text, path, KNOWN_MAX_BYTES, err);
	if (!rc)
		as_known_parse(b->known, as_buf_str(&text));
	as_buf_free(&text);
	return rc ? as_fail_in(err, "--known") : 0;
}

static int run_jobs(const struct as_args *args, const struct as_cli_jobs *all,
		    struct run_session *b, struct as_cli_output *out, struct as_run_stats *stats,
		    struct as_err *err)
{
	size_t i = 0;
	int rc = 0;

	while (i < all->n && !rc && !as_cli_unheard()) {
		if (as_cli_wants_box(args, as_buf_str(&all->jobs[i].spec)))
			rc = run_boxed(args, all, &i, b, out, stats, err);
		else
			rc = run_here(b, all, &i, stats, err);
		if (!rc)
			rc = as_cli_output_failed(out, err);
	}
	return rc;
}

/* Waiting is no hang. */
static bool await_line(struct run_session *b, char *line, size_t cap)
{
	volatile uint64_t *alive =
		b->options.state ? (volatile uint64_t *)(void *)b->options.state->engine : NULL;
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	size_t len = 0;

	while (len + 1 < cap) {
		int ready = poll(&in, 1, 1000);

		if (alive)
			++*alive;
		if (ready <= 0)
			continue;
		if (read(STDIN_FILENO, line + len, 1) != 1)
			return false;
		if (line[len] == '\n')
			break;
		len++;
	}
	line[len] = '\0';
	return len;
}

/* Lists as a supervisor names them on standard input, a path a line; an empty line is the end. */
static int run_lists(const struct as_args *args, struct run_session *b, struct as_cli_output *out,
		     struct as_run_stats *stats, struct as_err *err)
{
	char path[4096];
	int rc = 0;

	while (!rc && await_line(b, path, sizeof(path))) {
		struct as_cli_jobs all = { 0 };

		rc = as_cli_jobs_read(args, path, &all, err);
		if (!rc)
			rc = run_jobs(args, &all, b, out, stats, err);
		as_cli_jobs_free(&all);
	}
	return rc;
}

/* In a sandbox it is other processes that count. */
static int open_cov(const struct as_args *args, const struct as_cli_jobs *all,
		    const struct as_cli_output *out, struct run_session *b, struct as_err *err)
{
	bool boxed = false;
	int rc;

	for (size_t i = 0; i < all->n; i++)
		boxed |= as_cli_wants_box(args, as_buf_str(&all->jobs[i].spec));
	if (boxed && !out->store && as_args_has(args, "cov"))
		return as_fail(err, AS_EUSE, "--cov of a sandbox needs the folder of the findings");
	rc = as_cli_cov_open(args, NULL, &b->cov, err);
	b->options.watch = as_cli_cov_watch(&b->cov);
	return rc;
}

/* Success would say that something was tested. */
static int check_something(const struct as_args *args, const struct run_session *b,
			   const struct as_run_stats *stats, struct as_err *err)
{
	/* A supervisor knows what it asked for. */
	if (stats->findings || as_args_has(args, AS_BOX_STATE_OPTION))
		return 0;
	if (!stats->workloads)
		return as_fail(err, AS_EUSE, "nothing was run: no workload was named");
	if (!stats->ops)
		return as_fail(err, AS_EUSE, "nothing was run: there is no operation in %s",
			       stats->workloads == 1 ? "the workload" : "any of the workloads");
	if (b->options.sweep && !b->swept)
		return as_fail(err, AS_EUSE,
			       "--sweep %s: no call of that kind was made, so none was failed",
			       as_sweep_name(b->options.sweep));
	return 0;
}

static int run_all(const struct as_args *args, const struct as_cli_jobs *all, bool lists,
		   struct as_err *err)
{
	struct run_session b = { .together = as_args_has(args, "together") };
	struct as_run_stats stats = { 0 };
	struct as_buf faults = { 0 };
	struct as_cli_output out;
	int64_t start_us = as_now_us();
	int rc = read_options(args, &faults, &b.options, err);

	if (!rc)
		rc = as_scenario_find(as_args_text(args, "scenario", "sequential"), &b.scenario,
				      &b.params, err);
	as_cli_typed_scenario(args, as_args_text(args, "scenario", ""));
	if (!rc)
		rc = as_cli_output_open(args, &out, err);
	if (rc)
		goto out;
	b.sinks = out.chain;
	b.json = out.json;
	rc = open_cov(args, all, &out, &b, err);
	if (!rc)
		rc = read_known(as_args_text(args, "known", NULL), &b, err);
	if (!rc)
		rc = lists ? run_lists(args, &b, &out, &stats, err)
			   : run_jobs(args, all, &b, &out, &stats, err);
	stats.wall_us = as_now_us() - start_us;
	if (rc == AS_ESTOP)
		as_emit_note(out.chain, "stopped by %s: %llu of %zu workloads were run",
			     as_signal_name(as_cli_stopped()), (unsigned long long)stats.workloads,
			     all->n);
	rc = as_cli_output_close(&out, &stats, rc == AS_ESTOP ? 0 : rc, err);
	if (rc == AS_EXIT_CLEAN && as_cli_stopped())
		rc = AS_EXIT_SIGNAL + as_cli_stopped();
	else if (!rc)
		rc = check_something(args, &b, &stats, err);
out:
	unload(&b);
	rc = as_cli_cov_close(&b.cov, rc, err);
	as_buf_free(&b.spec);
	as_known_free(b.known);
	as_box_state_close(b.options.state);
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
	{ .name = "check",
	  .kind = AS_OPT_CHOICE,
	  .choices = "op|end",
	  .help = "compare the whole tree after every operation, or at the end (default)" },
	AS_CLI_SIZE_OPT,
	{ .name = "fault",
	  .kind = AS_OPT_TEXT,
	  .arg = "RULE",
	  .many = true,
	  .help = "let a call fail: read:3:eio, write:2+:eio, flush:1:drop, alloc:7" },
	{ .name = "sweep",
	  .kind = AS_OPT_CHOICE,
	  .choices = "alloc|read|write",
	  .help = "run again and again, failing call 1, 2, 3, ... until none is left to fail" },
	AS_CLI_DEADLINE_OPT("how long one operation may take before it is a hang"),
	AS_CLI_CHANCE_OPT,
	AS_CLI_BOUND_OPTS,
	{ .name = "list",
	  .kind = AS_OPT_TEXT,
	  .arg = "FILE",
	  .help = "more workloads: a path a line, and after a tab the name to report it by; - "
		  "reads names of such lists from standard input, up to an empty line" },
	{ .name = "scenario",
	  .kind = AS_OPT_TEXT,
	  .arg = "NAME",
	  .help = "what is done with each workload; default sequential: it is run once" },
	{ .name = "together",
	  .help = "several workloads to a process: faster, and what one does to it the next may "
		  "meet" },
	{ .name = "known",
	  .kind = AS_OPT_TEXT,
	  .arg = "FILE",
	  .help = "signatures, a line each: findings that have one of them, or that came before, "
		  "are only counted" },
	AS_CLI_COV_OPT,
	AS_CLI_BOX_OPTS,
	AS_CLI_OUTPUT_OPTS,
	{ .name = AS_BOX_STATE_OPTION,
	  .kind = AS_OPT_TEXT,
	  .arg = "FILE",
	  .help = "shared memory for the progress, as a sandbox's supervisor gives it" },
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
