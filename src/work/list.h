/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * list: workloads in their order, as they go from who draws or reads them to who runs them: through
 * a hunt, into a sandbox and out of its wire, to a scenario and to the runner. Whoever hands them
 * on owns them.
 */
#ifndef AS_WORK_LIST_H
#define AS_WORK_LIST_H

#include "work/seq.h"

struct as_plan; /* disk/fault.h */

struct as_work {
	const struct as_seq *const *seqs;
	const char *const *names; /* for people */
	size_t n;
	/* What fails in each; an element may be NULL. NULL: the same in all. */
	const struct as_plan *const *plans;
};

#endif
