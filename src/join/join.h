/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * join: many run folders as one (`assay merge`, docs/FORMAT.md "Joined folders").
 *
 * Invariants.
 *   1. What a joined folder says follows from the set of its runs alone (runs/NAME/run.json). A run
 *      has a name that no other run has, so one that comes twice, also by way of a folder that was
 *      joined before, counts once.
 *   2. A run is replaced, never added to: for each finding the larger count stays. So a folder that
 *      was in use can be joined again later, and one that lost something takes nothing away.
 *   3. The folder of a finding is there before a run.json names it. Whenever we are killed, the
 *      same command does the rest.
 *   4. Nothing is written to the folders that are read, and no link in them is followed.
 *   5. What cannot be read is kept as it is, in runs/NAME/damaged/, and told.
 */
#ifndef AS_JOIN_JOIN_H
#define AS_JOIN_JOIN_H

#include "base/buf.h"
#include "os/rundir.h"

#define AS_JOIN_DAMAGED "damaged"
#define AS_JOIN_COV "all.cov" /* the coverage of all runs */
#define AS_JOIN_INDEX "index.sqlite"
#define AS_JOIN_FORMAT 1

struct as_join;

struct as_join_totals {
	size_t folders, runs, findings;
	size_t fresh; /* findings that were not there before */
	size_t damaged; /* findings and files that could not be read */
	size_t in_use; /* folders in which something runs */
	size_t covered; /* files of coverage that were added */
};

/* Called with a line for people: what could not be read, and where. */
typedef void (*as_join_tell_fn)(void *ctx, const char *line);

/* Opens the folder that is written, and makes it. Others wait meanwhile. */
AS_MUST_CHECK int as_join_open(const char *path, as_join_tell_fn tell, void *ctx,
			       struct as_join **join, struct as_err *err);
/* Whether it can be joined. AS_EUSE: it is no run folder. */
AS_MUST_CHECK int as_join_check(const char *path, struct as_err *err);
AS_MUST_CHECK int as_join_add(struct as_join *join, const char *path, struct as_err *err);
/* Sets the counts and adds up the coverage. */
AS_MUST_CHECK int as_join_finish(struct as_join *join, struct as_join_totals *totals,
				 struct as_err *err);
const struct as_dir *as_join_folder(const struct as_join *join);
void as_join_close(struct as_join *join); /* takes NULL */

/* ---- The index (index_sqlite3.c; not in a build without SQLite: AS_HAVE_sqlite3) ---- */

#define AS_INDEX_VERSION 1 /* of its schema: docs/FORMAT.md */

/* Writes index.sqlite of a joined folder anew. A reader sees the old one or the new one. */
AS_MUST_CHECK int as_join_index(const struct as_dir *folder, struct as_err *err);

#endif
