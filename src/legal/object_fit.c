/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * object_fit: which inodes of the model can be this node of a tree, if each inode and each name is
 * what it was at some point since it was made stable; and in words why none can. A node fits an
 * inode by each of its names, by type, attributes and data, and by how many names it has.
 */
#include "legal/object_priv.h"

#include <sys/stat.h>

/* ---- Names ---- */

struct as_object_name as_object_name_of(const struct as_object *o, uint32_t at)
{
	const struct as_legal_judge *j = o->j;
	const struct as_tree_node *node = as_tree_at(j->tree, at);
	uint32_t e = as_history_edge_find(j->h, j->ino[node->parent], node->name);
	const struct as_history_promise *by;
	struct as_object_name name = { 0 };

	if (e == UINT32_MAX)
		return name;
	name.edge = &j->h->edge[e];
	name.since = as_fsync_name_since(j, name.edge, &by);
	return name;
}

/* The i-th target of the name was there since it was stable. */
static bool is_open(const struct as_object *o, const struct as_object_name *name, uint32_t i)
{
	const struct as_history_edge *edge = name->edge;
	uint32_t end = i + 1 < edge->n ? edge->v[i + 1].point : UINT32_MAX;

	return edge->v[i].ino && edge->v[i].point <= o->j->hi && end > name->since;
}

static bool leads_to(const struct as_object *o, const struct as_object_name *name, uint32_t ino)
{
	for (uint32_t i = 0; name->edge && i < name->edge->n; i++)
		if (name->edge->v[i].ino == ino && is_open(o, name, i))
			return !as_fsync_lost_name(o->j, name->edge, ino);
	return false;
}

const struct as_history_edge *as_object_missing_name(const struct as_object *o, uint32_t at,
						     uint32_t ino,
						     const struct as_history_promise **by)
{
	const struct as_legal_judge *j = o->j;
	const struct as_history_inode *dir = &j->h->inode[j->ino[at]];

	for (uint32_t i = 0; i < dir->n_edges; i++) {
		const struct as_history_edge *edge = &j->h->edge[dir->edge[i]];
		uint32_t since = as_fsync_name_since(j, edge, by);
		uint32_t target = as_history_edge_at(edge, since);
		bool same = target && (!ino || ino == target);

		for (uint32_t k = 0; same && k < edge->n; k++)
			same = edge->v[k].point <= since || edge->v[k].point > j->hi;
		if (same && as_tree_child(j->tree, at, edge->name) == AS_TREE_NONE)
			return edge;
	}
	return NULL;
}

/* ---- One node ---- */

