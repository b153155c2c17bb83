/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * legal_object: file systems that write single objects into a log on fsync (btrfs, f2fs). Each
 * inode and each name is what it was at some point since it was made stable itself.
 *
 * Method. The tree is walked from the root. The name of a node, in its directory, tells which of
 * the model's inodes it can be: those that the name led to since it was stable last. It is taken to
 * be the first of them whose attributes and data match. What an fsync made stable, of a file or of
 * a directory, is said in fsync.c. Rules
 *   1. From a sync on until the next fsync, the tree is of one moment: what is not fsynced is
 *      written as a whole (a commit, a checkpoint).
 *   2. A name that has been the same ever since it was stable is there and leads to the same inode.
 *      An inode that has had a name ever since has one.
 */
#include "legal/legal_priv.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct object {
	struct as_legal_judge *j;
	uint32_t *names; /* by inode: nodes of the tree that are names of it */
};

/* ---- One node ---- */

static bool attrs_fit(const struct object *o, uint32_t ino, const struct as_tree_node *node,
		      uint32_t since)
{
	const struct as_history *h = o->j->h;
	const struct as_history_inode *inode = &h->inode[ino];
	uint32_t first = as_history_version_index(inode, since),
		 last = as_history_version_index(inode, o->j->hi);
	/* Link counts are looked at for the whole tree. */
	struct as_tree_node without = *node;
	struct as_digest got;

	without.nlink = 0;
	got = as_history_attrs_of_node(h, &without);
	for (uint32_t i = first == UINT32_MAX ? 0 : first; i <= last; i++) {
		struct as_history_version v = inode->v[i];

		v.nlink = 0;
		if (S_ISDIR(v.mode) && (h->traits->quirks & AS_QUIRK_DIR_NLINK_ONE))
			without.nlink = 1; /* as the version is made to say */
		if (as_digest_eq(as_history_attrs_of_version(h, &v),
				 without.nlink ? as_history_attrs_of_node(h, &without) : got))
			return true;
	}
	return false;
}

enum fit { FITS, OTHER_TYPE, OTHER_ATTRS, OTHER_DATA };

static enum fit node_fits(const struct object *o, uint32_t ino, uint32_t node_at,
			  struct as_legal_fault *fault)
{
	const struct as_tree_node *node = as_tree_at(o->j->tree, node_at);
	const struct as_history_version *v = &o->j->h->inode[ino].v[0];
	const struct as_history_promise *by;
	uint32_t since = as_fsync_attrs_since(o->j, ino, &by);

	if ((v->mode & S_IFMT) != (node->mode & S_IFMT))
		return OTHER_TYPE;
	/* Names of one file are one inode, and of no other. */
	if (node->twin < node_at && o->j->ino[node->twin] != ino)
		return OTHER_TYPE;
	if (node->twin == node_at && o->names[ino])
		return OTHER_TYPE;
	if (!attrs_fit(o, ino, node, since))
		return OTHER_ATTRS;
	if (S_ISREG(node->mode) && node->twin == node_at &&
	    !as_legal_data_ok(o->j, ino, node, NO_POINT, fault))
		return OTHER_DATA;
	return FITS;
}

static void say_attrs(const struct object *o, uint32_t ino)
{
	const struct as_history_promise *by;
	struct as_legal_judge *j = o->j;

	(void)as_fsync_attrs_since(o->j, ino, &by);
	as_legal_broken(j, by ? AS_RULE_PERSISTED : AS_RULE_OBJECT, by ? by->op : AS_LEGAL_NO_OP,
			"attributes it did not have since");
	as_legal_after(j, by);
	if (!as_legal_say_lack(j, ino, j->hi)) {
		as_buf_adds(&j->verdict->why, "attributes of ");
		as_history_path(j->h, ino, j->hi, &j->verdict->why);
		as_buf_adds(&j->verdict->why, " are of no moment since");
	}
}

static void say_name(const struct object *o, uint32_t node, const struct as_history_edge *edge)
{
	struct as_legal_judge *j = o->j;
	const struct as_history_promise *by = NULL;
	bool known = false;

	for (uint32_t i = 0; edge && i < edge->n; i++)
		known |= edge->v[i].ino && edge->v[i].point <= j->hi;
	if (edge)
		(void)as_fsync_name_since(o->j, edge, &by);
	if (!known) {
		as_legal_broken(j, AS_RULE_OBJECT, AS_LEGAL_NO_OP, "a name nobody gave");
		as_tree_path(j->tree, node, &j->verdict->why);
		as_buf_adds(&j->verdict->why,
			    " is in the recovered tree; no operation ever made it");
		return;
	}
	as_legal_broken(j, AS_RULE_RESURRECTED, by ? by->op : AS_LEGAL_NO_OP, "a removed name");
	as_legal_after(j, by);
	as_tree_path(j->tree, node, &j->verdict->why);
	as_buf_adds(&j->verdict->why, " is removed for good; recovered tree has it again");
}

