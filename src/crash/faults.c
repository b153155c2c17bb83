/* SPDX-License-Identifier: GPL-2.0-or-later */
/* faults: see faults.h. */
#include "crash/faults.h"

#include "snapshot/tree.h"

#include <stdio.h>

static bool judge(const struct as_faults_args *args, const struct as_recovered *got,
		  const struct as_tree *tree, uint64_t nth, struct as_problem *problem)
{
	struct as_buf why = { 0 };
	bool fine = true;

	/* It noticed the error. */
	if (got->end == AS_REFUSED || got->end == AS_UNREADABLE || got->repaired)
		return true;
	if (got->end != AS_RECOVERED)
		as_buf_addf(&why, "%s", as_buf_str(&got->why));
	else if (as_tree_diff(tree, "without the error", got->tree, "with it", &why))
		as_buf_addf(&why, "; nobody was told");
	if (why.len) {
		as_buf_addf(&why, " (read %llu failed)", (unsigned long long)nth);
		fine = got->end != AS_RECOVERED
			       ? as_problem_set(problem, AS_FIND_RECOVERY, args->way,
						"a read that fails during recovery",
						as_buf_str(&why))
			       : as_problem_set_tree(problem, AS_FIND_RECOVERY, args->way,
						     "a read that fails during recovery loses data",
						     as_buf_str(&why));
	}
	as_buf_free(&why);
	return fine;
}

bool as_faults(const struct as_faults_args *args, struct as_disk *crashed,
	       const struct as_tree *tree, struct as_problem *problem, int *rc, struct as_err *err)
{
	struct as_recoverer *r = args->recoverer;
	bool fine = true, failed = true;

	for (uint64_t nth = 1; fine && failed && !*rc; nth++) {
		struct as_recovered got;

		(void)as_recover_fail_read(r, nth);
		args->flight->alive++;
		*rc = as_recover(r, args->way, crashed, 0, &got, err);
		failed = as_recover_fail_read(r, 0);
		args->counts->faulty++;
		if (!*rc && failed)
			fine = judge(args, &got, tree, nth, problem);
		as_recovered_free(&got);
	}
	return fine;
}