static bool attrs_fit(const struct as_object *o, uint32_t ino, const struct as_tree_node *node,
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

/* As many names as it had at some time since its attributes were stable. */
static bool count_fits(const struct as_object *o, uint32_t ino, const struct as_tree_node *node,
		       uint32_t since)
{
	const struct as_history_inode *inode = &o->j->h->inode[ino];
	uint32_t first = as_history_version_index(inode, since);
	bool had_more = false;

	if (S_ISDIR(node->mode))
		return true;
	for (uint32_t i = first == UINT32_MAX ? 0 : first; i < inode->n; i++) {
		if (inode->v[i].point > o->j->hi)
			break;
		if (inode->v[i].nlink == node->names)
			return true;
		had_more |= inode->v[i].nlink > node->names;
	}
	/* It may have lost a name to another file. */
	return had_more && as_fsync_is_overtaken(o->j, ino, since);
}

/* In the order in which the nearest inode is chosen to speak of. */
enum fit { OTHER_TYPE, OTHER_NAME, OTHER_ATTRS, OTHER_DATA, OTHER_COUNT, FITS };

static enum fit fit(const struct as_object *o, uint32_t ino, uint32_t at,
		    struct as_legal_fault *fault)
{
	const struct as_tree_node *node = as_tree_at(o->j->tree, at);
	const struct as_history_promise *by;
	uint32_t since = as_fsync_attrs_since(o->j, ino, &by);

	if ((o->j->h->inode[ino].v[0].mode & S_IFMT) != (node->mode & S_IFMT))
		return OTHER_TYPE;
	for (uint32_t i = o->next_name[at]; i != AS_TREE_NONE; i = o->next_name[i]) {
		struct as_object_name name = as_object_name_of(o, i);

		if (!leads_to(o, &name, ino))
			return OTHER_NAME;
	}
	if (!attrs_fit(o, ino, node, since))
		return OTHER_ATTRS;
	if (S_ISREG(node->mode) && (!as_legal_data_ok(o->j, ino, node, NO_POINT, fault) ||
				    !as_legal_rest_ok(o->j, ino, node, fault)))
		return OTHER_DATA;
	return count_fits(o, ino, node, since) ? FITS : OTHER_COUNT;
}

bool as_object_fits(const struct as_object *o, const struct as_object_name *name, uint32_t i,
		    uint32_t at)
{
	uint32_t ino = name->edge->v[i].ino;
	struct as_legal_fault fault = { 0 };

	if (!is_open(o, name, i) || as_fsync_lost_name(o->j, name->edge, ino))
		return false;
	for (uint32_t k = i + 1; k < name->edge->n; k++)
		if (name->edge->v[k].ino == ino && is_open(o, name, k))
			return false;
	return fit(o, ino, at, &fault) == FITS;
}

bool as_object_root_fits(const struct as_object *o)
{
	return attrs_fit(o, ROOT_INO, as_tree_at(o->j->tree, 0), o->j->synced);
}

/* ---- Words ---- */

static void say_attrs(const struct as_object *o, uint32_t ino)
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

void as_object_say_root(const struct as_object *o)
{
	say_attrs(o, ROOT_INO);
}

static void say_name(const struct as_object *o, uint32_t node, const struct as_history_edge *edge)
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

static void say_lost_name(const struct as_object *o, uint32_t node,
			  const struct as_history_promise *by)
{
	struct as_legal_judge *j = o->j;

	as_legal_broken(j, AS_RULE_RENAME, by->op, "a name it no longer has");
	as_legal_after(j, by);
	as_tree_path(j->tree, node, &j->verdict->why);
	as_buf_adds(&j->verdict->why, " is no name of that file any more; recovered tree has it");
}

void as_object_say_taken(const struct as_object *o, uint32_t at)
{
	struct as_legal_judge *j = o->j;

	as_legal_broken(j, AS_RULE_OBJECT, AS_LEGAL_NO_OP, "another file under this name");
	as_tree_path(j->tree, at, &j->verdict->why);
	as_buf_adds(&j->verdict->why, " is not the file that this name led to");
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

/* A name of the inode is missing that has to be there; true: said. All directories are chosen. */
static bool say_lacks(const struct as_object *o, uint32_t ino)
{
	for (uint32_t i = 0; i <= o->n_dirs; i++) {
		const struct as_history_promise *by;
		uint32_t at = i ? o->dir[i - 1] : 0;
		const struct as_history_edge *edge = as_object_missing_name(o, at, ino, &by);

		if (edge) {
			as_object_say_no_name(o, at, edge, by);
			return true;
		}
	}
	return false;
}

/* The inode has more or fewer names than it ever had. */
static void say_count(const struct as_object *o, uint32_t at, uint32_t ino)
{
	struct as_legal_judge *j = o->j;
	size_t rename = renamed_since(j, ino, j->synced);
	struct as_buf *why = &j->verdict->why;

	if (say_lacks(o, ino))
		return;
	if (rename == AS_LEGAL_NO_OP) {
		as_legal_broken(j, AS_RULE_LINKS, rename,
				"more or fewer names than it ever had since");
		as_tree_path(j->tree, at, why);
		as_buf_addf(why, " has %u names in the recovered tree, which it never had since",
			    as_tree_at(j->tree, at)->names);
		return;
	}
	as_legal_broken(j, AS_RULE_RENAME, rename, "both names");
	as_history_op_words(j->h, rename, why);
	as_buf_adds(why, " is half done: recovered tree has the same file as ");
	as_tree_path(j->tree, at, why);
	for (uint32_t i = o->next_name[at]; i != AS_TREE_NONE; i = o->next_name[i]) {
		as_buf_adds(why, " and as ");
		as_tree_path(j->tree, i, why);
	}
}

/* One of the names can lead nowhere any more, whatever the node is; true: said. */
static bool say_names(const struct as_object *o, uint32_t at)
{
	for (; at != AS_TREE_NONE; at = o->next_name[at]) {
		struct as_object_name name = as_object_name_of(o, at);
		const struct as_history_promise *lost = NULL;
		bool open = false;

		for (uint32_t i = 0; name.edge && i < name.edge->n; i++)
			open |= is_open(o, &name, i);
		if (!open) {
			say_name(o, at, name.edge);
			return true;
		}
		for (uint32_t i = 0; i < name.edge->n && open; i++)
			if (is_open(o, &name, i)) {
				lost = as_fsync_lost_name(o->j, name.edge, name.edge->v[i].ino);
				open = lost;
			}
		if (lost) {
			say_lost_name(o, at, lost);
			return true;
		}
	}
	return false;
}

void as_object_say_node(const struct as_object *o, uint32_t at)
{
	const struct as_history_promise *gone, *lost = NULL;
	struct as_legal_fault fault = { 0 }, best_fault = { 0 };
	enum fit best = OTHER_TYPE, now;
	struct as_object_name name;
	uint32_t best_ino = 0;

	if (say_names(o, at))
		return;
	name = as_object_name_of(o, at);
	for (uint32_t i = name.edge->n; i-- > 0;) {
		if (!is_open(o, &name, i))
			continue;
		gone = as_fsync_lost_name(o->j, name.edge, name.edge->v[i].ino);
		lost = gone ? gone : lost;
		now = fit(o, name.edge->v[i].ino, at, &fault);
		if (gone && now >= OTHER_COUNT) {
			best = OTHER_TYPE; /* it is that one */
			break;
		}
		if (!gone && now > best) {
			best = now;
			best_ino = name.edge->v[i].ino;
			best_fault = fault;
		}
	}
	if (best == OTHER_DATA)
		as_legal_say_fault(o->j, &best_fault, at);
	else if (best == OTHER_ATTRS)
		say_attrs(o, best_ino);
	else if (best == OTHER_COUNT)
		say_count(o, at, best_ino);
	else if (lost)
		say_lost_name(o, at, lost);
	else
		as_object_say_taken(o, at);
}

void as_object_say_missing(const struct as_object *o, uint32_t ino)
{
	struct as_legal_judge *j = o->j;
	const struct as_history_promise *by;
	uint32_t since;
	size_t rename;

	(void)as_fsync_exists_since(j, ino, &since, &by);
	rename = renamed_since(j, ino, since);
	if (rename != AS_LEGAL_NO_OP) {
		as_legal_broken(j, AS_RULE_RENAME, rename, "neither name");
		as_history_op_words(j->h, rename, &j->verdict->why);
		as_buf_adds(&j->verdict->why, " is half done: recovered tree has neither ");
		as_history_path(j->h, ino, since, &j->verdict->why);
		as_buf_adds(&j->verdict->why, " nor ");
		as_history_path(j->h, ino, j->hi, &j->verdict->why);
		return;
	}
	as_legal_broken(j, AS_RULE_PERSISTED, by ? by->op : AS_LEGAL_NO_OP,
			"something stable is missing");
	as_legal_after(j, by);
	if (!as_legal_say_lack(j, ino, j->hi)) {
		as_history_path(j->h, ino, j->hi, &j->verdict->why);
		as_buf_adds(&j->verdict->why, " must exist; recovered tree has it not");
	}
}

void as_object_say_no_name(const struct as_object *o, uint32_t at,
			   const struct as_history_edge *edge, const struct as_history_promise *by)
{
	struct as_legal_judge *j = o->j;

	as_legal_broken(j, AS_RULE_PERSISTED, by ? by->op : AS_LEGAL_NO_OP,
			"a stable name is missing");
	as_legal_after(j, by);
	as_tree_path(j->tree, at, &j->verdict->why);
	as_buf_addf(&j->verdict->why, "%s%s must be there; recovered tree has it not",
		    at ? "/" : "", edge->name);
}
