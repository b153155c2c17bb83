/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stable: which operations made something stable: the promises of a history. What an operation
 * makes stable is the model's word (model/persist.h); here it is recorded, together with the point
 * it was given in. What follows from an fsync for a tree is in fsync.c.
 */
#include "legal/history_priv.h"

#include "base/array.h"

#include <stddef.h>
#include <sys/stat.h>

void as_stable_record(struct as_history *h, const struct as_persist *what)
{
	const struct as_policy *policy = &h->policy[h->n_policies - 1].policy;
	uint32_t point = h->n_points - 1;
	uint32_t floor;

	if (what->kind == AS_PERSIST_NOTHING)
		return;
	if (what->kind == AS_PERSIST_INODE || what->kind == AS_PERSIST_DATA) {
		struct as_history_inode *inode = as_history_inode_get(h, what->ino);

		AS_ARRAY_ROOM(inode->promise, inode->n_promises, inode->cap_promises);
		inode->promise[inode->n_promises++] = h->n_promises;
	}
	/* It looks at the promises so far. */
	floor = as_fsync_floor(h, policy, what, point);
	AS_ARRAY_ROOM(h->promise, h->n_promises, h->cap_promises);
	h->promise[h->n_promises++] = (struct as_history_promise){
		.op = h->ops->n - 1,
		.what = *what,
		.point = point,
		.floor = floor,
	};
}

/* How many of `n` entries are of operations before `op`. Each has `stride` bytes and begins with
 * its operation; they are sorted by it. */
static uint32_t count_before(const void *entries, size_t stride, uint32_t n, size_t op)
{
	uint32_t lo = 0, hi = n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (*(const size_t *)(const void *)((const char *)entries + mid * stride) < op)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

_Static_assert(!offsetof(struct as_history_promise, op) && !offsetof(struct as_history_touch, op) &&
		       !offsetof(struct as_history_alone, op),
	       "count_before() finds the operation there");

uint32_t as_stable_promises(const struct as_history *h, size_t done)
{
	return count_before(h->promise, sizeof(*h->promise), h->n_promises, done);
}

uint32_t as_stable_alone(const struct as_history *h, size_t done)
{
	return count_before(h->alone, sizeof(*h->alone), h->n_alone, done);
}

void as_history_saw(struct as_history *h, const struct as_stat *st)
{
	struct as_history_promise *last = h->n_promises ? &h->promise[h->n_promises - 1] : NULL;
	struct as_history_seen *seen;

	if (!last || last->op != h->ops->n - 1 || last->what.kind != AS_PERSIST_INODE ||
	    last->what.len != UINT64_MAX || !S_ISREG(st->mode))
		return;
	seen = as_arena_alloc(&h->arena, sizeof(*seen));
	*seen = (struct as_history_seen){ st->atime_ns, st->mtime_ns, st->ctime_ns, st->blocks };
	last->seen = seen;
}

void as_stable_touch(struct as_history *h, const struct as_model *model)
{
	size_t n;
	const struct as_touch *touch = as_model_touches(model, &n);

	for (size_t i = 0; i < n; i++) {
		AS_ARRAY_ROOM(h->touch, h->n_touches, h->cap_touches);
		h->touch[h->n_touches++] = (struct as_history_touch){ h->ops->n - 1, touch[i] };
	}
}

uint32_t as_stable_touches(const struct as_history *h, size_t begun)
{
	return count_before(h->touch, sizeof(*h->touch), h->n_touches, begun);
}

const struct as_history_promise *as_stable_last_sync(const struct as_history *h, uint32_t n)
{
	while (n-- > 0)
		if (h->promise[n].what.kind == AS_PERSIST_ALL)
			return &h->promise[n];
	return NULL;
}

void as_stable_limit(struct as_history *h, const struct as_op *op)
{
	AS_ARRAY_ROOM(h->limit, h->n_limits, h->cap_limits);
	h->limit[h->n_limits++] =
		(struct as_history_limit){ h->ops->n, op->flags, (uint32_t)op->uid,
					   as_model_quota_asked(op) };
}

void as_history_doubt_limits(struct as_history *h)
{
	h->limits_unsure = true;
}

/* ---- Words ---- */

void as_stable_promise_words(const struct as_history *h, const struct as_history_promise *promise,
			     struct as_buf *out)
{
	const struct as_op *op = &h->ops->ops[promise->op];
	const char *name = as_op_table[op->code].name;

	switch (promise->what.kind) {
	case AS_PERSIST_ALL:
		as_buf_adds(out, name);
		break;
	case AS_PERSIST_OP:
		as_buf_addf(out, "%s (names are stable at once here)", name);
		break;
	default:
		if (promise->what.len == UINT64_MAX)
			as_buf_addf(out, "%s of ", name);
		else if (promise->what.kind == AS_PERSIST_INODE)
			as_buf_addf(out, "%s with O_SYNC to ", name);
		else if (op->code == AS_OP_MMAP_WRITE || op->code == AS_OP_MSYNC)
			as_buf_addf(out, "%s with MS_SYNC to ", name);
		else
			as_buf_addf(out, "%s with O_DSYNC to ", name);
		as_history_path(h, promise->what.ino, promise->point, out);
		break;
	}
	as_buf_addf(out, " at op %zu", h->number[promise->op] + 1);
}

bool as_history_persists(const struct as_history *h, size_t op, struct as_buf *words)
{
	for (uint32_t i = 0; i < h->n_promises; i++) {
		if (h->promise[i].op != op)
			continue;
		if (words)
			as_stable_promise_words(h, &h->promise[i], words);
		return true;
	}
	return false;
}
