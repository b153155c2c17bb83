/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * outside: the process that runs checkers for an engine in a guest (instance/outside.h). It is this
 * program once more, confined like the guest. Supervisor and process speak the wire (wire.h): the
 * process says hello first; a question is the event `check` of the engine, passed on, and its end
 * the event `answer` with the number of the question.
 */
#ifndef AS_SUPERVISE_OUTSIDE_H
#define AS_SUPERVISE_OUTSIDE_H

#include "base/err.h"
#include "box/sandbox.h"
#include "target/fstype.h"

/* The command that is the process. */
#define AS_OUTSIDE_COMMAND "check-outside"
#define AS_OUTSIDE_EVENTS_FD 3 /* what it says */
#define AS_OUTSIDE_STATE_FD 5 /* the memory of the guest */

/* What the process does: it answers questions about disks of this type and size, and about smaller
 * crashed ones, until nobody asks any more. */
AS_MUST_CHECK int as_outside_serve(struct as_box_state *state, size_t state_bytes,
				   const struct as_fstype *type, uint64_t size_bytes,
				   unsigned deadline_ms, int in_fd, int out_fd, struct as_err *err);

#endif
