/* SPDX-License-Identifier: GPL-2.0-or-later */
/* worker_priv: what the processes of a hunt share. Only worker.c and reducer.c include it. */
#ifndef AS_HUNT_WORKER_PRIV_H
#define AS_HUNT_WORKER_PRIV_H

#include "hunt/worker.h"

/* *child: this is the new process, and worker->fd is its end of the pipe. */
AS_MUST_CHECK int as_worker_fork(struct as_worker *worker, bool *child, struct as_err *err);
/* Writes the line and frees it. */
void as_worker_say(const struct as_worker *worker, struct as_buf *line);
void as_worker_fail(const struct as_worker *worker, int rc, const struct as_err *err);

#endif
