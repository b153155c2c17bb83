/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * left: processes that foreign code in this process leaves behind. Those whose parents have ended
 * become our children, too (PR_SET_CHILD_SUBREAPER), so that none escapes.
 */
#ifndef AS_OS_LEFT_H
#define AS_OS_LEFT_H

#include "base/buf.h"

#include <stdbool.h>

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

#endif
