/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * service: what an engine does in a sandbox: it says hello, and serves one call of its supervisor
 * after the other, as supervise/wire.h describes. The requests are the rows of a table (service.c);
 * the supervisor of all of them is supervise/boxed.h.
 */
#ifndef AS_GUEST_SERVICE_H
#define AS_GUEST_SERVICE_H

#include "base/err.h"
#include "base/event.h"
#include "supervise/wire.h"

/* Who counts the system calls of workloads. */
struct as_guest_counter {
	/* Into the folder `cov`; NULL: it does not count. *watch is of as_run_options. */
	int (*open)(void *ctx, const char *cov, const struct as_watch **watch, struct as_err *err);
	/* rc is what came of the service; returns that or an error. */
	int (*close)(void *ctx, int rc, struct as_err *err);
	void *ctx;
};

/* Serves until there is nothing more to do. `state` and `call` are the paths of the shared memory
 * and of the calls. Events go to standard output, an error as well. */
AS_MUST_CHECK int as_guest_serve(const char *state, const char *call,
				 const struct as_guest_counter *counter, struct as_err *err);

#endif
