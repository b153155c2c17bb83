/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rundir: run folders (-o DIR). Assay keeps findings and the state of hunts in them, and deletes
 * what its own processes have left there. It deletes only in folders of its own:
 *
 *   - a run folder has the file .assay-run in it, written when the folder is made or was empty. A
 *     folder that has other files and not this one is refused. Folders of old versions, which did
 *     not write it, are known by what they contain, and get it;
 *   - a folder that another user owns or may write to is refused: the files in it could be that
 *     user's.
 *
 * Several processes may use a run folder at a time. Each holds a shared lock on it; a process that
 * is alone in it may clean up.
 */
#ifndef AS_OS_RUNDIR_H
#define AS_OS_RUNDIR_H

#include "os/dir.h"

#define AS_RUN_MARK ".assay-run"
#define AS_OUT_DEFAULT "assay.out" /* the run folder, if none is given */
#define AS_RUN_FINDINGS "findings"
#define AS_RUN_HUNT "hunt"
#define AS_RUN_STATE "state.json" /* of a hunt, in AS_RUN_HUNT */
#define AS_RUN_PARTS "cov.parts"
#define AS_RUN_JOINED "runs" /* of a joined folder: the runs that it was made of */
#define AS_RUN_JOINED_FILE "run.json" /* in the folder of each */
/* The names of folders of running processes begin with this. */
#define AS_RUN_PART ".part-"

enum as_rundir_how {
	AS_RUNDIR_THERE, /* it must be there */
	AS_RUNDIR_MAKE, /* it is made if it does not exist */
};

struct as_rundir {
	struct as_dir dir;
	struct as_route way; /* the end of the path to it */
	bool made; /* we made it now */
};

AS_MUST_CHECK int as_rundir_open(const char *path, enum as_rundir_how how, struct as_rundir *run,
				 struct as_err *err);
/* The name of the run, which no other one has and which a copy of the folder keeps. False: it has
 * none, because an old version made it. */
#define AS_RUN_ID_LEN 32
bool as_rundir_id(const struct as_dir *dir, char id[static AS_RUN_ID_LEN + 1]);
/* If nobody else uses it, removes what is empty: findings/, and the folder itself if we made it. */
void as_rundir_close(struct as_rundir *run);

#endif
