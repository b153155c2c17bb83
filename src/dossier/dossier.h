/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dossier: what a person gets of a finding, in its folder: a program (repro.c), what the model
 * expects (expected.*), a script (repro.sh), a letter to the maintainer (report.txt) and a page
 * (README.md). Nothing here prints: all of it is put into files.
 *
 * A folder holds facts (dossier/stored.h names and reads them), and pages that are made of these
 * facts alone. Whatever is new of a finding comes in here, becomes a fact, and the pages that it
 * concerns are written anew. So a page is the same, whichever command wrote it, and nobody else
 * writes one.
 */
#ifndef AS_DOSSIER_DOSSIER_H
#define AS_DOSSIER_DOSSIER_H

#include "base/finding.h"
#include "os/dir.h"

enum as_dossier_event {
	AS_DOSSIER_FOUND, /* the folder is empty, and nobody else knows of it */
	AS_DOSSIER_REDUCED, /* a shorter workload fails in the same way */
	AS_DOSSIER_PLAYED, /* that of a library was played once more, and its calls are known */
	AS_DOSSIER_COUNTED, /* it was met again, or its likely cause is known now */
	AS_DOSSIER_EVENTS
};

/* The result of a reduction. */
struct as_dossier_reduction {
	const char *workload; /* canonical text */
	uint64_t ops_before, ops_after, executions;
	unsigned runs, failed; /* the result failed in `failed` of `runs` runs; 0: not confirmed */
	bool flaky, complete;
	double seconds;
	/* What it shows (finding.h); NULL: not known. */
	const char *summary, *detail, *log;
	long op_index;
};

struct as_played; /* dossier/solo/solo.h */

/* What is new, and the members that go with it. */
struct as_dossier_news {
	enum as_dossier_event event;
	/* FOUND */
	const struct as_finding *finding;
	const char *mkfs; /* what its mkfs says of its version; "": nothing */
	/* REDUCED: in place of an earlier one */
	const struct as_dossier_reduction *reduction;
	/* PLAYED: this is no fact of the folder, so the program is lost when it is reduced again */
	const struct as_played *played;
	/* COUNTED */
	uint64_t count; /* how often it was met; 0: once more than before */
	const char *group; /* its likely cause; NULL: it stays */
};

/* Several processes may do this at the same time: a folder that has a name is locked meanwhile. */
AS_MUST_CHECK int as_dossier_write(const struct as_dir *folder, const struct as_dossier_news *news,
				   struct as_err *err);

#endif
