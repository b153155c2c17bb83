/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * legal_repair: file systems without a log (ext2, minix, vfat), which a checker repairs as well as
 * it can. What nobody touched since the last sync, and what was fsynced and not touched since, is
 * as it was; link counts add up. All else may be anything.
 *
 * A name is safe in a directory that nobody changed. In one that was changed, the checker may have
 * had to give up a name; what it led to must then be in lost+found, where the checker has one.
 */
#include "legal/legal_priv.h"

#include <string.h>
#include <sys/stat.h>

static bool same_attrs(const struct as_legal_judge *j, const struct as_history_version *v,
		       const struct as_tree_node *node)
{
	struct as_history_version version = *v;
	struct as_tree_node without = *node;

	/* The link count of a directory, or of what the checker gave a name, may differ. */
	version.nlink = without.nlink = 1;
	return as_digest_eq(as_history_attrs_of_version(j->h, &version),
			    as_history_attrs_of_node(j->h, &without));
}

/* Whether it is somewhere below lost+found; by type, size and contents. */
static bool rescued(const struct as_legal_judge *j, uint32_t ino)
{
	const struct as_history_version *v = as_history_version_at(j->h, ino, j->hi);
	uint32_t top = as_tree_find(j->tree, "/lost+found");
	struct as_legal_fault fault;

	if (top == AS_TREE_NONE)
		return false;
	for (uint32_t i = top + 1; i < as_tree_at(j->tree, top)->end; i++) {
		const struct as_tree_node *node = as_tree_at(j->tree, i);

		if (same_attrs(j, v, node) &&
		    (!S_ISREG(v->mode) || as_legal_data_ok(j, ino, node, NO_POINT, &fault)))
			return true;
	}
	return false;
}

static bool node_ok(struct as_legal_judge *j, uint32_t ino, uint32_t at)
{
	const struct as_tree_node *node = as_tree_at(j->tree, at);
	const struct as_history_promise *by;
	const struct as_history_version *v;
	struct as_legal_fault fault = { 0 };
	uint32_t since = as_fsync_untouched_since(j, ino, &by);

	if (since == NO_POINT)
		return true;
	v = as_history_version_at(j->h, ino, since);
	if (!same_attrs(j, v, node)) {
		as_legal_broken(j, AS_RULE_UNTOUCHED, by ? by->op : AS_LEGAL_NO_OP,
				"other attributes");
		as_legal_after(j, by);
		as_buf_adds(&j->verdict->why, "nobody touched ");
		as_history_path(j->h, ino, since, &j->verdict->why);
		as_buf_adds(&j->verdict->why, ", yet ");
		if (!as_legal_say_lack(j, ino, since))
			as_buf_adds(&j->verdict->why, "its attributes are not what they were");
		return false;
	}
	if (S_ISREG(v->mode) && !as_legal_data_ok(j, ino, node, NO_POINT, &fault)) {
		fault.by = by;
		as_legal_say_fault(j, &fault, at);
		return false;
	}
	return true;
}

static bool dir_ok(struct as_legal_judge *j, uint32_t ino, uint32_t at);

static bool name_ok(struct as_legal_judge *j, const struct as_history_edge *edge, uint32_t dir,
		    uint32_t at)
{
	uint32_t ino = as_history_edge_at(edge, j->synced), child;
	const struct as_history_promise *by;
	bool same = ino;

	for (uint32_t k = 0; same && k < edge->n; k++)
		same = edge->v[k].point <= j->synced || edge->v[k].point > j->hi;
	if (!same)
		return true;
	child = as_tree_child(j->tree, at, edge->name);
	if (child != AS_TREE_NONE) {
		if (!node_ok(j, ino, child))
			return false;
		return !S_ISDIR(as_tree_at(j->tree, child)->mode) || dir_ok(j, ino, child);
	}
	if (!as_fsync_is_untouched(j, dir, j->synced)) {
		/* Only an inode that nobody touched can be recognised. */
		if (!j->policy.lost_found || as_fsync_untouched_since(j, ino, &by) == NO_POINT ||
		    rescued(j, ino))
			return true;
	}
	as_legal_broken(j, AS_RULE_UNTOUCHED, j->synced_by ? j->synced_by->op : AS_LEGAL_NO_OP,
			"lost");
	as_legal_after(j, j->synced_by);
	as_buf_adds(&j->verdict->why, "nobody touched ");
	as_history_path(j->h, ino, j->synced, &j->verdict->why);
	as_buf_adds(&j->verdict->why, "; recovered tree has it neither there nor in lost+found");
	return false;
}

static bool dir_ok(struct as_legal_judge *j, uint32_t ino, uint32_t at)
{
	const struct as_history_inode *dir = &j->h->inode[ino];

	for (uint32_t i = 0; i < dir->n_edges; i++)
		if (!name_ok(j, &j->h->edge[dir->edge[i]], ino, at))
			return false;
	return true;
}

bool as_legal_repair(struct as_legal_judge *j)
{
	return as_legal_links_ok(j) && node_ok(j, ROOT_INO, 0) && dir_ok(j, ROOT_INO, 0);
}
