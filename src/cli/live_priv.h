/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live_priv: what the two sides of live.h share. */
#ifndef AS_CLI_LIVE_PRIV_H
#define AS_CLI_LIVE_PRIV_H

#include "cli/live.h"
#include "os/shlock.h"

#include <sys/types.h>

/* In shared memory. */
struct as_live {
	struct as_shlock lock;
	struct as_progress p; /* what is not counted by the command is filled by the ticker */
	struct as_sink sink;
	bool json, quiet, keep;
	int64_t start_us, before_us;
	pid_t owner, ticker;
	int wake; /* written to: it is over */
};

int64_t as_live_wall(const struct as_live *live);
int64_t as_live_seconds(void);
/* The ticker (live_tick.c): it never returns. folder -1: nothing is kept; self: a pidfd of the
 * owner; over: can be read when it is over. */
__attribute__((noreturn)) void as_live_tick(struct as_live *live, int folder, int self, int over);

/* Who the process is, for progress.json (live_who.c). */
void as_live_say_who(struct as_progress *p, pid_t pid);
/* Memory of a process and of all that it started, but not of `except`. */
uint64_t as_live_memory(pid_t pid, pid_t except);
/* The signal that a process died of that is a zombie still; 0: not known. */
int as_live_died_of(pid_t pid);

#endif
