/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * engine: the engine of a sandbox: runs workloads as the job of its supervisor says, and tells
 * what came of them, both as supervise/wire.h describes. Nobody but a supervisor starts it, so no
 * help lists it.
 */
#include "check/check.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/own_cov.h"
#include "cli/runs.h"
#include "cli/start.h"
#include "os/patience.h"
#include "supervise/wire.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 1000 /* between two signs of life while there is nothing to do */

struct engine {
	struct as_wire_job job;
	struct as_cli_runs runs;
	struct as_sink wire; /* tells the supervisor */
	struct as_cli_output out;
	struct as_cli_cov cov;
};

/* ---- Telling --------------------------------------------------------------------------------- */

static void send(const struct as_wire_event *event)
{
	struct as_buf line = { 0 };

	as_wire_event_print(event, &line);
	fwrite(as_buf_str(&line), 1, line.len, stdout);
	fflush(stdout);
	as_buf_free(&line);
}

static void send_finding(struct as_sink *sink, const struct as_finding *f, const char *id)
{
	(void)sink;
	send(&(struct as_wire_event){ .kind = AS_WIRE_FINDING,
				      .finding = { .finding = *f, .id = id } });
}

static void send_again(struct as_sink *sink, const char *signature)
{
	(void)sink;
	send(&(struct as_wire_event){ .kind = AS_WIRE_AGAIN, .text = signature });
}

static void send_note(struct as_sink *sink, const char *line)
{
	(void)sink;
	send(&(struct as_wire_event){ .kind = AS_WIRE_NOTE, .text = line });
}

static void send_told(struct as_sink *sink, const char *text)
{
	(void)sink;
	send(&(struct as_wire_event){ .kind = AS_WIRE_TOLD, .text = text });
}

static void send_result(void *ctx, const struct as_cli_job *first, size_t done,
			const struct as_run_result *result)
{
	const struct engine *e = ctx;

	(void)first;
	send(&(struct as_wire_event){ .kind = e->job.together ? AS_WIRE_BATCH : AS_WIRE_WORKLOAD,
				      .done = done,
				      .result = *result });
}

/* ---- Working --------------------------------------------------------------------------------- */

static int open_engine(struct engine *e, struct as_err *err)
{
	struct as_cli_runs *r = &e->runs;
	const char *scenario = e->job.options.scenario;
	int rc;

	e->wire = (struct as_sink){
		.finding = send_finding, .again = send_again, .note = send_note, .told = send_told
	};
	r->options = e->job.options;
	if (!r->options.deadline_ms)
		r->options.deadline_ms = AS_RUN_DEADLINE_MS;
	r->together = e->job.together;
	r->told = send_result;
	r->ctx = e;
	rc = as_box_state_open(e->job.state, &r->options.state, err);
	if (!rc)
		as_patience_told(&r->options.state->waited_us);
	r->params = "";
	if (!rc && as_scenario_is_check(scenario, &r->params))
		r->scenario = &as_scenario_check;
	else if (!rc && !strcmp(scenario, as_scenario_record.name))
		r->scenario = &as_scenario_record;
	else if (!rc)
		rc = as_scenario_find(*scenario ? scenario : "sequential", &r->scenario, &r->params,
				      err);
	if (!rc)
		rc = as_cli_output_given(e->job.out, &e->wire, &e->out, err);
	r->sinks = e->out.chain;
	if (!rc)
		rc = as_cli_cov_open_at(e->job.cov, NULL, &e->cov, err);
	r->options.watch = as_cli_cov_watch(&e->cov);
	if (!rc && e->job.known)
		rc = as_cli_runs_known(r, e->job.known, err);
	return rc;
}

/* The names of the jobs point into `work`. */
static int read_work(const struct engine *e, struct as_wire_work *work, struct as_cli_jobs *all,
		     struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc = as_buf_read_file(&text, e->job.work, AS_WIRE_FILE_MAX_BYTES, err);

	if (!rc)
		rc = as_wire_work_parse(as_buf_str(&text), text.len, work, err);
	for (size_t i = 0; i < work->n && !rc; i++)
		rc = as_cli_jobs_add_file(all, work->items[i].path, work->items[i].name, err);
	for (size_t i = 0; i < all->n; i++) {
		as_buf_adds(&all->jobs[i].spec, e->job.target);
		all->jobs[i].size_bytes = e->job.options.size_bytes;
	}
	as_buf_free(&text);
	return rc;
}

static int do_work(struct engine *e, struct as_run_stats *stats, struct as_err *err)
{
	struct as_wire_work work = { 0 };
	struct as_cli_jobs all = { 0 };
	size_t i = 0;
	int rc = read_work(e, &work, &all, err);

	while (i < all.n && !rc && !as_cli_unheard()) {
		rc = as_cli_runs_next(&e->runs, &all, &i, stats, err);
		if (!rc)
			rc = as_cli_output_failed(&e->out, err);
	}
	as_cli_jobs_free(&all);
	as_wire_work_free(&work);
	return rc;
}

/* Waits until the supervisor says that there is work; false: there is no more. An engine that waits
 * shows that it is alive: it does not hang. */
static bool await_work(struct engine *e)
{
	volatile uint64_t *alive = (volatile uint64_t *)(void *)e->runs.options.state->engine;
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	const char *expected = AS_WIRE_GO;
	char c;

	while (*expected) {
		int ready = poll(&in, 1, WAIT_MS);

		++*alive;
		if (ready <= 0)
			continue;
		if (read(STDIN_FILENO, &c, 1) != 1)
			return false;
		/* It was meant for a child that has ended. */
		if (c == AS_BOX_WAKE)
			continue;
		if (c != *expected)
			return false;
		expected++;
	}
	return true;
}

static int work(struct engine *e, struct as_err *err)
{
	struct as_run_stats stats = { 0 };
	int rc = open_engine(e, err);

	if (!rc && e->job.once)
		rc = do_work(e, &stats, err);
	while (!rc && !e->job.once && await_work(e))
		rc = do_work(e, &stats, err);
	if (e->out.chain)
		rc = as_cli_output_close(&e->out, &stats, rc, err);
	as_cli_runs_close(&e->runs);
	return as_cli_cov_close(&e->cov, rc, err);
}

static int run(const struct as_args *args, struct as_err *err)
{
	struct engine e = { .out.chain = NULL };
	struct as_buf text = { 0 };
	int rc;

	send(&(struct as_wire_event){ .kind = AS_WIRE_HELLO, .version = AS_WIRE_VERSION });
	rc = as_buf_read_file(&text, args->operands[0], AS_WIRE_FILE_MAX_BYTES, err);
	if (!rc)
		rc = as_wire_job_parse(as_buf_str(&text), text.len, &e.job, err);
	if (!rc)
		rc = work(&e, err);
	if (rc < 0)
		send(&(struct as_wire_event){
			.kind = AS_WIRE_ERROR, .text = err->msg, .lacks = rc == AS_ELACK });
	as_wire_job_free(&e.job);
	as_buf_free(&text);
	return rc;
}

const struct as_command as_cmd_engine = {
	.hidden = true,
	.name = AS_WIRE_ENGINE,
	.operands = "JOB",
	.summary = "run workloads in a sandbox, as its supervisor says",
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
