/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reach: an operation has led to another state (expand.c). It is added to the store; if it is new,
 * the power is cut on the way there, and it waits to be expanded or, in a sandbox, to be told.
 */
#include "check/cuts.h"

static uint64_t rank_of(const struct as_expander *w, uint32_t id, uint64_t wrote)
{
	const struct as_check_options *o = w->c->options;
	struct as_search_of of = { .id = id,
				   .depth = as_store_at(w->c->store, id).depth,
				   .seed = w->c->args->run->seed,
				   .recovery = wrote };

	if (o->search == AS_SEARCH_novelty) {
		struct as_novel novel = as_novel_of(w);

		of.novelty = as_novelty_of(&w->c->shared->novelty, &novel);
	}
	return as_search_rank(o->search, &of);
}

static bool is_too_deep(const struct as_expander *w, uint32_t id)
{
	unsigned depth = w->c->options->depth;

	return depth && as_store_at(w->c->store, id).depth >= depth;
}

/* In a sandbox: the state of w->trial.model is to be told. */
static void tell(const struct as_expander *w, uint32_t id, bool fine, bool recovered,
		 uint64_t wrote)
{
	struct as_reached *reached = w->c->reached;
	struct as_reached_state *state;

	if (!reached)
		return;
	if (reached->n == AS_REACHED_MAX) {
		AS_CHECK_ADD(w->c, missed, 1);
		return;
	}
	state = &reached->state[reached->n++];
	*state = (struct as_reached_state){ .id = id,
					    .fine = fine,
					    .recovered = recovered,
					    .wrote = wrote,
					    .move = w->lane->move };
	if (w->c->options->search == AS_SEARCH_novelty)
		state->novel = as_novel_of(w);
}

/* What is recovered is where the worker is, for a moment; what the operation has reached is not
 * its. */
static struct as_expander recovered_at(const struct as_expander *w, struct as_model *model,
				       struct as_past *past)
{
	struct as_expander at = *w;

	at.trial.model = model;
	at.past = past;
	at.places = 0;
	return at;
}

void as_worker_tell_recovered(struct as_expander *w, uint32_t id, struct as_model *model,
			      struct as_past *past)
{
	struct as_expander at = recovered_at(w, model, past);

	tell(&at, id, true, true, 0);
}

void as_worker_push(struct as_expander *w, uint32_t id, struct as_model *model,
		    struct as_past *past)
{
	struct as_expander at = recovered_at(w, model, past);

	if (is_too_deep(w, id))
		as_store_stop(w->c->store, id, false);
	else
		as_check_push(w->c, id, rank_of(&at, id, 0));
}

/* Judges the state that the operation has led to, and says how to go on there. known: that was
 * done before, in a sandbox that has met it by another trace. */
static int judge_reached(struct as_expander *w, const struct as_op *op, uint32_t id, bool known,
			 bool owns, struct as_err *err)
{
	const struct as_checking *c = w->c;
	bool fine = !known || !(as_store_at(c->store, id).flags & AS_STATE_WRONG);
	/* Who is outside of a sandbox knows how deep it is. */
	bool deep = is_too_deep(w, id) && !c->reached;
	uint64_t wrote = 0;
	int rc = 0;

	w->lane->fresh = known ? AS_STORE_NONE : id;
	if (!deep)
		as_cuts_begin(w->cuts);
	if (owns && fine && (!known || as_cuts_may(w->cuts)))
		rc = as_worker_cut_power(w, op, NULL, &fine, &wrote, err);
	w->lane->fresh = AS_STORE_NONE;
	/* Whoever goes on later judges it again. */
	if (c->shared->stop) {
		as_cuts_end(w->cuts);
		return rc;
	}
	tell(w, id, fine, false, wrote);
	if (!fine)
		AS_CHECK_ADD(c, wrong, 1);
	if (!known && !rc && fine && !is_too_deep(w, id))
		as_check_push(c, id, rank_of(w, id, wrote));
	else if (!known)
		as_store_stop(c->store, id, rc || !fine);
	if (!rc && fine && !deep)
		as_cuts_reach(w->cuts, id, NULL);
	as_cuts_end(w->cuts);
	return rc;
}

/* A state that is known: what is on the disk may be new, and what is recovered from it. A kernel
 * takes too long for that. */
static int judge_known(struct as_expander *w, const struct as_op *op, struct as_err *err)
{
	const struct as_checking *c = w->c;
	unsigned depth = c->options->depth;
	bool fine = true, deep = depth && as_store_at(c->store, w->id).depth + 1u >= depth;
	uint64_t wrote = 0;
	int rc;

	if (as_instance_can(w->instance, AS_INSTANCE_KERNEL) || c->reached)
		return 0;
	if (!deep)
		as_cuts_begin(w->cuts);
	rc = as_worker_cut_power(w, op, NULL, &fine, &wrote, err);
	if (!rc && fine && !deep && !c->shared->stop)
		as_cuts_reach(w->cuts, w->id, as_buf_str(&w->line));
	as_cuts_end(w->cuts);
	return rc;
}

int as_worker_reach(struct as_expander *w, const struct as_op *op, struct as_err *err)
{
	const struct as_checking *c = w->c;
	struct as_digest key = as_check_key(w->trial.model, w->past, w->era);
	struct as_store_state reached;
	bool known = false;
	uint32_t id;
	int rc = as_worker_disk_key(w, op, &key, err);

	if (rc)
		return rc;
	reached = (struct as_store_state){ .digest = key, .parent = w->id };
	switch (as_check_add(c, w->lane, &reached, as_buf_str(&w->line), &id)) {
	case AS_STORE_LATER:
	case AS_STORE_KNOWN:
		known = c->reached && c->unordered;
		if (known)
			break;
		return as_shard_owns(c, key) ? judge_known(w, op, err) : 0;
	case AS_STORE_FULL:
		return 0;
	case AS_STORE_SHORTER:
	case AS_STORE_NEW:
		break;
	}
	return judge_reached(w, op, id, known, as_shard_owns(c, key), err);
}
