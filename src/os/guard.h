/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guard: a forked child for code that is not ours. As as_spawn_fork_limited(), and beyond that:
 * what it prints does not reach our terminal but the caller, it has no standard input, and whatever
 * it started and tried to leave running (a daemon in a session of its own) ends with it.
 */
#ifndef AS_OS_GUARD_H
#define AS_OS_GUARD_H

#include "os/spawn.h"

/* `output` gets the first 64 KiB of what it printed; a child that prints more is not held up. */
AS_MUST_CHECK int as_guard_fork(int (*fn)(void *ctx), void *ctx,
				const struct as_spawn_limits *limits, struct as_buf *output,
				struct as_ended *ended, struct as_err *err);

#endif
