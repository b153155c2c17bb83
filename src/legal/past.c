/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * past: see past.h.
 *
 * Method. A past is a chain of steps to the last state of which all was stable. An operation that
 * changes nothing and promises nothing is no step, but for one that reserves blocks: the model does
 * not know them, and the next fsync promises them all the same. One that makes everything stable
 * begins a new chain. The digest of a step is made of that of the step before, the canonical digest
 * of the state it led to, which inodes it changed and how, and its promise. A remount with other
 * options is a step, too: what follows it may be promised more, or less.
 *
 * Inodes are known by the order in which the steps of the chain came upon them, since their numbers
 * depend on what was made and removed earlier. Without this, states that look alike would not tell
 * which of two files an earlier version belongs to.
 */
#include "legal/past.h"

#include "base/array.h"
#include "model/persist.h"
#include "work/seq.h"

#include <stdlib.h>
#include <string.h>

struct as_past {
	uint32_t ref, n; /* n: steps */
	struct as_past *before; /* NULL: all of the state is stable */
	struct as_model *model;
	/* The policy now, that of the first mount, and that of the last one. */
	struct as_policy policy, first, mounted;
	uint64_t opts; /* of the last mount or remount, as a hash; 0: none */
	struct as_digest digest, exact;
	uint32_t *met; /* inodes, in the order in which they were met */
	size_t n_met, cap_met;
	struct as_persist promise; /* of this step */
	bool changed; /* by this step */
	bool turned; /* nothing was, but the options of the mount */
	uint32_t reserved; /* the inode that this step gave blocks to, and nothing else; 0: none */
	struct as_seq *op; /* of this step; NULL: none */
	struct as_outcome outcome; /* its answer, without payload */
};

static struct as_past *past_new(const struct as_model *model, const struct as_policy *policy)
{
	struct as_past *past = as_xcalloc(1, sizeof(*past));

	past->ref = 1;
	past->model = as_model_copy(model);
	past->policy = *policy;
	return past;
}

static struct as_digest mix(struct as_digest digest, uint64_t word)
{
	return as_digest_bind(digest, as_mix64(word + 0x9e3779b97f4a7c15u));
}

static struct as_digest of_state(const struct as_past *past)
{
	const struct as_policy *policy = &past->policy;
	struct as_digest digest = as_model_digest_canonical(past->model);

	digest = mix(digest, (uint64_t)policy->guarantee << 8 | (uint64_t)policy->data);
	digest = mix(digest, (uint64_t)policy->none << 2 | (uint64_t)policy->sync << 1 |
				     (uint64_t)policy->dirsync);
	return past->opts ? mix(digest, past->opts) : digest;
}

/* All of its state is stable. */
static struct as_past *begin_chain(struct as_past *past)
{
	past->digest = of_state(past);
	past->exact = as_digest_add(past->digest, mix(as_model_digest(past->model), 5));
	return past;
}

struct as_past *as_past_new(const struct as_model *stable, const struct as_policy *policy)
{
	struct as_past *past = past_new(stable, policy);

	past->first = past->mounted = *policy;
	return begin_chain(past);
}

struct as_past *as_past_get(struct as_past *past)
{
	past->ref++;
	return past;
}

void as_past_put(struct as_past *past)
{
	while (past && !--past->ref) {
		struct as_past *before = past->before;

		as_model_free(past->model);
		free(past->met);
		as_seq_free(past->op);
		free(past);
		past = before;
	}
}

struct as_digest as_past_digest(const struct as_past *past)
{
	return past->digest;
}

struct as_digest as_past_exact(const struct as_past *past)
{
	return past->exact;
}

size_t as_past_len(const struct as_past *past)
{
	return past->n;
}

/* ---- Adding ---------------------------------------------------------------------------------- */

static uint64_t number_of(struct as_past *past, uint32_t ino)
{
	for (size_t i = 0; i < past->n_met; i++)
		if (past->met[i] == ino)
			return i;
	AS_ARRAY_ROOM(past->met, past->n_met, past->cap_met);
	past->met[past->n_met++] = ino;
	return past->n_met - 1;
}

struct past_step {
	struct as_past *past;
	bool changed;
};

/* How an inode that is met for the first time looked: so much is known of which one it is. */
static struct as_digest look_of(struct as_digest digest, const struct as_node *node)
{
	digest = mix(digest, (uint64_t)node->mode << 32 | node->nlink);
	digest = mix(digest, (uint64_t)node->uid << 32 | node->gid);
	digest = mix(digest, node->size);
	for (uint32_t i = 0; i < node->n_runs; i++)
		digest = mix(mix(digest, node->run[i].start), node->run[i].pattern);
	return mix(digest, node->n_xattrs);
}

static void on_inode(void *ctx, const struct as_node *before, const struct as_node *after,
		     unsigned what)
{
	struct past_step *s = ctx;
	struct as_past *past = s->past;
	size_t known = past->n_met;
	uint64_t number = number_of(past, after ? after->ino : before->ino);

	s->changed = true;
	past->digest = mix(past->digest, number << 16 | what);
	if (past->n_met > known && before)
		past->digest = look_of(past->digest, before);
	if (after)
		past->digest = look_of(past->digest, after);
}

static void on_edge(void *ctx, uint32_t dir, const char *name, uint32_t before, uint32_t after)
{
	struct past_step *s = ctx;
	struct as_past *past = s->past;

	(void)name;
	s->changed = true;
	past->digest = mix(past->digest, number_of(past, dir) << 32);
	past->digest = mix(past->digest, before ? number_of(past, before) + 1 : 0);
	past->digest = mix(past->digest, after ? number_of(past, after) + 1 : 0);
}

