/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * linear_touch: which inodes each call changed, and so which answers may be left open.
 *
 * Method. An answer that tells of an inode can be a mixture of two states only if another call
 * changed that inode at the same moment. What a call changed is seen by comparing the model before
 * and after it: a persistent structure shares what did not change, so this costs no more than the
 * change. The call that changed the inode may come earlier in the order than the answer, or later:
 * its effects can be seen in part before the moment at which it counts as done. In the second case
 * the state keeps a promise: a call that overlapped the answer and is still to come must change
 * this inode. A path on which nobody is left to keep it explains nothing.
 *
 * Invariants
 *   1. An inode made by a call has the same number in every order, if any call is watched, and in a
 *      graph. Without that, orders that differ only in who made a file first would be different
 *      states. A call makes at most one: the file itself, also one without a name (O_TMPFILE), or
 *      the whiteout of a rename.
 *   2. x->touch[k] says what call k changed on the path that the search is on, if k is watched and
 *      is done or begun there; of other calls it says nothing.
 *   3. Two states are the same only if their promises are, and what the calls changed that answers
 *      still to come may refer to.
 *   4. Where this file does not know, it excuses: a report is never due to what it does not know.
 */
#include "model/rules/rule.h"
#include "model/walk.h"
#include "race/linear_priv.h"

#include <errno.h>
#include <string.h>

/* ---- What a call changes ---- */

static unsigned changes_of(const struct as_linear_call *c)
{
	unsigned changes = as_op_table[c->op->code].changes;

	if (c->op->code == AS_OP_OPEN)
		changes = (c->op->flags & AS_O_CREAT ? AS_CHANGES_NAMES : 0u) |
			  (c->op->flags & AS_O_TRUNC ? AS_CHANGES_DATA : 0u);
	return changes & (AS_CHANGES_NAMES | AS_CHANGES_DATA | AS_CHANGES_ATTRS);
}

/* A refused call changes nothing, except for a while: what was done is undone when the disk is full
 * (ext4_link() counts first), or when it is late that something else is found to be in the way
 * (ext4_rename() puts the whiteout in place before it looks at the target). */
static bool undid(const struct as_linear_call *c)
{
	static const int late[] = { ENOSPC, EDQUOT, EIO, ENOMEM, ENOTEMPTY, EMLINK };

	for (size_t i = 0; i < sizeof(late) / sizeof(late[0]) && c->got.ret < 0; i++)
		if (c->got.err == late[i])
			return true;
	/* A store that ended at a page that others had cut off. */
	return c->got.ret < 0 && c->got.done;
}

static bool same_links(const struct as_inode *a, const struct as_inode *b)
{
	if (a->nlink != b->nlink || (a->flags & INODE_MANY) != (b->flags & INODE_MANY))
		return false;
	if (!(a->flags & INODE_MANY))
		return a->link.parent == b->link.parent && a->link.name == b->link.name;
	for (uint32_t i = 0; i < a->many->n && a->many->n == b->many->n; i++)
		if (a->many->link[i].parent != b->many->link[i].parent ||
		    a->many->link[i].name != b->many->link[i].name)
			return false;
	return a->many->n == b->many->n;
}

static void add_part(struct as_linear_touch *t, uint32_t ino, uint8_t what, uint64_t from,
		     uint64_t to)
{
	if (t->n == LINEAR_CHANGES) {
		t->n = 0;
		ino = 0;
		what = LINEAR_ALL;
		from = 0;
		to = LINEAR_END;
	}
	t->part[t->n++] = (struct as_linear_part){ from, to, ino, what };
}

uint64_t as_linear_key(const char *name, size_t len)
{
	return as_hash64(name, len) >> 1;
}

/* The names of `a` that do not lead to the same inode in `b`. */
static void compare_names(const struct as_entry *a, struct as_entry *b, uint32_t dir,
			  struct as_linear_touch *t)
{
	const struct as_entry *other;
	uint64_t key;

	if (!a || a == b)
		return;
	compare_names(a->left, b, dir, t);
	other = as_entries_find(b, a->name->s, a->name->len);
	if (!other || other->ino != a->ino) {
		key = as_linear_key(a->name->s, a->name->len);
		add_part(t, dir, LINEAR_NAMES, key, key + 1);
	}
	compare_names(a->right, b, dir, t);
}

static uint64_t run_end(const struct as_data_run *run)
{
	return run->start + run->len;
}

/* Whether bytes at one offset are the same in both, where both have some. */
static bool same_bytes(const struct as_data_run *a, const struct as_data_run *b)
{
	return a->pattern == b->pattern &&
	       (!a->pattern || a->from - a->start == b->from - b->start);
}

