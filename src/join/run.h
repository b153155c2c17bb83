/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run: what one run folder holds, as the object of a run.json (docs/FORMAT.md). */
#ifndef AS_JOIN_RUN_H
#define AS_JOIN_RUN_H

#include "join/join_priv.h"

struct join_run {
	char name[AS_RUN_ID_LEN + 1];
	json_t *object; /* of run.json */
	struct join_names damaged; /* findings that could not be read */
};

/* Whether it is a finding that a reader of the joined folder could use: its members are sound, and
 * its folder has its name. A count of 0 is that of a copy in a joined folder, before it was set. */
bool as_join_finding(const struct as_dir *findings, const char *name, uint64_t *count);
/* Reads a folder. Its findings are read, but not their workloads. `path` as the user gave it. */
void as_join_run_read(const struct as_dir *dir, const char *path, struct join_run *run);
/* The object of a sound run.json of the run with this name, which its folder has, too; NULL: it is
 * none. So a folder that somebody has copied beside it counts for nothing. */
json_t *as_join_run_load(const struct as_dir *dir, const char *name);
/* Puts the findings of `from` into `to`: the larger count stays. Other members are those of the one
 * that has done more. */
void as_join_run_take(json_t *to, const json_t *from);
void as_join_run_free(struct join_run *run);

/* "findings" of a run: an object with a member for each, {"count": 3}. */
json_t *as_join_run_findings(const json_t *object);

#endif
