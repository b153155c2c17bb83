/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * legal_explain: why a tree is none of the states that are still possible. The reasons are tried
 * from the most telling to the least: a state from before a promise, a rename half done, link
 * counts that do not add up, something removed that is back, something missing that every possible
 * state has, one operation half done. If it is none of these, the nearest state is named, and how
 * the tree differs from it.
 */
#include "legal/legal_priv.h"

#include <string.h>
#include <sys/stat.h>

#define NEAREST_MAX 100u

/* The points from lo on are possible; `by` made lo stable. */
struct window {
	uint32_t lo;
	const struct as_history_promise *by;
	struct as_digest shape;
};

/* The node of an inode of the model; AS_TREE_NONE: it is not where it was at that point. */
static uint32_t node_of(const struct as_legal_judge *j, uint32_t ino, uint32_t point)
{
	struct as_buf path = { 0 };
	uint32_t at;

	if (!as_history_there(j->h, ino, point))
		return AS_TREE_NONE;
	as_history_path(j->h, ino, point, &path);
	at = as_tree_find(j->tree, as_buf_str(&path));
	as_buf_free(&path);
	return at;
}

static void edge_path(const struct as_legal_judge *j, const struct as_history_edge *edge,
		      uint32_t point, struct as_buf *out)
{
	if (edge->dir != ROOT_INO)
		as_history_path(j->h, edge->dir, point, out);
	as_buf_addf(out, "/%s", edge->name);
}

static uint32_t edge_node(const struct as_legal_judge *j, const struct as_history_edge *edge,
			  uint32_t point)
{
	uint32_t dir = node_of(j, edge->dir, point);

	return dir == AS_TREE_NONE ? AS_TREE_NONE : as_tree_child(j->tree, dir, edge->name);
}

/* ---- Renames ---- */

/* The inode has had one name all the time since lo. */
static bool always_one_name(const struct as_legal_judge *j, uint32_t ino, uint32_t lo)
{
	const struct as_history_inode *inode = &j->h->inode[ino];
	uint32_t first = as_history_version_index(inode, lo),
		 last = as_history_version_index(inode, j->hi);

	if (first == UINT32_MAX)
		return false;
	for (uint32_t i = first; i <= last; i++)
		if (!inode->v[i].linked || (!S_ISDIR(inode->v[i].mode) && inode->v[i].nlink != 1))
			return false;
	return true;
}

static const struct as_history_edge *moved_edge(const struct as_legal_judge *j, uint32_t point,
						uint32_t ino, bool to)
{
	for (uint32_t i = 0; i < j->h->n_edges; i++) {
		const struct as_history_edge *edge = &j->h->edge[i];
		uint32_t now = as_history_edge_at(edge, point),
			 before = as_history_edge_at(edge, point - 1);

		if (now != before && (to ? now : before) == ino)
			return edge;
	}
	return NULL;
}

/* The inode that a rename at this point moved. */
static uint32_t moved_inode(const struct as_legal_judge *j, uint32_t point)
{
	for (uint32_t ino = 1; ino < j->h->n_inodes; ino++) {
		const struct as_history_version *v = as_history_version_at(j->h, ino, point);

		if (v && v->point == point && (v->what & AS_CHANGE_LINKS) && v->linked &&
		    as_history_there(j->h, ino, point - 1))
			return ino;
	}
	return 0;
}

/* The old name was made again after the rename: the file then had both. */
static bool had_both(const struct as_legal_judge *j, const struct as_history_edge *from,
		     const struct as_history_edge *to, uint32_t ino, uint32_t point)
{
	for (uint32_t p = point; p <= j->hi; p++)
		if (as_history_edge_at(from, p) == ino && as_history_edge_at(to, p) == ino)
			return true;
	return false;
}

static bool is_rename(const struct as_history *h, uint32_t point)
{
	enum as_opcode code = h->ops->ops[h->point[point].op].code;

	return as_op_table[code].path[1] == AS_PATHS_TO;
}

/* `nearest`: if the file was not there yet in the state that the tree is most like, nobody misses
 * it. */