/* Bytes outside of *from .. *to are the same in both. */
static void compare_runs(const struct as_runs *a, const struct as_runs *b, uint64_t *from,
			 uint64_t *to)
{
	uint32_t na = a ? a->n : 0, nb = b ? b->n : 0, i = 0;
	const struct as_data_run *x, *y;

	for (; i < na && i < nb && !memcmp(&a->run[i], &b->run[i], sizeof(a->run[i])); i++)
		continue;
	for (; na > i && nb > i && !memcmp(&a->run[na - 1], &b->run[nb - 1], sizeof(a->run[0]));
	     na--, nb--)
		continue;
	x = i < na ? &a->run[i] : NULL;
	y = i < nb ? &b->run[i] : NULL;
	*from = LINEAR_END;
	*to = 0;
	if (!x && !y)
		return;
	*from = x && (!y || x->start < y->start) ? x->start : y->start;
	if (x && y && x->start == y->start && same_bytes(x, y))
		*from = run_end(run_end(x) < run_end(y) ? x : y);
	x = i < na ? &a->run[na - 1] : NULL;
	y = i < nb ? &b->run[nb - 1] : NULL;
	*to = x && (!y || run_end(x) > run_end(y)) ? run_end(x) : run_end(y);
	if (x && y && run_end(x) == run_end(y) && same_bytes(x, y))
		*to = x->start > y->start ? x->start : y->start;
}

static void compare_contents(const struct as_inode *a, const struct as_inode *b,
			     struct as_linear_touch *t)
{
	uint64_t from, to, size = a->reg.size < b->reg.size ? a->reg.size : b->reg.size;

	compare_runs(a->reg.runs, b->reg.runs, &from, &to);
	if (a->reg.size != b->reg.size) {
		add_part(t, a->ino, LINEAR_SIZE, 0, LINEAR_END);
		from = from < size ? from : size;
		to = LINEAR_END;
	}
	if (from < to)
		add_part(t, a->ino, LINEAR_DATA, from, to);
}

static void compare_inodes(const struct as_inode *a, const struct as_inode *b,
			   struct as_linear_touch *t)
{
	if (!a || !b) {
		add_part(t, a ? a->ino : b->ino, LINEAR_ALL, 0, LINEAR_END);
		return;
	}
	if (!same_links(a, b) || (is_dir(a) && a->dir.entries != b->dir.entries))
		add_part(t, a->ino, LINEAR_LINKS, 0, LINEAR_END);
	if (is_dir(a) && a->dir.entries != b->dir.entries) {
		compare_names(a->dir.entries, b->dir.entries, a->ino, t);
		compare_names(b->dir.entries, a->dir.entries, a->ino, t);
	}
	if (is_reg(a))
		compare_contents(a, b, t);
}

static void compare(const struct as_radix *a, const struct as_radix *b, uint32_t height,
		    struct as_linear_touch *t)
{
	if (a == b)
		return;
	for (uint32_t i = 0; i < RADIX_FAN; i++) {
		const void *x = a ? a->slot[i] : NULL, *y = b ? b->slot[i] : NULL;

		if (height > 1)
			compare(x, y, height - 1, t);
		else if (x != y)
			compare_inodes(x, y, t);
	}
}

/* What differs between two models, of which one was made from the other. */
static void compare_models(const struct as_model *before, const struct as_model *after,
			   struct as_linear_touch *t)
{
	struct as_vec low = before->inodes, high = after->inodes;

	if (low.height > high.height) {
		low = after->inodes;
		high = before->inodes;
	}
	/* A vector grows by a new root, whose first slot is the old one. */
	for (; high.height > low.height; high.height--) {
		for (uint32_t i = 1; i < RADIX_FAN && high.root; i++)
			if (high.height > 1)
				compare(NULL, high.root->slot[i], high.height - 1, t);
		high.root = high.root ? high.root->slot[0] : NULL;
	}
	if (low.height)
		compare(low.root, high.root, low.height, t);
}

static bool touched(const struct as_linear_touch *t, const struct as_linear_part *part)
{
	for (uint32_t i = 0; i < t->n; i++) {
		const struct as_linear_part *p = &t->part[i];

		if ((p->ino == part->ino || !p->ino) && p->what & part->what &&
		    p->from < part->to && part->from < p->to)
			return true;
	}
	return false;
}

/* ---- Who can have been in the way ---- */

bool as_linear_copies(const struct as_linear_call *c)
{
	enum as_moves moves = as_op_table[c->op->code].moves;

	if (c->op->code == AS_OP_FALLOCATE)
		return c->got.done;
	return moves == AS_MOVES_COPY || moves == AS_MOVES_MAPPED;
}

