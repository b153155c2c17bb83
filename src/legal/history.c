/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * history: see history.h and history_priv.h. The model judges each operation; what the operation
 * changed becomes new versions. The shape of a point is computed from that of the point before.
 */
#include "legal/history_priv.h"

#include "base/array.h"

#include <linux/falloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Used where the block size is not known: no file system writes more than this at once. */
#define BLOCK_UNKNOWN 65536u
/* Calls of one operation that have points of their own; the rest share one. */
#define CALLS_MAX 65536u

/* ---- One step from a state to the next ---- */

struct history_change {
	uint32_t dir, before, after;
	const char *name;
};

struct fresh {
	uint32_t ino;
	struct as_history_version v;
};

struct history_step {
	struct as_history *h;
	const struct as_op *op; /* NULL: the fresh file system */
	uint32_t point;
	struct history_change *edge;
	uint32_t n_edges, n_fresh;
	struct fresh *fresh; /* new versions */
	size_t cap_edges, cap_fresh;
};

struct as_history_inode *as_history_inode_get(struct as_history *h, uint32_t ino)
{
	while (ino >= h->n_inodes) {
		AS_ARRAY_ROOM(h->inode, h->n_inodes, h->cap_inodes);
		h->inode[h->n_inodes++] = (struct as_history_inode){ 0 };
	}
	return &h->inode[ino];
}

static const char *keep(struct as_history *h, const char *s)
{
	return as_arena_strndup(&h->arena, s, strlen(s));
}

static void know_xattr(struct as_history *h, const char *name)
{
	struct as_history_known *known;

	for (known = h->known; known; known = known->next)
		if (strcmp(known->xattr, name) == 0)
			return;
	known = as_arena_alloc(&h->arena, sizeof(*known));
	known->xattr = keep(h, name);
	known->next = h->known;
	h->known = known;
}

static void keep_xattrs(struct as_history *h, const struct as_node *node,
			struct as_history_version *v)
{
	struct as_history_xattr *x = as_arena_alloc(&h->arena, node->n_xattrs * sizeof(*x) + 1);
	unsigned char *value;

	for (uint32_t i = 0; i < node->n_xattrs; i++) {
		struct as_content *content;

		value = as_xmalloc(node->xattr[i].len + 1);
		as_pattern_fill(node->xattr[i].pattern, 0, value, node->xattr[i].len);
		content = as_content_of_bytes(value, node->xattr[i].len);
		know_xattr(h, node->xattr[i].name);
		x[i] = (struct as_history_xattr){
			.name = keep(h, node->xattr[i].name),
			.len = node->xattr[i].len,
			.pattern = node->xattr[i].pattern,
			.digest = as_history_xattr_digest(node->xattr[i].name, content->digest),
		};
		as_content_put(content);
		free(value);
	}
	v->xattr = x;
	v->n_xattrs = node->n_xattrs;
}

static void cut(struct as_history_version *v, uint64_t from, uint64_t to, uint64_t block)
{
	block = block ? block : BLOCK_UNKNOWN;
	if (from > UINT64_MAX - block)
		return;
	v->cut_from = (from + block - 1) / block * block;
	v->cut_to = to == UINT64_MAX ? to : to / block * block;
}

/* How the operation changes data: see struct as_history_version. */
static void of_falloc(struct as_history_version *v, const struct as_op *op, uint64_t block)
{
	uint64_t off = (uint64_t)op->off;

	v->gradual = true;
	switch (op->flags & ~(int64_t)AS_FALLOC_KEEP_SIZE) {
	case AS_FALLOC_PUNCH_HOLE:
	case AS_FALLOC_ZERO_RANGE:
		cut(v, off, off + op->len, block);
		break;
	case AS_FALLOC_COLLAPSE_RANGE:
	case AS_FALLOC_INSERT_RANGE:
		v->shifted = true;
		cut(v, off, UINT64_MAX, block);
		break;
	default:
		break;
	}
}

static void how_it_came(const struct history_step *s, const struct as_node *before,
			struct as_history_version *v)
{
	uint64_t block = s->h->policy[s->h->n_policies - 1].policy.block_bytes;

	if (!s->op || !(v->what & (AS_CHANGE_SIZE | AS_CHANGE_DATA)))
		return;
	if (as_op_table[s->op->code].changes & AS_CHANGES_BY_PAGE) {
		v->gradual = v->delayed = true;
	} else if (s->op->code == AS_OP_FALLOCATE) {
		of_falloc(v, s->op, block);
	} else if (before && v->size < before->size) {
		/* truncate in all its forms: the new size is a change of the inode, which some
		 * types make in several steps on the way down */
		v->gradual = true;
		cut(v, v->size, UINT64_MAX, block);
	}
}