static void say_lost_name(const struct object *o, uint32_t node,
			  const struct as_history_promise *by)
{
	struct as_legal_judge *j = o->j;

	as_legal_broken(j, AS_RULE_RENAME, by->op, "a name it no longer has");
	as_legal_after(j, by);
	as_tree_path(j->tree, node, &j->verdict->why);
	as_buf_adds(&j->verdict->why, " is no name of that file any more; recovered tree has it");
}

/* Which inode is this node? Fills j->ino; false: none, and the verdict says why. */
static bool place_node(struct object *o, uint32_t at)
{
	struct as_legal_judge *j = o->j;
	const struct as_tree_node *node = as_tree_at(j->tree, at);
	uint32_t dir = j->ino[node->parent], e = as_history_edge_find(j->h, dir, node->name), since;
	const struct as_history_promise *by, *lost = NULL;
	struct as_legal_fault fault = { 0 }, first_fault = { 0 };
	enum fit best = OTHER_TYPE;
	uint32_t best_ino = 0;
	const struct as_history_edge *edge;

	if (e == UINT32_MAX) {
		say_name(o, at, NULL);
		return false;
	}
	edge = &j->h->edge[e];
	since = as_fsync_name_since(o->j, edge, &by);
	for (uint32_t i = edge->n; i-- > 0;) {
		uint32_t end = i + 1 < edge->n ? edge->v[i + 1].point : UINT32_MAX;
		uint32_t ino = edge->v[i].ino;
		const struct as_history_promise *gone;
		enum fit fit;

		if (!ino || edge->v[i].point > j->hi || end <= since)
			continue;
		gone = as_fsync_lost_name(o->j, edge, ino);
		if (gone) {
			lost = gone;
			continue;
		}
		fit = node_fits(o, ino, at, &fault);
		if (fit == FITS) {
			j->ino[at] = ino;
			o->names[ino]++;
			return true;
		}
		if (fit > best || !best_ino) {
			best = fit;
			best_ino = ino;
			first_fault = fault;
		}
	}
	if (best == OTHER_DATA)
		as_legal_say_fault(j, &first_fault, at);
	else if (best == OTHER_ATTRS)
		say_attrs(o, best_ino);
	else if (lost)
		say_lost_name(o, at, lost);
	else if (!best_ino)
		say_name(o, at, edge);
	else {
		as_legal_broken(j, AS_RULE_OBJECT, AS_LEGAL_NO_OP, "another file under this name");
		as_tree_path(j->tree, at, &j->verdict->why);
		as_buf_adds(&j->verdict->why, " is not the file that this name led to");
	}
	return false;
}

/* ---- The whole ---- */

static bool is_linked_from(const struct as_legal_judge *j, uint32_t ino, uint32_t since)
{
	const struct as_history_inode *inode = &j->h->inode[ino];
	uint32_t first = as_history_version_index(inode, since),
		 last = as_history_version_index(inode, j->hi);

	if (first == UINT32_MAX)
		return false;
	for (uint32_t i = first; i <= last; i++)
		if (!inode->v[i].linked)
			return false;
	return true;
}

/* A rename since then that took it from one name to another. */
static size_t renamed_since(const struct as_legal_judge *j, uint32_t ino, uint32_t since)
{
	const struct as_history_inode *inode = &j->h->inode[ino];

	for (uint32_t i = inode->n; i-- > 0;) {
		const struct as_history_point *point = &j->h->point[inode->v[i].point];
		enum as_opcode code;

		if (inode->v[i].point > j->hi || inode->v[i].point <= since ||
		    !(inode->v[i].what & AS_CHANGE_LINKS))
			continue;
		code = j->h->ops->ops[point->op].code;
		if (as_op_table[code].path[1] == AS_PATHS_TO)
			return point->op;
	}
	return AS_LEGAL_NO_OP;
}

static bool all_exist(struct object *o)
{
	struct as_legal_judge *j = o->j;

	for (uint32_t ino = 2; ino < j->h->n_inodes; ino++) {
		const struct as_history_promise *by;
		uint32_t since;
		size_t rename;

		if (!j->h->inode[ino].n || o->names[ino] ||
		    !as_fsync_exists_since(o->j, ino, &since, &by) ||
		    !is_linked_from(j, ino, since))
			continue;
		rename = renamed_since(j, ino, since);
		if (rename != AS_LEGAL_NO_OP) {
			as_legal_broken(j, AS_RULE_RENAME, rename, "neither name");
			as_history_op_words(j->h, rename, &j->verdict->why);
			as_buf_adds(&j->verdict->why, " is half done: recovered tree has neither ");
			as_history_path(j->h, ino, since, &j->verdict->why);
			as_buf_adds(&j->verdict->why, " nor ");
			as_history_path(j->h, ino, j->hi, &j->verdict->why);
			return false;
		}
		as_legal_broken(j, AS_RULE_PERSISTED, by ? by->op : AS_LEGAL_NO_OP,
				"something stable is missing");
		as_legal_after(j, by);
		if (!as_legal_say_lack(j, ino, j->hi)) {
			as_history_path(j->h, ino, j->hi, &j->verdict->why);
			as_buf_adds(&j->verdict->why, " must exist; recovered tree has it not");
		}
		return false;
	}
	return true;
}