static bool say_rename(struct as_legal_judge *j, const struct window *w, uint32_t nearest)
{
	for (uint32_t p = w->lo + 1; p <= j->hi; p++) {
		const struct as_history_edge *from, *to;
		struct as_buf *why = &j->verdict->why, a = { 0 }, b = { 0 };
		uint32_t ino, from_node, to_node;
		bool both, neither;

		if (!is_rename(j->h, p) || !(ino = moved_inode(j, p)))
			continue;
		from = moved_edge(j, p, ino, false);
		to = moved_edge(j, p, ino, true);
		if (!from || !to)
			continue;
		from_node = edge_node(j, from, p - 1);
		to_node = edge_node(j, to, p);
		both = from_node != AS_TREE_NONE && to_node != AS_TREE_NONE &&
		       as_tree_at(j->tree, from_node)->twin == as_tree_at(j->tree, to_node)->twin &&
		       !had_both(j, from, to, ino, p);
		neither = from_node == AS_TREE_NONE && to_node == AS_TREE_NONE &&
			  always_one_name(j, ino, p - 1) && as_history_there(j->h, ino, nearest);
		if (!both && !neither)
			continue;
		edge_path(j, from, p - 1, &a);
		edge_path(j, to, p, &b);
		as_legal_broken(j, AS_RULE_RENAME, j->h->point[p].op,
				both ? "both names" : "neither name");
		as_history_op_words(j->h, j->h->point[p].op, why);
		as_buf_addf(why,
			    both ? " is half done: recovered tree has the same file as %s and as %s"
				 : " is half done: recovered tree has neither %s nor %s",
			    as_buf_str(&a), as_buf_str(&b));
		as_buf_free(&a);
		as_buf_free(&b);
		return true;
	}
	return false;
}

/* ---- Before a promise ---- */

/* The first promise that a state of this point breaks. */
static const struct as_history_promise *first_broken(const struct as_legal_judge *j, uint32_t point)
{
	for (uint32_t i = 0; i < j->n_promises; i++)
		if (j->h->promise[i].floor > point)
			return &j->h->promise[i];
	return NULL;
}

/* Names an inode that the promise covers and that is not in the tree as it was. */
static bool say_covered(struct as_legal_judge *j, const struct as_history_promise *promise)
{
	if (promise->what.kind == AS_PERSIST_INODE || promise->what.kind == AS_PERSIST_DATA) {
		if (as_legal_say_lack(j, promise->what.ino, promise->point))
			return true;
	}
	/* What is missing says more than what is different. */
	for (uint32_t ino = 1; ino < j->h->n_inodes; ino++)
		if (as_history_there(j->h, ino, promise->floor) &&
		    node_of(j, ino, promise->floor) == AS_TREE_NONE)
			return as_legal_say_lack(j, ino, promise->floor);
	for (uint32_t ino = 1; ino < j->h->n_inodes; ino++)
		if (as_history_there(j->h, ino, promise->floor) &&
		    as_legal_say_lack(j, ino, promise->floor))
			return true;
	return false;
}

static bool say_too_old(struct as_legal_judge *j, const struct window *w)
{
	for (uint32_t p = w->lo; p-- > 0;) {
		const struct as_history_promise *broken;
		struct as_buf signature = { 0 };

		if (!as_digest_eq(j->h->point[p].shape, w->shape))
			continue;
		broken = first_broken(j, p);
		as_buf_addf(&signature, "a state from before %s",
			    as_op_table[j->h->ops->ops[broken->op].code].name);
		as_legal_broken(j, AS_RULE_PERSISTED, broken->op, as_buf_str(&signature));
		as_buf_free(&signature);
		as_legal_after(j, broken);
		if (!say_covered(j, broken))
			as_buf_adds(&j->verdict->why, "the recovered tree is older than that");
		return true;
	}
	return false;
}

/* ---- Removed, and back ---- */

/* The last inode that the edge led to in lo..hi; 0: it led nowhere. */
static uint32_t last_target(const struct as_history_edge *edge, uint32_t lo, uint32_t hi)
{
	for (uint32_t i = edge->n; i-- > 0;) {
		uint32_t end = i + 1 < edge->n ? edge->v[i + 1].point : UINT32_MAX;

		if (edge->v[i].ino && edge->v[i].point <= hi && end > lo)
			return edge->v[i].ino;
	}
	return 0;
}

/* The first promise that covers the removal of a name. */
static const struct as_history_promise *promise_of_removal(const struct as_legal_judge *j,
							   const struct as_history_edge *edge)
{
	uint32_t removed = 0;

	for (uint32_t i = 0; i < edge->n; i++)
		if (!edge->v[i].ino)
			removed = edge->v[i].point;
	for (uint32_t i = 0; i < j->n_promises; i++)
		if (j->h->promise[i].floor >= removed)
			return &j->h->promise[i];
	return NULL;
}

