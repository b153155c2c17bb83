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

enum files_fit { OTHER_DATA, OTHER_REST, FITS };

/* The rest is looked at where all data fits: it is the same at all points, so that it is what is
 * wrong, although at other points some data does not fit, either. */
static enum files_fit look_at_files(struct as_legal_judge *j, uint32_t point,
				    struct as_legal_fault *fault, uint32_t *where)
{
	uint32_t n = as_tree_len(j->tree);

	for (int rest = 0; rest < 2; rest++)
		for (uint32_t i = 1; i < n; i++) {
			const struct as_tree_node *node = as_tree_at(j->tree, i);

			if (node->twin != i || !S_ISREG(node->mode))
				continue;
			*where = i;
			if (!rest && !as_legal_data_ok(j, j->ino[i], node, point, fault))
				return OTHER_DATA;
			if (rest && !as_legal_rest_ok(j, j->ino[i], node, fault))
				return OTHER_REST;
		}
	return FITS;
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
	uint32_t lo = stable_point(j, &by), where = 0, at;
	struct as_digest shape = as_history_shape_of_tree(j->h, j->tree);
	struct as_legal_fault fault = { 0 }, first = { 0 };
	enum files_fit best = FITS, fits;

	for (uint32_t p = j->hi + 1; p-- > lo;) {
		if (!as_digest_eq(j->h->point[p].shape, shape) || !map_nodes(j, p))
			continue;
		fits = look_at_files(j, p, &fault, &at);
		if (fits == FITS) {
			span(j, lo, shape);
			return true;
		}
		/* The reason is told for the latest point: a person expects that one. */
		if (best == FITS || fits > best) {
			first = fault;
			where = at;
			best = fits;
		}
	}
	if (best != FITS)
		as_legal_say_fault(j, &first, where);
	else
		as_legal_explain_shape(j, lo, by);
	return false;
}