static void on_inode(void *ctx, const struct as_node *before, const struct as_node *after,
		     unsigned what)
{
	struct history_step *s = ctx;
	const struct as_node *node = after ? after : before;
	struct as_history_inode *inode = as_history_inode_get(s->h, node->ino);
	struct as_history_version *v, old = { 0 };

	if (inode->n)
		old = inode->v[inode->n - 1];
	AS_ARRAY_ROOM(s->fresh, s->n_fresh, s->cap_fresh);
	s->fresh[s->n_fresh].ino = node->ino;
	v = &s->fresh[s->n_fresh++].v;
	*v = (struct as_history_version){
		.point = s->point,
		.what = what,
		.mode = node->mode,
		.nlink = node->nlink,
		.uid = node->uid,
		.gid = node->gid,
		.rdev = node->rdev,
		.size = node->size,
		.linked = after && node->linked,
		.parent = node->parent,
	};
	v->name = old.name && strcmp(old.name, node->name) == 0 ? old.name : keep(s->h, node->name);
	/* An inode that was made by a failed operation is made again, perhaps with another text. */
	if (node->text)
		v->text = old.text && !(what & AS_CHANGE_MADE) ? old.text : keep(s->h, node->text);
	if (what & (AS_CHANGE_XATTR | AS_CHANGE_MADE)) {
		keep_xattrs(s->h, node, v);
	} else {
		v->xattr = old.xattr;
		v->n_xattrs = old.n_xattrs;
	}
	if (what & (AS_CHANGE_DATA | AS_CHANGE_MADE)) {
		size_t bytes = node->n_runs * sizeof(*node->run);
		void *run = as_arena_alloc(&s->h->arena, bytes + 1);

		if (bytes)
			memcpy(run, node->run, bytes);
		v->run = run;
		v->n_runs = node->n_runs;
	} else {
		v->run = old.run;
		v->n_runs = old.n_runs;
	}
	how_it_came(s, before, v);
}

static void on_edge(void *ctx, uint32_t dir, const char *name, uint32_t before, uint32_t after)
{
	struct history_step *s = ctx;

	AS_ARRAY_ROOM(s->edge, s->n_edges, s->cap_edges);
	s->edge[s->n_edges++] = (struct history_change){ dir, before, after, name };
}

/* ---- Edges ---- */

static uint32_t edge_of(struct as_history *h, uint32_t dir, const char *name)
{
	uint32_t i = as_history_edge_find(h, dir, name);
	struct as_history_inode *inode;

	if (i != UINT32_MAX)
		return i;
	AS_ARRAY_ROOM(h->edge, h->n_edges, h->cap_edges);
	i = h->n_edges++;
	h->edge[i] = (struct as_history_edge){
		.dir = dir,
		.name = keep(h, name),
		.hash = as_hash64(name, strlen(name)),
	};
	as_table_add(&h->edges, as_history_edge_hash(dir, h->edge[i].hash), i);
	inode = as_history_inode_get(h, dir);
	AS_ARRAY_ROOM(inode->edge, inode->n_edges, inode->cap_edges);
	inode->edge[inode->n_edges++] = i;
	return i;
}

/* ---- The shape ---- */

static struct as_digest digest_of(const struct as_history *h, uint32_t ino)
{
	const struct as_history_inode *inode = &h->inode[ino];

	return as_history_node_digest(inode->v[inode->n - 1].attrs, inode->sum);
}

/* The digest of `ino` was `old`: its parents, and theirs, take the new one into their sums. */
static void carry_up(struct as_history *h, uint32_t ino, struct as_digest old)
{
	struct as_digest now = digest_of(h, ino);

	for (uint32_t i = 0; i < h->inode[ino].n_links; i++) {
		const struct as_history_edge *edge = &h->edge[h->inode[ino].link[i]];
		struct as_digest parent = digest_of(h, edge->dir), *sum = &h->inode[edge->dir].sum;

		*sum = as_digest_sub(*sum, h_named(old, edge->hash));
		*sum = as_digest_add(*sum, h_named(now, edge->hash));
		carry_up(h, edge->dir, parent);
	}
}

