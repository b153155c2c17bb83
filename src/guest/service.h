/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * service: what an engine does in a sandbox: it reads its job, says hello, and carries out one
 * request after the other, as supervise/wire.h describes. The requests are the rows of a table
 * (service.c); the supervisor of all of them is supervise/boxed.h.
 */
#ifndef AS_GUEST_SERVICE_H
#define AS_GUEST_SERVICE_H

#include "base/err.h"
#include "base/event.h"
#include "supervise/wire.h"

/* Who counts the system calls of workloads. */
struct as_guest_counter {
	/* *watch is of as_run_options. */
	int (*open)(void *ctx, const struct as_wire_job *job, const struct as_watch **watch,
		    struct as_err *err);
	/* rc is what came of the service; returns that or an error. */
	int (*close)(void *ctx, int rc, struct as_err *err);
	void *ctx;
};

/* Serves until there is nothing more to do. `job` is the path of the job. Events go to standard
 * output, an error as well. */
AS_MUST_CHECK int as_guest_serve(const char *job, const struct as_guest_counter *counter,
				 struct as_err *err);

#endif
