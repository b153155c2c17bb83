/* SPDX-License-Identifier: GPL-2.0-or-later */
/* faults: see faults.h. What explains another end is in trial/excuse.def (RECOVERY, REDONE). */
#include "crash/faults.h"

#include "cuts/plan.h"
#include "recording/orders.h"
#include "snapshot/tree.h"
#include "trial/excuse.h"

#include <stdio.h>

/* With AS_CRASH_FAIL_FEW: of the first recoveries, one in EVERY. */
#define FEW_EVERY 4u
#define FEW_LAST 8u

static const unsigned masks[AS_RECOVER_FAULTS] = {
	[AS_RECOVER_FAIL_READ] = AS_CRASH_FAIL_READ,
	[AS_RECOVER_FAIL_WRITE] = AS_CRASH_FAIL_WRITE,
	[AS_RECOVER_FAIL_FLUSH] = AS_CRASH_FAIL_WRITE,
	[AS_RECOVER_FAIL_ALLOC] = AS_CRASH_FAIL_ALLOC,
};

/* The call that fails. */
struct failed_call {
	enum as_recover_fault kind;
	uint64_t nth;
};

/* after: what came of the call that failed. */
static bool tell(const struct as_faults_args *args, struct failed_call fault, bool of_tree,
		 const char *after, struct as_buf *why, struct as_problem *problem)
{
	const char *name = as_recover_fault_name(fault.kind);
	char what[80];

	as_buf_addf(why, " (%s %llu failed)", name, (unsigned long long)fault.nth);
	snprintf(what, sizeof(what), "%s %s that fails during recovery%s",
		 fault.kind == AS_RECOVER_FAIL_ALLOC ? "an" : "a", name, after);
	return of_tree ? as_problem_set_tree(problem, AS_FIND_RECOVERY, args->way, what,
					     as_buf_str(why))
		       : as_problem_set(problem, AS_FIND_RECOVERY, args->way, what,
					as_buf_str(why));
}

static unsigned said_by(const struct as_recovered *got)
{
	bool gave_up = got->end == AS_REFUSED || got->end == AS_UNREADABLE;

	return AS_CLUE_PLAN | AS_CLUE_HIT | (gave_up ? AS_CLUE_GAVE_UP : 0u) |
	       (got->repaired ? AS_CLUE_REPAIRED : 0u);
}

static bool judge(const struct as_faults_args *args, const struct as_recovered *got,
		  const struct as_tree *tree, struct failed_call fault, struct as_problem *problem)
{
	struct as_buf why = { 0 };
	bool fine = true;

	if (as_excuses(AS_EXCUSED_RECOVERY, said_by(got)))
		return true;
	if (got->end != AS_RECOVERED) {
		as_buf_adds(&why, as_buf_str(&got->why));
		fine = tell(args, fault, false, "", &why, problem);
	} else if (as_tree_diff(tree, "without the error", got->tree, "with it", &why)) {
		as_buf_adds(&why, "; nobody was told");
		fine = tell(args, fault, true, " loses data", &why, problem);
	}
	as_buf_free(&why);
	return fine;
}

/* What was left by a recovery during which a call failed, recovered once more. */
static bool judge_again(const struct as_faults_args *args, const struct as_recovered *first,
			const struct as_tree *tree, struct failed_call fault,
			struct as_problem *problem, int *rc, struct as_err *err)
{
	struct as_buf why = { 0 };
	struct as_recovered got;
	bool fine = true;

	if (!first->disk || as_excuses(AS_EXCUSED_REDONE, said_by(first)) ||
	    !as_recoverer_in_process(args->recoverer))
		return true;
	args->flight->alive++;
	*rc = as_recover(args->recoverer, args->way, first->disk, 0, &got, err);
	if (!*rc && got.end != AS_RECOVERED) {
		as_buf_adds(&why, as_buf_str(&got.why));
		fine = tell(args, fault, false, " spoils the next one", &why, problem);
	} else if (!*rc &&
		   as_tree_diff(tree, "without the error", got.tree, "recovered again", &why) &&
		   !as_recording_allows_redone(args->recording, args->moment, got.tree)) {
		fine = tell(args, fault, true, " loses data for the next one", &why, problem);
	}
	as_recovered_free(&got);
	as_buf_free(&why);
	return fine;
}

/* *failed: there was such a call. */
static bool fail(const struct as_faults_args *args, struct as_disk *crashed,
		 const struct as_tree *tree, struct failed_call fault, bool *failed,
		 struct as_problem *problem, int *rc, struct as_err *err)
{
	struct as_recoverer *r = args->recoverer;
	struct as_recovered got;
	bool fine = true;

	(void)as_recover_fail(r, fault.kind, fault.nth);
	args->flight->alive++;
	args->flight->spent += AS_COST_RECOVERY;
	args->counts->faulty++;
	*rc = as_recover(r, args->way, crashed, 0, &got, err);
	*failed = as_recover_fail(r, fault.kind, 0);
	if (!*rc && *failed)
		fine = judge(args, &got, tree, fault, problem) &&
		       judge_again(args, &got, tree, fault, problem, rc, err);
	as_recovered_free(&got);
	return fine;
}

bool as_faults(const struct as_faults_args *args, struct as_disk *crashed,
	       const struct as_tree *tree, struct as_problem *problem, int *rc, struct as_err *err)
{
	uint64_t spent = args->flight->spent;
	bool few = args->what & AS_CRASH_FAIL_FEW, fine = true;

	if (few && (args->flight->failing++ % FEW_EVERY || args->flight->failing > FEW_LAST))
		return true;
	for (unsigned kind = 0; kind < AS_RECOVER_FAULTS; kind++) {
		bool failed = args->what & masks[kind];

		/* Of a program, or a kernel, only reads can fail. */
		if (kind != AS_RECOVER_FAIL_READ && !as_recoverer_in_process(args->recoverer))
			break;
		for (uint64_t nth = 1; fine && failed && !*rc; nth++) {
			struct failed_call fault = { (enum as_recover_fault)kind, nth };

			fine = fail(args, crashed, tree, fault, &failed, problem, rc, err);
		}
	}
	if (few)
		args->flight->spent = spent;
	return fine;
}
