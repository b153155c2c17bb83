/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spending: counts what the crash states of each view cost and gave, for the shares of later
 * workloads (share.h). */
#ifndef AS_CRASH_SPENDING_H
#define AS_CRASH_SPENDING_H

#include "crash/ends.h"
#include "crash/judge.h"

/* What was counted when a state was begun with. */
struct as_spending {
	uint64_t spent, spent_again;
	struct as_crash_counts counts;
};

struct as_spending as_spending_begin(const struct as_judge_args *args);
/* ends: those of its recoveries; problem->is: one was met. */
void as_spending_end(const struct as_spending *spending, const struct as_judge_args *args,
		     unsigned view, const struct as_ends *ends, const struct as_problem *problem);

#endif
