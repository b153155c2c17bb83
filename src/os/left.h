/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * left: what foreign code in this process leaves behind: processes, threads, standard descriptors
 * that it has closed, another working directory, other handlers of signals. Processes whose parents
 * have ended become our children, too (PR_SET_CHILD_SUBREAPER), so that none escapes.
 */
#ifndef AS_OS_LEFT_H
#define AS_OS_LEFT_H

#include "base/buf.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* Signals that a program uses for itself (left.c); those of its own mistakes are not among them. */
#define AS_LEFT_SIGNALS 9

/* Lists the children of this process as " PID PID ... "; nothing where the kernel has no list. */
void as_left_list(struct as_buf *list);
/* Kills those that are not in the list. True: there was one, and it has ended. */
bool as_left_kill(const struct as_buf *before);

/* Calls of foreign code, one at a time; zeroed before the first. */
struct as_left {
	unsigned copies, forks; /* when the last call began or ended */
	bool runs;
	bool off; /* there were children before: it is not known whose they are */
};

void as_left_begin(struct as_left *left);
/* True: the call has left a process behind, which has been ended. A copy of this process that the
 * call has made ends here. */
bool as_left_end(struct as_left *left);

/* What this process has. */
struct as_left_state {
	unsigned open; /* bits of descriptors 0 to 2 */
	unsigned long threads;
	dev_t cwd_dev; /* the working directory */
	ino_t cwd_ino;
	void *handler[AS_LEFT_SIGNALS];
	sigset_t blocked;
};

void as_left_note(struct as_left_state *state);
/* What was done to this process since, in words; NULL: nothing. */
const char *as_left_changed(const struct as_left_state *before);

#endif
