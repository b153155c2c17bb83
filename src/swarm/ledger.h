/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ledger: what is known of each cell. A cell's time is spent in slices, each a run of its command;
 * after each slice a line is added to the cell's file, "swarm/NAME.jsonl" in the folder of the
 * campaign.
 *
 * Invariants
 *   1. A line is written once its slice has ended, in one write, and synced. A writer that was
 *      killed leaves a part of a line, which does not count, and which the next writer removes.
 *   2. One process at a time writes to a cell's file: it holds a lock on it (flock). So processes
 *      on several machines may share the folder, as long as the folder has working locks.
 *   3. Findings are counted in the run folder of the cell, and not by what was printed: a finding
 *      that was stored is counted although the slice that found it was killed.
 */
#ifndef AS_SWARM_LEDGER_H
#define AS_SWARM_LEDGER_H

#include "base/buf.h"
#include "base/digests.h"
#include "os/rundir.h"
#include "swarm/campaign.h"

#define AS_SWARM_FOLDER "swarm"
#define AS_SWARM_CELLS "cells"
#define AS_SWARM_FILE "campaign" /* a copy of the file, in the folder of the campaign */
#define AS_SWARM_FAILURES 3 /* so many failures in a row, and the cell is given up */

/* One slice. */
struct as_slice {
	uint64_t round; /* from 1 */
	uint64_t planned_s;
	int64_t wall_us;
	int status; /* exit status; 128 + N: ended by signal N */
	uint64_t workloads, ops, states; /* of this slice */
	uint64_t kinds, met; /* in the cell's folder after it: kinds, and how often they were met */
	uint64_t fresh; /* kinds that no cell had shown before */
	bool complete; /* nothing is left to do */
	char said[160]; /* the last line on standard error, if it failed */
};

/* All slices of a cell. */
struct as_tally {
	uint64_t slices, rounds; /* rounds: the last one in which it had a slice */
	int64_t used_us;
	uint64_t workloads, ops, states, kinds, met;
	uint64_t new_kinds, new_states; /* in the last slice; kinds that no other cell had shown */
	uint64_t met_since; /* how often something known was met since the last new kind */
	unsigned failures; /* in a row */
	bool complete, given_up;
	int status; /* of the last slice */
	char said[160];
};

struct as_ledger {
	struct as_rundir run;
	struct as_dir swarm, cells;
	const struct as_campaign *campaign;
	struct as_tally *tallies; /* one for each cell */
	struct as_digests kinds; /* signatures of all cells */
};

enum as_ledger_how {
	AS_LEDGER_READ,
	AS_LEDGER_WRITE, /* the folder is made if it does not exist */
	AS_LEDGER_ONE, /* the same; the caller reads the cells that it needs */
};

/* Opens or makes the folder of a campaign and reads what is known. A folder that belongs to a
 * campaign of another name is refused. The campaign must outlive it. */
AS_MUST_CHECK int as_ledger_open(const char *path, enum as_ledger_how how, const char *text,
				 const struct as_campaign *campaign, struct as_ledger *ledger,
				 struct as_err *err);
/* Reads one cell's lines again, for a process that did not write them. */
AS_MUST_CHECK int as_ledger_refresh(struct as_ledger *ledger, size_t cell, struct as_err *err);
/* Adds a slice to the cell's file and tally. */
AS_MUST_CHECK int as_ledger_add(struct as_ledger *ledger, size_t cell, const struct as_slice *slice,
				struct as_err *err);
void as_ledger_close(struct as_ledger *ledger);

/* Counts the kinds of findings in a cell's run folder. */
void as_ledger_count(struct as_ledger *ledger, size_t cell, struct as_slice *slice);

/* A line of a ledger, both ways. False: it is no line of ours. */
void as_slice_print(const struct as_slice *slice, struct as_buf *line);
bool as_slice_parse(const char *line, size_t len, struct as_slice *slice);

#endif
