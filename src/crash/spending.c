/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spending: see spending.h. */
#include "crash/spending.h"

struct as_spending as_spending_begin(const struct as_judge_args *args)
{
	return (struct as_spending){ args->flight->spent, args->flight->spent_again,
				     *args->counts };
}

/* The row, and those that count it again. */
static void add(const struct as_judge_args *args, unsigned row, unsigned column, uint64_t n)
{
	args->shares->n[row][column] += n;
	for (unsigned r = AS_SHARE_DIVIDED; r < AS_SHARE_ROWS; r++)
		if (args->modes >> r & 1)
			args->shares->n[r][column] += n;
}

static bool is_new(const struct as_judge_args *args, struct as_digest key)
{
	if (as_dedup_has(args->dedup, key))
		return false;
	as_dedup_add(args->dedup, key);
	return true;
}

void as_spending_end(const struct as_spending *t, const struct as_judge_args *args, unsigned view,
		     const struct as_ends *ends, const struct as_problem *problem)
{
	const struct as_crash_counts *c = args->counts, *b = &t->counts;
	unsigned row = AS_SHARE_VIEW_1 + view - 1;
	uint64_t again = args->flight->spent_again - t->spent_again;
	uint64_t spent = args->flight->spent - t->spent - again;

	args->flight->spent_view[view] += spent;
	add(args, row, AS_SHARE_STATES, c->generated - b->generated);
	add(args, row, AS_SHARE_COST, spent);
	add(args, row, AS_SHARE_DISKS, c->distinct - b->distinct);
	for (unsigned w = 0; w < AS_WAYS && c->distinct > b->distinct; w++)
		if (ends->end[w].tree &&
		    is_new(args, as_dedup_tree(args->recording, ends->end[w].tree)))
			add(args, row, AS_SHARE_TREES, 1);
	add(args, AS_SHARE_AGAIN, AS_SHARE_STATES, c->again - b->again);
	add(args, AS_SHARE_AGAIN, AS_SHARE_COST, again);
	add(args, AS_SHARE_AGAIN, AS_SHARE_DISKS,
	    c->again_checked + c->again_memoised - b->again_checked - b->again_memoised);
	if (problem->notice && is_new(args, as_dedup_problem(problem->notice->signature)))
		add(args, problem->then[0].view ? AS_SHARE_AGAIN : row, AS_SHARE_FOUND, 1);
}
