/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ends: see ends.h. */
#include "crash/ends.h"

#include "base/array.h"
#include "snapshot/tree.h"

#include <stdio.h>
#include <stdlib.h>

struct ends_key {
	const struct as_ends_known *known;
	struct as_digest key;
};

static bool is_known(const void *ctx, size_t index)
{
	const struct ends_key *k = ctx;

	return as_digest_eq(k->known->item[index].key, k->key);
}

struct as_ends *as_ends_get(struct as_ends_known *known, struct as_digest key)
{
	struct ends_key k = { known, key };
	uint64_t hash = as_mix64(key.lo ^ key.hi);
	size_t at = as_table_find(&known->index, hash, is_known, &k);

	if (at == AS_TABLE_NONE) {
		at = known->n;
		AS_ARRAY_ROOM(known->item, known->n, known->cap);
		known->item[known->n++] = (struct as_ends){ .key = key };
		as_table_add(&known->index, hash, at);
	}
	return &known->item[at];
}

void as_ends_keep(struct as_ended_way *end, const struct as_recovered *recovered)
{
	end->done = true;
	end->end = recovered->end;
	end->why = recovered->why.len ? as_xstrdup(as_buf_str(&recovered->why)) : NULL;
	end->tree = recovered->tree ? as_tree_get(recovered->tree) : NULL;
	end->counted = recovered->counted ? as_tree_get(recovered->counted) : NULL;
}

bool as_ends_keep_commit(struct as_ends *ends, const struct as_recovered *mounted,
			 struct as_disk *crashed)
{
	if (!mounted->tree || !mounted->disk || !as_disk_eq(mounted->disk, crashed))
		return false;
	as_ends_keep(&ends->end[AS_WAY_COMMIT], mounted);
	return true;
}

/* Whether the trees of two ways differ, and how. */
static bool differ(const struct as_ends *ends, enum as_way first, enum as_way way,
		   const struct as_history *history, struct as_buf *how)
{
	const struct as_tree *a = ends->end[first].tree, *b = ends->end[way].tree;
	struct as_tree *without;
	bool same;

	if (!as_tree_diff(a, as_way_name(first), b, as_way_name(way), how))
		return false;
	without = as_legal_without_found(history, b, false);
	same = without && !as_tree_diff(a, "", without, "", NULL);
	as_tree_put(without);
	return !same;
}

bool as_ends_agree(const struct as_ends *ends, uint32_t ways, const struct as_history *history,
		   struct as_problem *problem)
{
	enum as_way first = AS_WAYS;
	struct as_buf how = { 0 };
	char what[64];

	for (unsigned w = 0; w < AS_WAYS && !problem->notice; w++) {
		if (!(ways >> w & 1) || !ends->end[w].tree || w == AS_WAY_COMMIT)
			continue;
		if (first == AS_WAYS)
			first = (enum as_way)w;
		else if (differ(ends, first, (enum as_way)w, history, &how)) {
			snprintf(what, sizeof(what), "%s and %s do not agree", as_way_name(first),
				 as_way_name((enum as_way)w));
			(void)as_problem_set_tree(problem, AS_FIND_RECOVERY, (enum as_way)w, what,
						  as_buf_str(&how));
		}
	}
	as_buf_free(&how);
	return !problem->notice;
}

void as_ends_free(struct as_ends_known *known)
{
	for (size_t i = 0; i < known->n; i++)
		for (unsigned w = 0; w < AS_WAYS; w++) {
			free(known->item[i].end[w].why);
			as_tree_put(known->item[i].end[w].tree);
			as_tree_put(known->item[i].end[w].counted);
		}
	free(known->item);
	as_table_free(&known->index);
	*known = (struct as_ends_known){ 0 };
}
