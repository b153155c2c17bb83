/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * novel: what is new about a state, for the search that goes where the least was seen (FiSC section
 * 5.3). Each feature of a state is worth half as much every time that it is seen (search.h).
 *   1. pending: how many writes a power cut may lose, and how many the last operation made. Without
 *      power cuts: how many operations are not stable.
 *   2. topology: the tree without names and contents: how many nodes there are of each type, depth,
 *      number of children, links and descriptors.
 *   3. partition: the last operation with its flags and the orders of magnitude of its length and
 *      offset, and what it answered: the partitions of IOCov.
 *   4. outcomes: kinds of answers that were seen for the first times while the state before it was
 *      expanded: its children are more likely to show others.
 *   5. code: with --kcov, places in the kernel that the last operation was the first to reach
 *      (code.c). They are worth the same every time, since no place is new twice.
 */
#include "check/worker_priv.h"

enum { PENDING, TOPOLOGY, PARTITION };

/* 0, 1, 2-3, 4-7, ... */
static uint64_t order(uint64_t n)
{
	return n ? 64 - (uint64_t)__builtin_clzll(n) : 0;
}

static uint64_t partition_of(const struct as_op *op, const struct as_outcome *got)
{
	uint64_t key = as_mix64((uint64_t)op->code << 32 ^ (uint64_t)op->flags);

	key = as_mix64(key + (order(op->len) << 8 | order((uint64_t)op->off)));
	return as_mix64(key +
			(got->ret < 0 ? 1000 + (uint64_t)got->err : order((uint64_t)got->ret)));
}

static int add_node(void *ctx, const char *path, const struct as_attrs *attrs)
{
	uint64_t *sum = ctx;
	uint64_t node = as_mix64((uint64_t)attrs->type << 32 | attrs->depth);

	(void)path;
	node = as_mix64(node + attrs->children);
	*sum += as_mix64(node + ((uint64_t)attrs->hardlinks << 32 | attrs->open));
	return 0;
}

static uint64_t topology_of(const struct as_model *model)
{
	uint64_t sum = as_model_mounted(model);

	(void)as_model_each(model, false, add_node, &sum);
	return sum;
}

void as_novel_answer(struct as_expander *w, const struct as_op *op, const struct as_outcome *got)
{
	unsigned err = got->ret < 0 ? (unsigned)got->err % AS_CHECK_ERRORS : 0;

	w->c->shared->answers[op->code * AS_CHECK_ERRORS + err] = true;
	if (w->c->options->search != AS_SEARCH_novelty)
		return;
	w->partition = partition_of(op, got);
	w->answers_worth += as_novelty_add(&w->c->shared->novelty, &w->partition, 1);
}

void as_novel_begin(struct as_expander *w)
{
	w->answers_worth = w->partition = w->places = 0;
}

struct as_novel as_novel_of(const struct as_expander *w)
{
	uint64_t pending = w->crashes ? as_crashes_pending(w->crashes) : as_past_len(w->past);

	return (struct as_novel){ .feature = { [PENDING] = as_mix64(pending),
					       [TOPOLOGY] = topology_of(w->trial.model),
					       [PARTITION] = w->partition },
				  .answers = w->answers_worth,
				  .places = w->places };
}
