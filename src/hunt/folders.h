/* SPDX-License-Identifier: GPL-2.0-or-later */
/* folders: the run folder of a hunt: FOLDER/findings/ID has the findings, and FOLDER/hunt/ the
 * rest: state.json, profile, feedback, lock, and a folder for each process while it works. */
#ifndef AS_HUNT_FOLDERS_H
#define AS_HUNT_FOLDERS_H

#include "hunt/hunt.h"
#include "os/rundir.h"

/* The run folder, open and locked against other hunts. */
struct as_folders {
	struct as_rundir run;
	struct as_dir hunt; /* FOLDER/hunt */
	int lock_fd;
};

/* Opens the run folder and locks its hunt. With `make`, both are made if they are missing;
 * without it, a missing hunt is an error (AS_EUSE). */
AS_MUST_CHECK int as_folders_open(const char *folder, bool make, struct as_folders *folders,
				  struct as_err *err);
/* Releases the lock. A hunt without any result leaves no folder. */
void as_folders_close(struct as_folders *folders);

/* Removes what dead processes have left; counts of calls are kept if they were asked for. */
void as_folders_clean(const struct as_hunt *hunt);
/* Moves a finding from the folder of a job to findings/ or, without `keep`, removes it. */
AS_MUST_CHECK int as_folders_take(const struct as_hunt *hunt, unsigned job, const char *id,
				  bool keep, struct as_err *err);
/* The folder of a finding in the state. */
AS_MUST_CHECK int as_folders_finding(const struct as_hunt *hunt, const char *id, struct as_dir *dir,
				     struct as_err *err);

/* The folder of a job. */
#define AS_HUNT_JOB "job-"
#define AS_HUNT_JOB_MAX 32
void as_folders_job(unsigned job, char name[AS_HUNT_JOB_MAX]);
/* The folder of the reducer. */
#define AS_HUNT_REDUCE "reduce"

#endif