static void edge_out(struct as_history *h, uint32_t e, uint32_t ino)
{
	const struct as_history_edge *edge = &h->edge[e];
	struct as_history_inode *child = &h->inode[ino];
	struct as_digest old = digest_of(h, edge->dir), *sum = &h->inode[edge->dir].sum;

	for (uint32_t i = 0; i < child->n_links; i++)
		if (child->link[i] == e) {
			child->link[i] = child->link[--child->n_links];
			break;
		}
	*sum = as_digest_sub(*sum, h_named(digest_of(h, ino), edge->hash));
	carry_up(h, edge->dir, old);
}

static void edge_in(struct as_history *h, uint32_t e, uint32_t ino)
{
	const struct as_history_edge *edge = &h->edge[e];
	struct as_history_inode *child = &h->inode[ino];
	struct as_digest old = digest_of(h, edge->dir), *sum = &h->inode[edge->dir].sum;

	AS_ARRAY_ROOM(child->link, child->n_links, child->cap_links);
	child->link[child->n_links++] = e;
	*sum = as_digest_add(*sum, h_named(digest_of(h, ino), edge->hash));
	carry_up(h, edge->dir, old);
}

/* Old names are taken out of the sums before attributes change, and new names are put in
 * afterwards, so that what is taken out of a sum is what was put in. */
static void carry_shape(struct history_step *s)
{
	struct as_history *h = s->h;

	for (uint32_t i = 0; i < s->n_edges; i++)
		if (s->edge[i].before)
			edge_out(h, as_history_edge_find(h, s->edge[i].dir, s->edge[i].name),
				 s->edge[i].before);
	for (uint32_t i = 0; i < s->n_fresh; i++) {
		struct as_history_inode *inode = &h->inode[s->fresh[i].ino];
		struct as_history_version *v = &s->fresh[i].v;
		struct as_digest old = inode->n ? digest_of(h, s->fresh[i].ino) : AS_DIGEST_ZERO;

		v->attrs = as_history_attrs_of_version(h, v);
		AS_ARRAY_ROOM(inode->v, inode->n, inode->cap);
		inode->v[inode->n++] = *v;
		carry_up(h, s->fresh[i].ino, old);
	}
	for (uint32_t i = 0; i < s->n_edges; i++) {
		const struct history_change *change = &s->edge[i];
		uint32_t e = edge_of(h, change->dir, change->name);
		struct as_history_edge *edge = &h->edge[e];

		AS_ARRAY_ROOM(edge->v, edge->n, edge->cap);
		edge->v[edge->n++] = (struct as_history_target){ s->point, change->after };
		if (change->after)
			edge_in(h, e, change->after);
	}
}

static const struct as_changes_ops changes_ops = { .inode = on_inode, .edge = on_edge };

/* Adds a point for the step from `before` (NULL: nothing) to `after`, if anything has changed. */
void as_history_add_point(struct as_history *h, const struct as_op *op,
			  const struct as_model *before, const struct as_model *after,
			  uint32_t call)
{
	struct history_step s = { .h = h, .op = op, .point = h->n_points };

	as_model_changes(before, after, &changes_ops, &s);
	if (s.n_edges || s.n_fresh || !op) {
		carry_shape(&s);
		AS_ARRAY_ROOM(h->point, h->n_points, h->cap_points);
		h->point[h->n_points++] = (struct as_history_point){
			.shape = digest_of(h, ROOT_INO),
			.op = op ? h->ops->n - 1 : SIZE_MAX,
			.call = call,
		};
	}
	free(s.edge);
	free(s.fresh);
}

/* Adds the points at which what the next call makes has not got its lists yet; returns the state
 * that `next` follows. */
static struct as_model *add_bare(struct as_history *h, const struct as_op *op, struct as_model *at,
				 const struct as_model *next, uint32_t *call)
{
	struct as_model *bare[2] = { as_model_copy(at), as_model_copy(at) };

	for (unsigned i = 0; i < 2; i++) {
		struct as_digest is;
		bool other = as_model_substep_bare(bare[i], op, 2 - i);

		is = as_model_digest(bare[i]);
		other = other && !as_digest_eq(is, as_model_digest(next)) &&
			!as_digest_eq(is, as_model_digest(at));
		if (other)
			as_history_add_point(h, op, at, bare[i], (*call)++);
		as_model_free(other ? at : bare[i]);
		at = other ? bare[i] : at;
	}
	return at;
}

