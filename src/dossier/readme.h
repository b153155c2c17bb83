/* SPDX-License-Identifier: GPL-2.0-or-later */
/* readme: README.md in the folder of a finding, its page for whoever opens the folder first. Texts
 * from outside (names, logs, the target) are quoted, so that they cannot look like text of the
 * page. */
#ifndef AS_DOSSIER_README_H
#define AS_DOSSIER_README_H

#include "base/finding.h"
#include "os/dir.h"

/* The result of a reduction. */
struct as_stored_reduction {
	const char *workload; /* canonical text */
	uint64_t ops_before, ops_after, executions;
	unsigned runs, failed; /* the result failed in `failed` of `runs` runs; 0: not confirmed */
	bool flaky, complete;
	double seconds;
	/* What it shows (finding.h); NULL: not known. */
	const char *summary, *detail, *log;
	long op_index;
};

AS_MUST_CHECK int as_readme_write(const struct as_dir *folder, const struct as_finding *finding,
				  const char *id, struct as_err *err);
/* Adds the section of a reduction, or replaces it. */
AS_MUST_CHECK int as_readme_reduced(const struct as_dir *folder,
				    const struct as_stored_reduction *reduction,
				    struct as_err *err);

#endif