int32_t as_linear_slot(const struct as_op *op, int k)
{
	bool mapped = op->code == AS_OP_MSTORE || op->code == AS_OP_MLOAD;

	return k ? op->fd2 : mapped ? AS_MAP_SLOT + op->fd : op->fd;
}

/* The count of answers of this kind, and which changes may be seen in part by them; 0: it tells
 * nothing. */
static enum as_raced_count kind_of(const struct as_linear_call *c, unsigned *changes)
{
	if (c->op->code == AS_OP_LSEEK && c->op->flags >= AS_SEEK_END) {
		*changes = AS_CHANGES_DATA;
		return AS_RACED_SEEKS;
	}
	if (c->got.ret < 0 && !c->got.done)
		return 0;
	if (as_linear_copies(c)) {
		*changes = AS_CHANGES_DATA;
		return AS_RACED_COPIES;
	}
	switch (as_op_table[c->op->code].reads) {
	case AS_READS_DATA:
		*changes = AS_CHANGES_DATA;
		return AS_RACED_READS;
	case AS_READS_ATTRS:
		*changes = AS_CHANGES_DATA | AS_CHANGES_NAMES;
		return as_linear_is_stat(c) ? AS_RACED_STATS : 0;
	case AS_READS_NAMES:
		*changes = AS_CHANGES_NAMES;
		return AS_RACED_LISTS;
	default:
		return 0;
	}
}

static bool is_done(const struct as_linear_search *x, const struct as_linear_node *n, size_t call)
{
	return x->place[call] < n->party[x->how->calls[call].thread].next;
}

static bool is_begun(const struct as_linear_search *x, const struct as_linear_node *n, size_t call)
{
	const struct as_linear_party *p = &n->party[x->how->calls[call].thread];

	return x->place[call] == p->next && p->stage;
}

static bool can_touch(const struct as_linear_call *c, uint8_t what)
{
	unsigned changes = changes_of(c);

	if (c->got.ret < 0)
		return changes && undid(c);
	return (what & (LINEAR_DATA | LINEAR_SIZE) && changes & AS_CHANGES_DATA) ||
	       (what & (LINEAR_NAMES | LINEAR_LINKS) && changes & AS_CHANGES_NAMES);
}

/* Whether a call that is not done yet can still change what an answer tells. */
static bool somebody_left(const struct as_linear_search *x, const struct as_linear_node *n,
			  size_t call, uint8_t what)
{
	const struct as_linear_call *calls = x->how->calls;

	for (uint32_t w = 0; w < x->n_watches; w++) {
		size_t k = x->watches[w];

		if (linear_overlap(&calls[k], &calls[call]) && can_touch(&calls[k], what) &&
		    !is_done(x, n, k))
			return true;
	}
	return false;
}

void as_linear_watch(struct as_linear_search *x, uint8_t *beside)
{
	const struct as_linear_call *calls = x->how->calls;

	x->next_inode = x->how->first->next_ino;
	for (size_t k = 0; k < x->how->n; k++) {
		unsigned changes = changes_of(&calls[k]), seen;

		x->inode[k] = x->next_inode++;
		if (x->how->atomic || !changes || (calls[k].got.ret < 0 && !undid(&calls[k])))
			continue;
		for (size_t i = 0; i < x->how->n; i++) {
			if (!linear_overlap(&calls[i], &calls[k]))
				continue;
			beside[i] |= (uint8_t)changes;
			if (kind_of(&calls[i], &seen) && seen & changes)
				x->watched[k] = true;
		}
		if (x->watched[k])
			x->watches[x->n_watches++] = (uint32_t)k;
	}
	x->numbered = x->n_watches;
}

bool as_linear_excuse(const struct as_linear_search *x, struct as_linear_node *n, size_t call,
		      struct as_linear_part part)
{
	const struct as_linear_call *calls = x->how->calls;

	if (!(x->leeway[call] & part.what))
		return false;
	for (uint32_t w = 0; w < x->n_watches; w++) {
		size_t k = x->watches[w];

		if (linear_overlap(&calls[k], &calls[call]) &&
		    (is_done(x, n, k) || is_begun(x, n, k)) && touched(&x->touch[k], &part))
			return true;
	}
	if (!somebody_left(x, n, call, part.what))
		return false;
	if (n->n_promises < LINEAR_PROMISES)
		n->promise[n->n_promises++] = (struct as_linear_promise){ (uint32_t)call, part };
	return true;
}

/* Whether a call that is still to come can change the inode, as far as can be seen from here. */
static bool may_reach(const struct as_model *m, const struct as_op *op, uint32_t ino)
{
	const struct as_file *file;

	if (op->path) {
		struct as_walk w = as_walk_path(m, op->path, WALK_FOLLOW);

		return w.err || !w.ino || w.ino == ino;
	}
	for (int k = 0; k < 2; k++) {
		int32_t slot = as_linear_slot(op, k);

		file = slot >= 0 ? as_file_at(m, slot) : NULL;
		if (slot >= 0 && (!file || file->ino == ino))
			return true;
	}
	return false;
}