/* Adds the points of an operation: one after each of its calls that change something. */
static void add_points(struct as_history *h, const struct as_op *op, const struct as_model *before,
		       const struct as_model *after)
{
	struct as_digest end = as_model_digest(after);
	struct as_model *at = as_model_copy(before), *next;
	uint32_t call = 1;
	bool many = as_model_goes_by_steps(after, op);

	while (many && call < CALLS_MAX && !as_digest_eq(as_model_digest(at), end)) {
		struct as_digest was = as_model_digest(at);

		next = as_model_copy(at);
		as_model_substep(next, op);
		at = add_bare(h, op, at, next, &call);
		if (as_digest_eq(as_model_digest(next), end) ||
		    as_digest_eq(as_model_digest(next), was)) {
			as_model_free(next);
			break;
		}
		as_history_add_point(h, op, at, next, call++);
		as_model_free(at);
		at = next;
	}
	as_history_add_point(h, op, at, after, 0);
	as_model_free(at);
}

/* ---- Mount options ---- */

/* The policy of the last mount, which remounts have not changed. */
static struct as_policy policy_of_mount(const struct as_history *h)
{
	uint32_t i = h->n_policies;

	while (--i > 0)
		if (h->ops->ops[h->policy[i].op].code != AS_OP_REMOUNT)
			break;
	return h->policy[i].policy;
}

static void add_policy(struct as_history *h, const struct as_op *op, const struct as_outcome *got)
{
	struct as_policy policy = h->policy[h->n_policies - 1].policy, first = h->policy[0].policy;
	struct as_policy mounted = policy_of_mount(h);
	bool remounts = op->code == AS_OP_REMOUNT;

	if (got->ret < 0 || (!remounts && op->code != AS_OP_MOUNT && op->code != AS_OP_CRASH))
		return;
	if (remounts && first.no_remount)
		return;
	policy = as_policy_after(&first, &mounted, &policy, remounts, op->opts);
	AS_ARRAY_ROOM(h->policy, h->n_policies, h->cap_policies);
	h->policy[h->n_policies++] = (struct as_history_policy){ h->ops->n - 1, policy };
}

/* ---- Closing ---- */

void as_history_add_close(struct as_history *h, const struct as_op *op,
			  const struct as_model *before)
{
	uint32_t ino;

	if (op->code != AS_OP_CLOSE || h->ret[h->ops->n - 1] < 0)
		return;
	ino = as_model_slot_ino(before, op->fd);
	if (!ino)
		return;
	AS_ARRAY_ROOM(h->close, h->n_closes, h->cap_closes);
	h->close[h->n_closes++] = (struct as_history_close){ h->ops->n - 1, ino, h->n_points - 1 };
}

/* ---- The public face ---- */

struct as_history *as_history_new(const struct as_model *fresh, const struct as_policy *policy)
{
	struct as_history *h = as_xcalloc(1, sizeof(*h));
	bool vague;

	h->model = as_model_copy(fresh);
	as_model_follow_touches(h->model);
	h->traits = as_model_traits(fresh);
	h->ops = as_seq_new();
	h->judged = SIZE_MAX;
	h->limits_unsure = as_model_has_limits(fresh, &vague);
	AS_ARRAY_ROOM(h->policy, h->n_policies, h->cap_policies);
	h->policy[h->n_policies++] = (struct as_history_policy){ 0, *policy };
	as_history_add_point(h, NULL, NULL, fresh, 0);
	AS_ARRAY_ROOM(h->after, h->n_after, h->cap_after);
	h->after[h->n_after++] = 0;
	return h;
}

void as_history_free(struct as_history *h)
{
	if (!h)
		return;
	if (h->cache_free)
		h->cache_free(h->cache);
	for (uint32_t i = 0; i < h->n_inodes; i++) {
		free(h->inode[i].v);
		free(h->inode[i].edge);
		free(h->inode[i].promise);
		free(h->inode[i].link);
	}
	for (uint32_t i = 0; i < h->n_edges; i++)
		free(h->edge[i].v);
	free(h->inode);
	free(h->edge);
	as_table_free(&h->edges);
	free(h->promise);
	free(h->alone);
	free(h->touch);
	free(h->close);
	free(h->limit);
	free(h->policy);
	free(h->point);
	free(h->after);
	free(h->ret);
	free(h->number);
	free(h->late);
	as_seq_free(h->ops);
	as_model_free(h->model);
	as_arena_free(&h->arena);
	free(h);
}

