/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * engine: the door to the service of a sandbox (guest/service.h). It has what the service cannot
 * reach: the folder of findings, and counts of calls. Nobody but a supervisor starts it, so no help
 * lists it.
 */
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/own_cov.h"
#include "guest/service.h"

struct engine {
	struct as_cli_output out;
	struct as_cli_cov cov;
};

static int keep(void *ctx, const struct as_wire_job *job, struct as_sink *wire,
		struct as_sink **sinks, const struct as_watch **watch, struct as_err *err)
{
	struct engine *e = ctx;
	int rc = as_cli_output_given(job->out, wire, &e->out, err);

	if (!rc)
		rc = as_cli_cov_open_at(job->cov, NULL, &e->cov, err);
	*sinks = e->out.chain;
	*watch = as_cli_cov_watch(&e->cov);
	return rc;
}

static int keep_failed(void *ctx, struct as_err *err)
{
	const struct engine *e = ctx;

	return as_cli_output_failed(&e->out, err);
}

static int keep_no_more(void *ctx, const struct as_run_stats *stats, int rc, struct as_err *err)
{
	struct engine *e = ctx;

	if (e->out.chain)
		rc = as_cli_output_close(&e->out, stats, rc, err);
	return as_cli_cov_close(&e->cov, rc, err);
}

static int run(const struct as_args *args, struct as_err *err)
{
	struct engine e = { .out.chain = NULL };
	struct as_guest_keeper keeper = {
		.open = keep, .failed = keep_failed, .close = keep_no_more, .ctx = &e
	};

	return as_guest_serve(args->operands[0], &keeper, err);
}

const struct as_command as_cmd_engine = {
	.hidden = true,
	.name = AS_WIRE_ENGINE,
	.operands = "JOB",
	.summary = "serve a sandbox, as its supervisor says",
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
