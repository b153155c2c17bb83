/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rundir: run folders (-o DIR), in which assay keeps findings and the state of hunts, and in which
 * it deletes what processes of its own have left. It does so only in folders of its own:
 *
 *   - a run folder has a mark in it, the file .assay-run, written when the folder is made or was
 *     empty. A folder that has other things in it and no mark is refused. Those that were made by
 *     versions before the mark are known by what they hold, and get one;
 *   - a folder that another user owns or may write to is refused: what lies there would be his.
 *
 * Several processes may use a run folder at a time. Each holds a shared lock on it; who is alone in
 * it may clean up.
 */
#ifndef AS_OS_RUNDIR_H
#define AS_OS_RUNDIR_H

#include "os/dir.h"

#define AS_RUN_MARK ".assay-run"
#define AS_RUN_FINDINGS "findings"
#define AS_RUN_HUNT "hunt"
#define AS_RUN_STATE "state.json" /* of a hunt, in AS_RUN_HUNT */
#define AS_RUN_PARTS "cov.parts"
/* Begins the names of folders of running processes. */
#define AS_RUN_PART ".part-"

enum as_rundir_how {
	AS_RUNDIR_THERE, /* it must be there */
	AS_RUNDIR_MAKE, /* it is made where it is not */
	/* What a supervisor has given to an engine in a sandbox: the owner is not one that is known
	 * in there, and the folder needs no mark. */
	AS_RUNDIR_GIVEN,
};

struct as_rundir {
	struct as_dir dir;
	struct as_route way; /* to it */
	bool made; /* by us, now */
};

AS_MUST_CHECK int as_rundir_open(const char *path, enum as_rundir_how how, struct as_rundir *run,
				 struct as_err *err);
/* Where nobody else uses it, takes away what is empty: findings/, and the folder if we made it. */
void as_rundir_close(struct as_rundir *run);

#endif
