/* SPDX-License-Identifier: GPL-2.0-or-later */
/* who: which process a run is, as progress.json says it, and what /proc knows of it. */
#ifndef AS_PROGRESS_WHO_H
#define AS_PROGRESS_WHO_H

#include "progress/progress.h"

#include <sys/types.h>

/* Fills in who the process is. */
void as_progress_say_who(struct as_progress *p, pid_t pid);
/* Memory of a process and of all that it started, but not of `except`. */
uint64_t as_progress_memory(pid_t pid, pid_t except);
/* The signal that a process died of that is a zombie still; 0: not known. */
int as_progress_died_of(pid_t pid);
/* Whether the process that wrote it is alive: 1 it is, 0 it is not, -1: it cannot be told from
 * here. */
int as_progress_is_alive(const struct as_progress *p);

#endif