/* Names that no possible state has. Fills j->ino where the inode is known. */
static bool say_surplus(struct as_legal_judge *j, const struct window *w)
{
	j->ino[0] = ROOT_INO;
	for (uint32_t i = 1; i < as_tree_len(j->tree); i++) {
		const struct as_tree_node *node = as_tree_at(j->tree, i);
		uint32_t dir = j->ino[node->parent], e;
		const struct as_history_promise *by;

		j->ino[i] = 0;
		if (!dir)
			continue;
		e = as_history_edge_find(j->h, dir, node->name);
		if (e == UINT32_MAX || !last_target(&j->h->edge[e], 0, j->hi)) {
			as_legal_broken(j, AS_RULE_PREFIX, AS_LEGAL_NO_OP, "a name nobody gave");
			as_tree_path(j->tree, i, &j->verdict->why);
			as_buf_adds(&j->verdict->why,
				    " is in the recovered tree; no operation ever made it");
			return true;
		}
		j->ino[i] = last_target(&j->h->edge[e], w->lo, j->hi);
		if (j->ino[i])
			continue;
		by = promise_of_removal(j, &j->h->edge[e]);
		as_legal_broken(j, AS_RULE_RESURRECTED, by ? by->op : AS_LEGAL_NO_OP,
				"a removed name");
		as_legal_after(j, by);
		as_tree_path(j->tree, i, &j->verdict->why);
		as_buf_adds(&j->verdict->why, " is removed for good; recovered tree has it again");
		return true;
	}
	return false;
}

/* ---- The nearest state ---- */

/* A state of the model against the tree, names and attributes only. */
struct distance {
	const struct as_legal_judge *j;
	const struct as_tree *want;
	unsigned count; /* names that are missing, too many or different */
	uint32_t missing, other; /* the first of each, nodes of `want` */
	uint32_t surplus; /* the first, a node of the tree */
};

static void measure(struct distance *d, uint32_t want, uint32_t got)
{
	const struct as_tree *wt = d->want, *gt = d->j->tree;
	const struct as_tree_node *wn = as_tree_at(wt, want), *gn = as_tree_at(gt, got);
	uint32_t w = want + 1, g = got + 1;

	if (!as_digest_eq(as_history_attrs_of_node(d->j->h, wn),
			  as_history_attrs_of_node(d->j->h, gn))) {
		d->count++;
		if (d->other == AS_TREE_NONE)
			d->other = want;
	}
	while (w < wn->end || g < gn->end) {
		int cmp = w == wn->end	 ? 1
			  : g == gn->end ? -1
					 : strcmp(as_tree_at(wt, w)->name, as_tree_at(gt, g)->name);

		if (cmp == 0) {
			measure(d, w, g);
		} else if (cmp < 0) {
			d->count += as_tree_at(wt, w)->end - w;
			d->missing = d->missing == AS_TREE_NONE ? w : d->missing;
		} else {
			d->count += as_tree_at(gt, g)->end - g;
			d->surplus = d->surplus == AS_TREE_NONE ? g : d->surplus;
		}
		w = cmp <= 0 ? as_tree_at(wt, w)->end : w;
		g = cmp >= 0 ? as_tree_at(gt, g)->end : g;
	}
}

static struct distance distance_to(const struct as_legal_judge *j, const struct as_tree *want)
{
	struct distance d = {
		.j = j,
		.want = want,
		.missing = AS_TREE_NONE,
		.other = AS_TREE_NONE,
		.surplus = AS_TREE_NONE,
	};

	measure(&d, 0, 0);
	return d;
}

static uint32_t ino_at(const struct as_legal_judge *j, const struct as_tree *want, uint32_t node,
		       uint32_t point)
{
	const struct as_tree_node *n = as_tree_at(want, node);

	if (node == 0)
		return ROOT_INO;
	return as_history_child_at(j->h, ino_at(j, want, n->parent, point), n->name, point);
}

/* Whether a node of `want` (the state at a point) is the same in all possible states. */
static bool is_constant(const struct as_legal_judge *j, uint32_t lo, const struct as_tree *want,
			uint32_t node, uint32_t point)
{
	uint32_t ino = ino_at(j, want, node, point);
	const struct as_history_version *v = as_history_version_at(j->h, ino, point);

	for (uint32_t p = lo; p <= j->hi; p++) {
		const struct as_history_version *then = as_history_version_at(j->h, ino, p);

		if (ino_at(j, want, node, p) != ino || !then ||
		    !as_digest_eq(then->attrs, v->attrs))
			return false;
	}
	return true;
}

