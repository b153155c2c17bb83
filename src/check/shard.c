/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shard: one of several checks that divide the states among them and share nothing, not even a
 * machine. The digest of a state says which of them owns it.
 *
 * Method. To come to its own states, a shard has to know how the others lead there. So it has every
 * state in its store, but expands those of others in the model alone, with the answer that the
 * model names first: that is cheap, and needs no file system.
 *   1. Each transition is carried out, judged and compared by one shard: the owner of the state
 *      that it begins with.
 *   2. In each state the power is cut by one shard: its owner.
 *   3. Where something is nearly full from the start, nobody can tell what succeeds. Then
 *      states of others are expanded on the file system, without power cuts and faults, and trees
 *      are not compared.
 *   4. Where a file system gives an answer that is right, but not the first (the disk is full), the
 *      states of the other shards are not those of one check that does it all. The owner of the
 *      transition sees that, and says so. If no shard does, together they have visited just the
 *      states of one check.
 */
#include "check/cuts.h"

#include "os/spawn.h"
#include "work/print.h"

bool as_shard_owns(const struct as_checking *c, struct as_digest digest)
{
	const struct as_check_options *o = c->options;

	return !o->shards || as_mix64(digest.hi) % o->shards == o->shard - 1;
}

#define NEARLY_FULL_BYTES (64u << 10)

bool as_shard_predicts(const struct as_checking *c)
{
	return c->options->shards &&
	       !(c->start && (c->start->refused || c->start->free_bytes < NEARLY_FULL_BYTES));
}

void as_shard_sum(const struct as_checking *c, struct as_check_status *status)
{
	uint32_t n = as_store_n(c->store);

	for (uint32_t i = 0; i < n; i++) {
		struct as_store_state state = as_store_at(c->store, i);
		struct as_digest digest = state.digest;

		if (!as_shard_owns(c, digest) || state.flags & AS_STATE_REPLACED)
			continue;
		status->owned++;
		status->owned_sum += digest.lo >> 32;
	}
}

/* ---- In the model alone ---------------------------------------------------------------------- */

/* Moves on by the answer that the model names first. */
static void predict(struct as_model *model, struct as_past **past, struct as_era *era,
		    const struct as_op *op)
{
	struct as_outcome got = { .ret = -1 };
	struct as_allowed allowed;
	struct as_past *next;

	as_model_allowed(model, op, &allowed);
	got.err = as_model_apply(model, op);
	if (!got.err)
		got.ret = allowed.ret < 0 ? 0 : allowed.ret;
	next = as_past_add(*past, op, &got, model);
	as_era_step(era, op, *past, next);
	as_past_put(*past);
	*past = next;
}

struct as_digest as_shard_expect(const struct as_expander *w, const struct as_op *op)
{
	struct as_model *model = as_model_copy(w->trial.model);
	struct as_past *past = as_past_get(w->past);
	struct as_era era = w->era;
	struct as_digest key;

	predict(model, &past, &era, op);
	key = as_check_key(model, past, era);
	as_model_free(model);
	as_past_put(past);
	return key;
}

static void run_trace(struct as_expander *w)
{
	w->trial.model = as_model_copy(w->c->fresh.model);
	w->past = as_past_new(w->c->fresh.model, &w->policy);
	w->era = as_era_first(w->c->options->hash);
	w->upto[0] = as_past_exact(w->past);
	for (size_t i = 0; i < w->seq->n; i++) {
		predict(w->trial.model, &w->past, &w->era, &w->seq->ops[i]);
		w->upto[i + 1] = as_past_exact(w->past);
	}
}

/* w->trial.model and w->past are those of the state, and are again afterwards. */
static int follow_move(struct as_expander *w, const struct as_op *op, struct as_err *err)
{
	struct as_model *model = w->trial.model;
	struct as_past *past = w->past;
	struct as_era era = w->era;
	int64_t began_us = as_now_us();
	int rc = 0;

	w->trial.model = as_model_copy(model);
	w->past = as_past_get(past);
	predict(w->trial.model, &w->past, &w->era, op);
	AS_CHECK_ADD(w->c, followed, 1);
	AS_CHECK_ADD(w->c, follow_us, (uint64_t)(as_now_us() - began_us));
	if (w->past != past ||
	    !as_digest_eq(as_model_digest(w->trial.model), as_model_digest(model))) {
		as_buf_clear(&w->line);
		as_print_op(op, &w->line);
		as_try_begin(&w->lane->tried, as_buf_str(&w->line));
		rc = as_worker_reach(w, op, err);
	}
	as_model_free(w->trial.model);
	as_past_put(w->past);
	w->trial.model = model;
	w->past = past;
	w->era = era;
	return rc;
}

int as_shard_follow(struct as_expander *w, uint32_t id, uint32_t first, struct as_err *err)
{
	int64_t began_us = as_now_us();
	int rc = as_worker_read_trace(w, id, err);

	as_worker_forget(w);
	if (rc)
		return rc;
	w->lane->phase = AS_CHECK_BACK;
	as_novel_begin(w);
	run_trace(w);
	w->moves = as_universe_moves(&w->c->universe, w->trial.model);
	AS_CHECK_ADD(w->c, follow_us, (uint64_t)(as_now_us() - began_us));
	for (uint32_t i = first; !rc && i < w->moves->n && !w->c->shared->stop; i++) {
		w->lane->move = i;
		w->lane->alive++;
		rc = follow_move(w, &w->moves->ops[i], err);
	}
	return rc;
}
