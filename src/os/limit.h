/* SPDX-License-Identifier: GPL-2.0-or-later */
/* limit: what a process with something under test in it may take of the machine. */
#ifndef AS_OS_LIMIT_H
#define AS_OS_LIMIT_H

/* From now on this process has no more memory of its own than half of the machine's, but no less
 * than 1 GiB and no more than 4 GiB; a smaller limit that is there stays. Of a build with a
 * sanitizer: nothing. It may be called between fork and exec. */
void as_limit_memory(void);

#endif