static void say_difference(struct as_legal_judge *j, const struct distance *d, uint32_t point)
{
	struct as_buf *why = &j->verdict->why;

	if (d->missing != AS_TREE_NONE) {
		as_tree_path(d->want, d->missing, why);
		as_buf_adds(why, " is missing");
	} else if (d->surplus != AS_TREE_NONE) {
		as_tree_path(j->tree, d->surplus, why);
		as_buf_adds(why, " should not be there");
	} else if (d->other != AS_TREE_NONE) {
		(void)as_legal_say_lack(j, ino_at(j, d->want, d->other, point), point);
	}
}

/* Whether all that differs from one of two successive states is as in the other: half an operation.
 */
static bool say_half(struct as_legal_judge *j, uint32_t point)
{
	struct as_tree *before = as_history_tree_at(j->h, point - 1),
		       *after = as_history_tree_at(j->h, point);
	struct distance to_before = distance_to(j, before), to_after = distance_to(j, after), apart;
	struct as_legal_judge between = *j;
	struct as_buf signature = { 0 };
	bool half;

	between.tree = after;
	apart = distance_to(&between, before);
	half = to_before.count && to_after.count && to_before.count + to_after.count <= apart.count;
	if (half) {
		size_t op = j->h->point[point].op;

		as_buf_addf(&signature, "half of %s", as_op_table[j->h->ops->ops[op].code].name);
		as_legal_broken(j, AS_RULE_ATOMIC, op, as_buf_str(&signature));
		as_history_op_words(j->h, op, &j->verdict->why);
		as_buf_adds(&j->verdict->why, " is half done: ");
		say_difference(j, &to_after, point);
	}
	as_buf_free(&signature);
	as_tree_put(before);
	as_tree_put(after);
	return half;
}

static uint32_t nearest_point(const struct as_legal_judge *j, const struct window *w)
{
	uint32_t best = j->hi;
	unsigned count = UINT32_MAX;
	struct as_tree *want;
	struct distance d;

	for (uint32_t p = j->hi + 1; p-- > w->lo;) {
		/* Of very many points only both ends are tried: each costs a whole tree. */
		if (j->hi - p > NEAREST_MAX && p - w->lo > NEAREST_MAX)
			continue;
		want = as_history_tree_at(j->h, p);
		d = distance_to(j, want);
		as_tree_put(want);
		if (d.count < count) {
			count = d.count;
			best = p;
		}
	}
	return best;
}

static void say_nearest(struct as_legal_judge *j, const struct window *w, uint32_t best)
{
	struct as_tree *want = as_history_tree_at(j->h, best);
	struct distance d = distance_to(j, want);

	if (w->by && d.missing != AS_TREE_NONE && is_constant(j, w->lo, want, d.missing, best)) {
		as_legal_broken(j, AS_RULE_PERSISTED, w->by->op, "something stable is missing");
		as_legal_after(j, w->by);
		(void)as_legal_say_lack(j, ino_at(j, want, d.missing, best), best);
	} else if (w->by && d.other != AS_TREE_NONE && is_constant(j, w->lo, want, d.other, best)) {
		as_legal_broken(j, AS_RULE_PERSISTED, w->by->op, "something stable has changed");
		as_legal_after(j, w->by);
		(void)as_legal_say_lack(j, ino_at(j, want, d.other, best), best);
	} else if (!(best > w->lo && say_half(j, best)) &&
		   !(best < j->hi && say_half(j, best + 1))) {
		as_legal_broken(j, AS_RULE_PREFIX, AS_LEGAL_NO_OP, "no one moment");
		as_buf_adds(&j->verdict->why, "names and attributes are of no one moment");
		if (w->by) {
			as_buf_adds(&j->verdict->why, " since ");
			as_stable_promise_words(j->h, w->by, &j->verdict->why);
		}
		as_buf_adds(&j->verdict->why, "; nearest is ");
		as_history_point_words(j->h, best, &j->verdict->why);
		as_buf_adds(&j->verdict->why, ", but ");
		say_difference(j, &d, best);
	}
	as_tree_put(want);
}

void as_legal_explain_shape(struct as_legal_judge *j, uint32_t lo,
			    const struct as_history_promise *by)
{
	struct window w = { .lo = lo, .by = by, .shape = as_history_shape_of_tree(j->h, j->tree) };

	uint32_t nearest;

	if (say_too_old(j, &w))
		return;
	nearest = nearest_point(j, &w);
	if (!say_rename(j, &w, nearest) && as_legal_links_ok(j) && !say_surplus(j, &w))
		say_nearest(j, &w, nearest);
}
