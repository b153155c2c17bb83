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

/* What the last line of a command's --json may count, by the names that it has there, and what a
 * slice took. Lines of ledgers have those that are not 0. */
/* clang-format off */
#define AS_SLICE_COUNTS(X) \
	X(transitions) X(expanded) X(followed) X(crash_states) X(recoveries) X(memoised) X(runs) \
	X(problems) X(paths) X(buggy)
/* clang-format on */

enum as_slice_count {
#define X(name) AS_SLICE_##name,
	AS_SLICE_COUNTS(X)
#undef X
		AS_SLICE_N_COUNTS
};

/* One slice. */
struct as_slice {
	uint64_t round; /* from 1 */
	uint64_t planned_s; /* or so much work, where that counts */
	uint64_t work; /* workloads of hunts, transitions of checks */
	uint64_t cpu_us; /* of all its processes that it has waited for */
	uint64_t load; /* of the machine when it ended, in hundredths */
	uint64_t counts[AS_SLICE_N_COUNTS];
	int64_t wall_us;
	int status; /* exit status; 128 + N: ended by signal N */
	uint64_t workloads, ops, states; /* of this slice */
	uint64_t kinds, met; /* in the cell's folder after it: kinds, and how often they were met */
	uint64_t fresh; /* likely causes (groups of kinds) that no cell had shown of this type */
	bool complete; /* nothing is left to do */
	bool ended; /* it said that it is done; not in the line */
	char said[160]; /* the last line on standard error, if it failed or was cut short */
};

/* All slices of a cell. */
struct as_swarm_tally {
	uint64_t slices, rounds; /* rounds: the last one in which it had a slice */
	int64_t used_us;
	uint64_t work, cpu_us, load_min, load_max;
	uint64_t counts[AS_SLICE_N_COUNTS];
	uint64_t workloads, ops, states, kinds, met;
	uint64_t new_causes, new_states; /* in the last slice; causes that no cell had shown */
	uint64_t met_since; /* how often something known was met since a cause was new */
	unsigned failures; /* in a row */
	bool complete, given_up;
	int status; /* of the last slice */
	char said[160];
};

struct as_ledger {
	struct as_rundir run;
	struct as_dir swarm, cells;
	const struct as_campaign *campaign;
	struct as_swarm_tally *tallies; /* one for each cell */
	struct as_digests kinds; /* signatures of all cells */
	struct as_digests causes; /* the type and the group of each */
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

/* Calls fn for each finding of a cell that can be read. */
struct as_finding;
struct as_finding;
void as_ledger_findings(const struct as_ledger *ledger, size_t cell,
			void (*fn)(void *ctx, const struct as_finding *finding), void *ctx);
/* The likely cause of a finding: its type and its group. */
struct as_digest as_ledger_cause(const struct as_finding *finding);
/* Counts the kinds of findings in a cell's run folder. */
void as_ledger_count(struct as_ledger *ledger, size_t cell, struct as_slice *slice);

const char *as_slice_count_name(enum as_slice_count count);
/* A line of a ledger, both ways. False: it is no line of ours. */
void as_slice_print(const struct as_slice *slice, struct as_buf *line);
bool as_slice_parse(const char *line, size_t len, struct as_slice *slice);

#endif