const struct as_op *as_history_push(struct as_history *h, const struct as_op *op, int64_t ret,
				    size_t number)
{
	AS_ARRAY_ROOM(h->ret, h->ops->n, h->cap_ret);
	AS_ARRAY_ROOM(h->number, h->ops->n, h->cap_number);
	h->ret[h->ops->n] = ret;
	h->number[h->ops->n] = number;
	if (op->code == AS_OP_SETQUOTA && !ret)
		as_stable_limit(h, op);
	return as_seq_add(h->ops, op);
}

bool as_history_end_op(struct as_history *h)
{
	AS_ARRAY_ROOM(h->after, h->n_after, h->cap_after);
	h->after[h->n_after++] = h->n_points - 1;
	return h->judged == SIZE_MAX;
}

struct as_persist as_history_persist(const struct as_history *h, const struct as_op *op,
				     const struct as_outcome *outcome)
{
	const struct as_policy *policy = &h->policy[h->n_policies - 1].policy;
	unsigned mounted = (policy->sync ? AS_MOUNTED_SYNC : 0) |
			   (policy->dirsync ? AS_MOUNTED_DIRSYNC : 0) |
			   (policy->at_close ? AS_MOUNTED_CLOSE : 0);

	return as_model_persists(h->model, op, outcome, mounted);
}

/* The operation added last promises nothing, and may have done what it would have promised. */
static void add_alone(struct as_history *h, const struct as_persist *what)
{
	if (what->kind == AS_PERSIST_NOTHING || what->kind == AS_PERSIST_ALL)
		return;
	AS_ARRAY_ROOM(h->alone, h->n_alone, h->cap_alone);
	h->alone[h->n_alone++] = (struct as_history_alone){ h->ops->n - 1 };
}

static bool add(struct as_history *h, const struct as_op *op, const struct as_outcome *outcome,
		bool promises)
{
	struct as_persist what = as_history_persist(h, op, outcome);
	struct as_model *before = as_model_copy(h->model);
	struct as_verdict verdict = { 0 };

	op = as_history_push(h, op, outcome->ret, h->ops->n);
	as_model_clock(h->model, 0, 0);
	if (h->judged == SIZE_MAX &&
	    (!as_model_judge(h->model, op, outcome, &verdict) || as_model_lost(h->model)))
		h->judged = h->ops->n - 1;
	if (h->judged == SIZE_MAX) {
		add_points(h, op, before, h->model);
		as_stable_touch(h, h->model);
		if (promises)
			as_stable_record(h, &what);
		else
			add_alone(h, &what);
		as_history_add_close(h, op, before);
		add_policy(h, op, outcome);
	}
	as_model_free(before);
	as_verdict_free(&verdict);
	return as_history_end_op(h);
}

bool as_history_add(struct as_history *h, const struct as_op *op, const struct as_outcome *outcome)
{
	return add(h, op, outcome, true);
}

bool as_history_add_unsure(struct as_history *h, const struct as_op *op,
			   const struct as_outcome *outcome)
{
	return add(h, op, outcome, false);
}

bool as_history_add_failed(struct as_history *h, const struct as_op *op,
			   const struct as_outcome *outcome)
{
	struct as_model *happened = as_model_copy(h->model);
	const struct as_outcome well = { .ret = op->len < INT64_MAX ? (int64_t)op->len : 0 };
	struct as_persist what = as_history_persist(h, op, &well);
	struct as_verdict verdict = { 0 };

	as_model_follow_touches(happened);
	as_model_clock(happened, 0, 0);
	h->limits_unsure |= op->code == AS_OP_SETQUOTA;
	op = as_history_push(h, op, outcome->ret, h->ops->n);
	add_alone(h, &what);
	if (h->judged == SIZE_MAX && !as_model_apply(happened, op) && !as_model_lost(happened)) {
		as_stable_touch(h, happened);
		add_points(h, op, h->model, happened);
		as_history_add_point(h, op, happened, h->model, 0);
	}
	/* What comes before a call is done all the same: the slot of an open() is free. */
	if (h->judged == SIZE_MAX)
		(void)as_model_judge(h->model, op, outcome, &verdict);
	as_verdict_free(&verdict);
	as_model_free(happened);
	return as_history_end_op(h);
}

size_t as_history_len(const struct as_history *h)
{
	return h->ops->n;
}

size_t as_history_known(const struct as_history *h)
{
	return h->judged == SIZE_MAX ? h->ops->n : h->judged;
}
