/* SPDX-License-Identifier: GPL-2.0-or-later */
/* folders: the run folder of a hunt: FOLDER/findings/ID for what counts, FOLDER/hunt/ for the rest:
 * state.json, profile, feedback, lock, and a folder for each process while it works. */
#ifndef AS_HUNT_FOLDERS_H
#define AS_HUNT_FOLDERS_H

#include "hunt/hunt.h"

/* Makes FOLDER/hunt; what is there may be a hunt's that is running: nothing is touched. */
AS_MUST_CHECK int as_folders_make(const char *folder, struct as_err *err);
/* Takes the lock and removes what earlier processes left. */
AS_MUST_CHECK int as_folders_prepare(const struct as_hunt *hunt, int *lock_fd, struct as_err *err);
/* Removes what the processes left, and gives the lock back. */
void as_folders_clean(const struct as_hunt *hunt, int *lock_fd);
/* A finding in the folder of a job: moved to findings/, or (keep not set) removed. */
AS_MUST_CHECK int as_folders_take(const struct as_hunt *hunt, unsigned job, const char *id,
				  bool keep, struct as_err *err);
AS_MUST_CHECK int as_folders_set_count(const struct as_hunt *hunt, const struct as_hunt_sign *sign,
				       struct as_err *err);

#endif
