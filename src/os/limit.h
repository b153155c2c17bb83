/* SPDX-License-Identifier: GPL-2.0-or-later */
/* limit: how much of the machine a process may take that has something under test in it. */
#ifndef AS_OS_LIMIT_H
#define AS_OS_LIMIT_H

/* Limits the private memory of this process to half of the machine's memory, but to at least 1 GiB
 * and at most 4 GiB. A smaller limit that is set already stays. A build with a sanitizer sets no
 * limit. It may be called between fork and exec. */
void as_limit_memory(void);

#endif