static void add_promise(struct as_past *past, const struct as_persist *what)
{
	past->digest = mix(past->digest, (uint64_t)what->kind | 1u << 20);
	if (what->kind == AS_PERSIST_INODE || what->kind == AS_PERSIST_DATA) {
		past->digest = mix(past->digest, number_of(past, what->ino));
		past->digest = mix(mix(past->digest, what->off), what->len);
	}
}

static struct as_persist persists(const struct as_past *past, const struct as_op *op,
				  const struct as_outcome *outcome)
{
	unsigned mounted = (past->policy.sync ? AS_MOUNTED_SYNC : 0) |
			   (past->policy.dirsync ? AS_MOUNTED_DIRSYNC : 0) |
			   (past->policy.at_close ? AS_MOUNTED_CLOSE : 0);

	return as_model_persists(past->model, op, outcome, mounted);
}

/* Whether the same was promised before, and nothing has changed since. */
static bool is_promised(const struct as_past *past, const struct as_persist *what)
{
	for (; past->before; past = past->before) {
		const struct as_persist *promise = &past->promise;

		if (promise->kind == what->kind && promise->ino == what->ino &&
		    promise->off == what->off && promise->len == what->len)
			return true;
		if (past->changed || past->reserved == what->ino)
			return false;
	}
	return false;
}

/* The inode that the operation has reserved blocks for, unless that was done since the last change:
 * otherwise there would be no end of states. 0: none. */
static uint32_t reserves(const struct as_past *past, const struct as_op *op,
			 const struct as_outcome *outcome)
{
	uint32_t ino;

	if (op->code != AS_OP_FALLOCATE || op->flags != AS_FALLOC_KEEP_SIZE || outcome->ret < 0)
		return 0;
	ino = as_model_slot_ino(past->model, op->fd);
	for (; past->before && !past->changed; past = past->before)
		if (past->reserved == ino)
			return 0;
	return ino;
}

/* Whether an operation that changed nothing counts all the same. */
static bool is_step(const struct as_past *past, const struct as_op *op,
		    const struct as_persist *what)
{
	if (what->kind != AS_PERSIST_NOTHING)
		return !is_promised(past, what);
	return op->code == AS_OP_CLOSE && past->policy.replaces;
}

/* What the operation says of how it is mounted from now on. False: nothing. */
static bool turn(struct as_past *next, const struct as_past *past, const struct as_op *op,
		 const struct as_outcome *outcome)
{
	const char *opts = op->opts ? op->opts : "";
	bool remounts = op->code == AS_OP_REMOUNT;

	next->policy = past->policy;
	next->first = past->first;
	next->mounted = past->mounted;
	next->opts = past->opts;
	if (outcome->ret < 0 || (!remounts && op->code != AS_OP_MOUNT && op->code != AS_OP_UMOUNT))
		return false;
	next->opts = *opts ? as_hash(opts, strlen(opts)).lo | 1 : 0;
	if (op->code == AS_OP_UMOUNT)
		return false;
	next->policy = as_policy_after(&past->first, &past->mounted, &past->policy, remounts, opts);
	if (!remounts)
		next->mounted = next->policy;
	return next->opts != past->opts;
}

static const struct as_changes_ops changes_ops = { .inode = on_inode, .edge = on_edge };

struct as_past *as_past_add(struct as_past *past, const struct as_op *op,
			    const struct as_outcome *outcome, const struct as_model *after)
{
	struct as_persist what = persists(past, op, outcome);
	struct as_past *next;
	struct past_step step;
	uint32_t reserved;
	bool turned;

	next = past_new(after, &past->policy);
	turned = turn(next, past, op, outcome);
	if (what.kind == AS_PERSIST_ALL)
		return begin_chain(next);
	/* Of several remounts in a row, the last one counts. */
	if (turned && past->turned) {
		past = past->before;
		turned = next->opts != past->opts;
	}
	next->digest = past->digest;
	AS_ARRAY_ROOM_FOR(next->met, 0, past->n_met + 1, next->cap_met);
	if (past->n_met)
		memcpy(next->met, past->met, past->n_met * sizeof(*next->met));
	next->n_met = past->n_met;
	step = (struct past_step){ .past = next };
	as_model_changes(past->model, after, &changes_ops, &step);
	if (turned && !step.changed && !past->before)
		return begin_chain(next);
	reserved = step.changed ? 0 : reserves(past, op, outcome);
	if (!step.changed && !reserved && !turned && !is_step(past, op, &what)) {
		as_past_put(next);
		return as_past_get(past);
	}
	next->digest = as_digest_add(mix(next->digest, 7), of_state(next));
	if (what.kind != AS_PERSIST_NOTHING)
		add_promise(next, &what);
	if (reserved)
		next->digest = mix(next->digest, number_of(next, reserved) | 1ull << 40);
	next->exact = as_digest_add(mix(past->exact, 3), mix(as_model_digest(after), 5));
	next->exact = as_digest_add(next->exact, next->digest);
	next->promise = what;
	next->changed = step.changed;
	next->turned = turned && !step.changed;
	next->reserved = reserved;
	next->before = as_past_get(past);
	next->n = past->n + 1;
	next->op = as_seq_new();
	as_seq_add(next->op, op);
	next->outcome = *outcome;
	next->outcome.data = NULL;
	next->outcome.payload = AS_PAYLOAD_NONE;
	return next;
}

/* ---- A history ------------------------------------------------------------------------------- */

struct as_history *as_past_history(const struct as_past *past)
{
	struct as_history *history;

	if (!past->before)
		return as_history_new(past->model, &past->policy);
	history = as_past_history(past->before);
	(void)as_history_add(history, &past->op->ops[0], &past->outcome);
	return history;
}