bool as_linear_mixes(const struct as_linear_search *x, const struct as_linear_node *n, size_t call,
		     uint32_t ino)
{
	const struct as_linear_part part = { 0, LINEAR_END, ino, LINEAR_DATA | LINEAR_SIZE };
	const struct as_linear_call *calls = x->how->calls;

	for (uint32_t w = 0; w < x->n_watches; w++) {
		size_t k = x->watches[w];
		bool known = is_done(x, n, k) || is_begun(x, n, k);

		if (linear_overlap(&calls[k], &calls[call]) &&
		    (known ? touched(&x->touch[k], &part)
			   : can_touch(&calls[k], part.what) && may_reach(n->m, calls[k].op, ino)))
			return true;
	}
	return false;
}

/* ---- Steps ---- */

void as_linear_number(const struct as_linear_search *x, struct as_model *m, size_t call)
{
	if (x->numbered)
		m->next_ino = x->inode[call];
}

static void note_changes(struct as_linear_search *x, const struct as_linear_node *before,
			 const struct as_linear_node *after, size_t call)
{
	struct as_linear_touch *t = &x->touch[call];

	if (!is_begun(x, before, call))
		t->n = 0;
	compare_models(before->m, after->m, t);
	if (undid(&x->how->calls[call]) && changes_of(&x->how->calls[call]))
		add_part(t, 0, LINEAR_ALL, 0, LINEAR_END);
}

bool as_linear_settle(struct as_linear_search *x, const struct as_linear_node *before,
		      struct as_linear_node *after, size_t call)
{
	const struct as_linear_call *calls = x->how->calls;
	const struct as_linear_touch *t = &x->touch[call];
	uint32_t kept = 0;

	if (!x->numbered)
		return true;
	after->m->next_ino = x->next_inode;
	if (x->watched[call])
		note_changes(x, before, after, call);
	for (uint32_t i = 0; i < after->n_promises; i++) {
		const struct as_linear_promise p = after->promise[i];

		if (x->watched[call] && linear_overlap(&calls[call], &calls[p.call]) &&
		    touched(t, &p.part))
			continue;
		if (!somebody_left(x, after, p.call, p.part.what))
			return false;
		after->promise[kept++] = p;
	}
	after->n_promises = kept;
	return true;
}

/* A call that ended before this moment overlaps none that is still to come. */
static uint64_t first_begin(const struct as_linear_search *x, const struct as_linear_node *n)
{
	uint64_t first = UINT64_MAX;

	for (uint32_t t = 0; t < x->n_threads; t++)
		if (n->party[t].next < x->n_of[t] && linear_next(x, n, t)->begin < first)
			first = linear_next(x, n, t)->begin;
	return first;
}

static uint64_t part_key(uint64_t owner, const struct as_linear_part *part)
{
	uint64_t key = as_mix64(owner << 32 | part->ino);

	key = as_mix64(key + part->from + part->what);
	return as_mix64(key + part->to);
}

uint64_t as_linear_touch_key(const struct as_linear_search *x, const struct as_linear_node *n)
{
	uint64_t key = 0, first;

	if (!x->n_watches)
		return 0;
	first = first_begin(x, n);
	for (uint32_t w = 0; w < x->n_watches; w++) {
		size_t k = x->watches[w];
		const struct as_linear_touch *t = &x->touch[k];

		if (x->how->calls[k].end < first || (!is_done(x, n, k) && !is_begun(x, n, k)))
			continue;
		for (uint32_t i = 0; i < t->n; i++)
			key += part_key(k, &t->part[i]);
	}
	for (uint32_t i = 0; i < n->n_promises; i++)
		key += part_key(~(uint64_t)n->promise[i].call, &n->promise[i].part);
	return key;
}

/* ---- Counting ---- */

static bool is_open(const struct as_linear_search *x, size_t call)
{
	const struct as_linear_call *calls = x->how->calls;

	for (uint32_t w = 0; w < x->n_watches && x->about[call].ino; w++)
		if (linear_overlap(&calls[x->watches[w]], &calls[call]) &&
		    touched(&x->touch[x->watches[w]], &x->about[call]))
			return true;
	return false;
}

void as_linear_count(const struct as_linear_search *x, struct as_raced *raced)
{
	for (size_t i = 0; i < x->how->n; i++) {
		unsigned changes;
		enum as_raced_count kind = kind_of(&x->how->calls[i], &changes);

		if (!kind)
			continue;
		raced->n[kind]++;
		raced->n[kind + 1] += is_open(x, i);
	}
}
