/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live: shows what a command does while it does it. This is the one place for it: a command opens
 * it, sets counters of progress/progress.def, and closes it. What becomes of that depends on where
 * it runs: a block at the bottom of a terminal, plain lines, JSON lines, and in each case the files
 * progress.json and history.csv in the run folder, which `assay watch` and the report read.
 *
 * For a new command:
 *
 *	live = as_live_open(&(struct as_live_setup){ .command = "name", .folder = &dir });
 *	as_live_target(live, "lab:bug=3", "", jobs);
 *	as_live_goal(live, 0, n_files);
 *	...as_live_done(live, i); as_live_phase(live, "the file that is read now");
 *	as_live_close(live, true, rc, &err);
 *
 * and what it prints meanwhile appears above the block, if it goes through stdout and stderr
 * (cli/live/screen.h). A number that no row of the table fits is a new row there.
 *
 * All functions take NULL, which shows nothing. Those that set something may also be called in
 * processes that were forked after as_live_open().
 */
#ifndef AS_CLI_LIVE_LIVE_H
#define AS_CLI_LIVE_LIVE_H

#include "base/event.h"
#include "cli/cli.h"
#include "os/dir.h"
#include "progress/progress.h"

struct as_live;

struct as_live_setup {
	const char *command;
	const struct as_dir *folder; /* of the run; NULL: nothing is kept */
	bool json, quiet;
	bool finds_nothing; /* it makes something: findings are not counted */
	int64_t before_us; /* of a run that is resumed: how long it took so far */
};

/* Of the commands that have it. */
#define AS_CLI_QUIET_OPT                                                               \
	{                                                                              \
		.name = "quiet", .letter = 'q', .resume = AS_OPT_ANEW,                 \
		.help = "print findings and errors, but no progress, notes or summary" \
	}

/* Starts a process that shows and keeps the progress. */
struct as_live *as_live_open(const struct as_live_setup *setup);
/* What runs where; `where` is shown as it is ("sandbox"). */
void as_live_target(struct as_live *live, const char *target, const char *where, uint64_t jobs);
/* When it is over: after a time (0: no limit), or when all of so many things are done (0: that is
 * not known). */
void as_live_goal(struct as_live *live, int64_t for_us, uint64_t all);
void as_live_done(struct as_live *live, uint64_t done);
void as_live_add_done(struct as_live *live, uint64_t more);
void as_live_phase(struct as_live *live, const char *words);
void as_live_set(struct as_live *live, enum as_counter counter, uint64_t n);
void as_live_add(struct as_live *live, enum as_counter counter, uint64_t n);
void as_live_finding(struct as_live *live, const struct as_finding *finding);
void as_live_again(struct as_live *live);
/* A sink that does these two; it belongs to `live`. */
struct as_sink *as_live_sink(struct as_live *live);
/* Ends the process; the block disappears, and the files say how the run has ended: rc < 0 is the
 * error, a signal that was caught (cli/stopping.h) has stopped it. `keep` false: there is nothing
 * in the folder but these files, and they are removed. */
void as_live_close(struct as_live *live, bool keep, int rc, const struct as_err *err);

#endif
