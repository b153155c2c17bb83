/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * engine: the door to the service of a sandbox (guest/service.h). It has what the service cannot
 * reach: counts of calls. Nobody but a supervisor starts it, so no help lists it.
 */
#include "cli/cli.h"
#include "cli/own_cov.h"
#include "guest/service.h"

static int open_counts(void *ctx, const char *cov, const struct as_watch **watch,
		       struct as_err *err)
{
	int rc = as_cli_cov_open_at(cov, NULL, ctx, err);

	*watch = as_cli_cov_watch(ctx);
	return rc;
}

static int close_counts(void *ctx, int rc, struct as_err *err)
{
	return as_cli_cov_close(ctx, rc, err);
}

static int run(const struct as_args *args, struct as_err *err)
{
	struct as_cli_cov cov = { 0 };
	struct as_guest_counter counter = { .open = open_counts,
					    .close = close_counts,
					    .ctx = &cov };

	return as_guest_serve(args->operands[0], args->operands[1], &counter, err);
}

const struct as_command as_cmd_engine = {
	.hidden = true,
	.name = AS_WIRE_ENGINE,
	.operands = "STATE CALL",
	.summary = "serve a sandbox, as its supervisor says",
	.min_operands = 2,
	.max_operands = 2,
	.run = run,
};
