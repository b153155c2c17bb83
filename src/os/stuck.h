/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stuck: processes that do not die though they were killed. A process that waits in the kernel for
 * an answer of a FUSE server cannot be ended by a signal; it ends when its connection to the server
 * is aborted. And where a process is that does not come back.
 */
#ifndef AS_OS_STUCK_H
#define AS_OS_STUCK_H

#include "base/buf.h"

#include <stdbool.h>
#include <sys/types.h>

/* Waits at most so long for the end of a child of ours, and reaps it. `status` is as waitpid()
 * gives it, and may be NULL. False: the child has not ended. A child that was reaped before counts
 * as ended. */
bool as_stuck_reap(pid_t pid, unsigned ms, int *status);

/*
 * Helps a child that was killed and has not ended: aborts the connections of the FUSE mounts that
 * the child has and we have not. Other mounts are left alone, because others may use them
 * rightfully. It works for root, and for the owner of the child's user namespace. It returns within
 * about two seconds, whatever happens.
 */
void as_stuck_cut(pid_t pid);

/* Adds where in the kernel the threads of a process wait: their stacks, for those who may read them
 * (root, of a kernel that has them). Nothing: nobody can tell. */
void as_stuck_where(pid_t pid, struct as_buf *out);

#endif
