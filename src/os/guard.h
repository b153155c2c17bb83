/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guard: runs code that is not ours in a forked child. It does what as_spawn_fork_limited() does,
 * and more: what the child prints goes to the caller and not to our terminal, the child has no
 * standard input, and every process that it leaves running (a daemon in a session of its own) ends
 * with it.
 */
#ifndef AS_OS_GUARD_H
#define AS_OS_GUARD_H

#include "os/spawn.h"

/* `output` gets the first 64 KiB that the child prints; a child that prints more is not stopped. */
AS_MUST_CHECK int as_guard_fork(int (*fn)(void *ctx), void *ctx,
				const struct as_spawn_limits *limits, struct as_buf *output,
				struct as_ended *ended, struct as_err *err);

#endif
