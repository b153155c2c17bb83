/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slice: one run of a cell's command in a process of its own, in the cell's run folder. It dies with
 * the process that started it. What it prints is kept until the next slice of the cell:
 * swarm/NAME.out has its JSON lines, swarm/NAME.err what it said.
 */
#ifndef AS_SWARM_SLICE_H
#define AS_SWARM_SLICE_H

#include "swarm/ledger.h"

#include <sys/types.h>

struct as_slice_run {
	size_t cell;
	uint64_t round, planned_s;
	pid_t pid; /* 0: none runs */
	int64_t began_us, deadline_us;
	bool asked; /* it was asked to end */
};

/* Starts this program with the words of the cell, on core number `cpu` of those that we may use. */
AS_MUST_CHECK int as_slice_start(struct as_ledger *ledger, size_t cell, uint64_t round,
				 uint64_t planned_s, unsigned cpu, struct as_slice_run *run,
				 struct as_err *err);
/* Looks whether it has ended; if so, *slice says how. A run that is late is ended. */
bool as_slice_poll(struct as_ledger *ledger, struct as_slice_run *run, struct as_slice *slice);
/* Asks it to end soon: what it has found so far is kept. */
void as_slice_stop(struct as_slice_run *run);

/* Runs one slice to its end, and adds it to the ledger. Nobody else runs this cell meanwhile. With
 * *stop it ends early, and the cell has its slice of that round again. */
AS_MUST_CHECK int as_slice_whole(struct as_ledger *ledger, size_t cell, uint64_t round,
				 uint64_t planned_s, const volatile int *stop,
				 struct as_slice *slice, struct as_err *err);
/* What a slice that we have ended counts: it is no failure, and its round is not over. */
void as_slice_cut(struct as_slice *slice);

/* What the lines of --json say of a slice; `before` is the tally before it. */
void as_slice_read(const struct as_swarm_command *command, const struct as_tally *before,
		   const char *text, size_t len, struct as_slice *slice);

#endif