/* Rule 2, of names. */
static bool all_names(struct object *o)
{
	struct as_legal_judge *j = o->j;

	for (uint32_t at = 0; at < as_tree_len(j->tree); at++) {
		const struct as_history_inode *dir = &j->h->inode[j->ino[at]];

		if (!S_ISDIR(as_tree_at(j->tree, at)->mode))
			continue;
		for (uint32_t i = 0; i < dir->n_edges; i++) {
			const struct as_history_edge *edge = &j->h->edge[dir->edge[i]];
			const struct as_history_promise *by;
			uint32_t since = as_fsync_name_since(o->j, edge, &by);
			uint32_t ino = as_history_edge_at(edge, since), child;
			bool same = ino;

			for (uint32_t k = 0; same && k < edge->n; k++)
				same = edge->v[k].point <= since || edge->v[k].point > j->hi;
			if (!same)
				continue;
			child = as_tree_child(j->tree, at, edge->name);
			if (child != AS_TREE_NONE && j->ino[child] == ino)
				continue;
			as_legal_broken(j, AS_RULE_PERSISTED, by ? by->op : AS_LEGAL_NO_OP,
					"a stable name is missing");
			as_legal_after(j, by);
			as_tree_path(j->tree, at, &j->verdict->why);
			as_buf_addf(&j->verdict->why,
				    "%s%s must be there; recovered tree has it not", at ? "/" : "",
				    edge->name);
			return false;
		}
	}
	return true;
}

/* A node whose inode has more or fewer names than it ever had. */
static void say_count(struct object *o, uint32_t at)
{
	struct as_legal_judge *j = o->j;
	size_t rename = renamed_since(j, j->ino[at], j->synced);
	struct as_buf *why = &j->verdict->why;

	if (rename == AS_LEGAL_NO_OP) {
		as_legal_broken(j, AS_RULE_LINKS, rename,
				"more or fewer names than it ever had since");
		as_tree_path(j->tree, at, why);
		as_buf_addf(why, " has %u names in the recovered tree, which it never had since",
			    o->names[j->ino[at]]);
		return;
	}
	as_legal_broken(j, AS_RULE_RENAME, rename, "both names");
	as_history_op_words(j->h, rename, why);
	as_buf_adds(why, " is half done: recovered tree has the same file as ");
	as_tree_path(j->tree, at, why);
	for (uint32_t i = at + 1; i < as_tree_len(j->tree); i++)
		if (as_tree_at(j->tree, i)->twin == at) {
			as_buf_adds(why, " and as ");
			as_tree_path(j->tree, i, why);
		}
}

/* As many names as it had at some time since. */
static bool all_counts(struct object *o)
{
	struct as_legal_judge *j = o->j;

	for (uint32_t at = 1; at < as_tree_len(j->tree); at++) {
		uint32_t ino = j->ino[at];
		const struct as_history_inode *inode = &j->h->inode[ino];
		const struct as_history_promise *by;
		uint32_t first =
			as_history_version_index(inode, as_fsync_attrs_since(o->j, ino, &by));
		bool ok = false, dir = S_ISDIR(as_tree_at(j->tree, at)->mode);

		if (as_tree_at(j->tree, at)->twin != at)
			continue;
		for (uint32_t i = first == UINT32_MAX ? 0 : first; i < inode->n; i++)
			if (inode->v[i].point <= j->hi)
				ok |= (dir ? 1 : inode->v[i].nlink) == o->names[ino];
		if (ok)
			continue;
		say_count(o, at);
		return false;
	}
	return true;
}

/* Nothing was fsynced alone since the last sync, nor is it just now: rule 1. */
static bool is_whole(const struct as_legal_judge *j)
{
	uint32_t n = j->n_promises;

	while (n < j->h->n_promises && j->h->promise[n].op < j->moment.begun)
		n++;
	return !n || (n == j->n_promises && j->h->promise[n - 1].what.kind == AS_PERSIST_ALL);
}

bool as_legal_object(struct as_legal_judge *j)
{
	struct object o = { .j = j };
	bool ok = true;

	if (is_whole(j))
		return as_legal_prefix(j);
	if (!as_legal_links_ok(j))
		return false;
	o.names = as_xcalloc(j->h->n_inodes, sizeof(*o.names));
	j->ino[0] = ROOT_INO;
	o.names[ROOT_INO] = 1;
	if (!attrs_fit(&o, ROOT_INO, as_tree_at(j->tree, 0), j->synced)) {
		say_attrs(&o, ROOT_INO);
		ok = false;
	}
	for (uint32_t i = 1; ok && i < as_tree_len(j->tree); i++)
		ok = place_node(&o, i);
	ok = ok && all_exist(&o) && all_names(&o) && all_counts(&o);
	free(o.names);
	return ok;
}
