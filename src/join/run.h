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

/* Reads a folder. Its findings are read, but not their workloads. `path` as the user gave it. */
void as_join_run_read(const struct as_dir *dir, const char *path, struct join_run *run);
/* The object of a run.json that is sound, and the name of the run; NULL: it is none. */
json_t *as_join_run_load(const struct as_dir *dir, char name[static AS_RUN_ID_LEN + 1]);
/* Puts the findings of `from` into `to`: the larger count stays. Other members are those of the one
 * that has done more. */
void as_join_run_take(json_t *to, const json_t *from);
void as_join_run_free(struct join_run *run);

/* "findings" of a run: an object with a member for each, {"count": 3}. */
json_t *as_join_run_findings(const json_t *object);

#endif
