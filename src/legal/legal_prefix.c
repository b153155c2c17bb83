/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * legal_prefix: file systems that write a log in order. Names and attributes are those of one
 * point, not earlier than the last one that was made stable; for sizes and contents see
 * legal_data.c.
 */
#include "legal/legal_priv.h"

#include <sys/stat.h>

/* The point up to which all is stable, and the promise that says so. */
static uint32_t stable_point(const struct as_legal_judge *j, const struct as_history_promise **by)
{
	uint32_t lo = 0;

	*by = NULL;
	for (uint32_t i = 0; i < j->n_promises; i++)
		if (j->h->promise[i].floor >= lo) {
			/* Of two promises with the same floor, the first one is named. */
			if (j->h->promise[i].floor == lo && *by)
				continue;
			lo = j->h->promise[i].floor;
			*by = &j->h->promise[i];
		}
	return lo;
}

/* The model's inode of each node, when the shape is that of `point`; false: the shape is the same,
 * but not which names are one file. */
static bool map_nodes(const struct as_legal_judge *j, uint32_t point)
{
	uint32_t n = as_tree_len(j->tree);

	j->ino[0] = ROOT_INO;
	for (uint32_t i = 1; i < n; i++) {
		const struct as_tree_node *node = as_tree_at(j->tree, i);

		j->ino[i] = as_history_child_at(j->h, j->ino[node->parent], node->name, point);
		if (!j->ino[i] || j->ino[i] != j->ino[node->twin])
			return false;
		if (!S_ISDIR(node->mode) && node->names != node->nlink)
			return false;
	}
	return true;
}

typedef bool files_ok(struct as_legal_judge *j, uint32_t i, uint32_t point,
		      struct as_legal_fault *fault);

static bool data_ok(struct as_legal_judge *j, uint32_t i, uint32_t point,
		    struct as_legal_fault *fault)
{
	return as_legal_data_ok(j, j->ino[i], as_tree_at(j->tree, i), point, fault);
}

/* Blocks and times: the same at all points. */
static bool rest_ok(struct as_legal_judge *j, uint32_t i, uint32_t point,
		    struct as_legal_fault *fault)
{
	(void)point;
	return as_legal_rest_ok(j, j->ino[i], as_tree_at(j->tree, i), fault);
}

/* How many files are wrong, `most` at the most; the fault is that of the first one. */
static uint32_t count_wrong(struct as_legal_judge *j, files_ok *ok, uint32_t point, uint32_t most,
			    struct as_legal_fault *fault, uint32_t *where)
{
	uint32_t n = as_tree_len(j->tree), wrong = 0;
	struct as_legal_fault other;

	for (uint32_t i = 1; i < n && wrong < most; i++) {
		const struct as_tree_node *node = as_tree_at(j->tree, i);

		if (node->twin != i || !S_ISREG(node->mode) ||
		    ok(j, i, point, wrong ? &other : fault))
			continue;
		if (!wrong++)
			*where = i;
	}
	return wrong;
}

static bool fits(struct as_legal_judge *j, uint32_t point)
{
	struct as_legal_fault fault;
	uint32_t where;

	return !count_wrong(j, data_ok, point, 1, &fault, &where) &&
	       !count_wrong(j, rest_ok, point, 1, &fault, &where);
}

/* No point fits. What is told is what is wrong at the point with the fewest wrong files, and of
 * several the latest, which a person expects: a file that is wrong at every point is told, and not
 * one that is only newer or older than another point has it. False: the tree is of no point. */
static bool explain_files(struct as_legal_judge *j, uint32_t lo, struct as_digest shape)
{
	struct as_legal_fault fault = { 0 }, best = { 0 };
	uint32_t least = UINT32_MAX, where = 0, at = 0, wrong;

	for (uint32_t p = j->hi + 1; p-- > lo;) {
		if (!as_digest_eq(j->h->point[p].shape, shape) || !map_nodes(j, p))
			continue;
		wrong = count_wrong(j, data_ok, p, least, &fault, &at);
		if (!wrong)
			(void)count_wrong(j, rest_ok, p, 1, &fault, &at);
		if (wrong < least) {
			least = wrong;
			best = fault;
			where = at;
		}
	}
	if (least != UINT32_MAX)
		as_legal_say_fault(j, &best, where);
	return least != UINT32_MAX;
}

/* The tree is legal: of which points can it be, by its names and attributes? */
static void span(struct as_legal_judge *j, uint32_t lo, struct as_digest shape)
{
	for (uint32_t p = lo; p <= j->hi; p++)
		if (as_digest_eq(j->h->point[p].shape, shape)) {
			if (j->verdict->oldest == AS_LEGAL_NO_POINT)
				j->verdict->oldest = p;
			j->verdict->newest = p;
		}
}

bool as_legal_prefix(struct as_legal_judge *j)
{
	const struct as_history_promise *by;
	uint32_t lo = stable_point(j, &by);
	struct as_digest shape = as_history_shape_of_tree(j->h, j->tree);

	for (uint32_t p = j->hi + 1; p-- > lo;)
		if (as_digest_eq(j->h->point[p].shape, shape) && map_nodes(j, p) && fits(j, p)) {
			span(j, lo, shape);
			return true;
		}
	if (!explain_files(j, lo, shape))
		as_legal_explain_shape(j, lo, by);
	return false;
}
