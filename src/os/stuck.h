/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stuck: processes that do not die though they were killed. A process that waits in the kernel for
 * an answer of a FUSE server cannot be ended by a signal; it can be where the answer is refused for
 * the server.
 */
#ifndef AS_OS_STUCK_H
#define AS_OS_STUCK_H

#include <stdbool.h>
#include <sys/types.h>

/* Waits for the end of a child of ours, at most so long, and reaps it; its status as of waitpid()
 * (may be NULL). False: it has not ended. One that was reaped before counts as ended. */
bool as_stuck_reap(pid_t pid, unsigned ms, int *status);

/*
 * Of a child that was killed and has not ended: the connections of the FUSE mounts that it has and
 * we have not are cut. Those of others are left alone: somebody may wait there who has a right to.
 * Works for root, and for who owns the user namespace of the child. Comes back within a second or
 * two, whatever happens.
 */
void as_stuck_cut(pid_t pid);

#endif
