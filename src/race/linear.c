/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * linear: the search (Wing and Gong, "Testing and verifying concurrent objects", 1993, with the
 * memory of Lowe, "Testing for linearizability", 2017).
 *
 * Method. The search goes depth first over states. A state is how many calls each thread has done,
 * and the model after them. The next call of a thread may come next unless another call that is
 * still to come ended before it began. Calls that ended earlier are tried first, which is the right
 * order most of the time. A copy of the model is O(1). Each state is entered only once: states are
 * told apart by the positions of the threads and the digest of the model, and states that are equal
 * in both have equal futures.
 *
 * First every call is one step. Only if no order explains everything, calls that the kernel does
 * not carry out at one moment are taken apart (linear_call.c says which and why).
 *
 * Invariants
 *   1. A state is left only by calls whose answers the model allowed: an end that is reached is an
 *      explanation.
 *   2. When it says that there is no explanation, everything was searched. A search that was cut
 *      short says that it gave up.
 */
#include "race/linear_priv.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define BEAT_STATES 256u

/* ---- States ---- */

static size_t node_bytes(const struct as_linear_search *x)
{
	return sizeof(struct as_linear_node) + x->n_threads * sizeof(struct as_linear_party);
}

struct as_linear_node *as_linear_copy(const struct as_linear_search *x,
				      const struct as_linear_node *from)
{
	struct as_linear_node *n = as_xmalloc(node_bytes(x));

	/* Most states have no promise: those that are not there are not copied. */
	memcpy(n, from, offsetof(struct as_linear_node, promise));
	memcpy(n->promise, from->promise, from->n_promises * sizeof(from->promise[0]));
	memcpy(n->party, from->party, x->n_threads * sizeof(from->party[0]));
	n->m = as_model_copy(from->m);
	return n;
}

void as_linear_free(struct as_linear_node *n)
{
	if (!n)
		return;
	as_model_free(n->m);
	free(n);
}

struct as_digest as_linear_digest(const struct as_linear_search *x, const struct as_linear_node *n)
{
	struct as_digest digest = as_digest_bind(as_model_digest(n->m), as_linear_touch_key(x, n));

	for (uint32_t t = 0; t < x->n_threads; t++) {
		const struct as_linear_party *p = &n->party[t];
		uint64_t key = (uint64_t)p->next << 32 | (uint64_t)p->stage << 16 |
			       (uint64_t)p->links << 8 | p->seen;

		digest = as_digest_bind(digest, key);
		for (int k = 0; k < 2 && p->stage; k++)
			if (p->rest[k])
				digest = as_digest_bind(digest,
							as_hash64(p->rest[k], strlen(p->rest[k])));
	}
	return digest;
}

/* False: the search was in this state before, or it has to stop. */
static bool visit(struct as_linear_search *x, const struct as_linear_node *n)
{
	struct as_digest digest = as_linear_digest(x, n);

	if (as_digests_has(&x->visited, digest))
		return false;
	if (x->result->states >= x->max_states) {
		x->gave_up = true;
		return false;
	}
	x->result->states++;
	if (x->how->beat && x->result->states % BEAT_STATES == 0)
		x->how->beat(x->how->ctx);
	return as_digests_add(&x->visited, digest);
}

/* ---- The search ---- */

static bool is_over(const struct as_linear_search *x, const struct as_linear_node *n, uint32_t t)
{
	return n->party[t].next == x->n_of[t];
}

/* The threads that may come next, those whose call ended earlier first. */
uint32_t as_linear_who_is_next(const struct as_linear_search *x, const struct as_linear_node *n,
			       uint32_t *threads)
{
	uint64_t first_end = UINT64_MAX;
	uint32_t count = 0;

	for (uint32_t t = 0; t < x->n_threads; t++)
		if (!is_over(x, n, t) && linear_next(x, n, t)->end < first_end)
			first_end = linear_next(x, n, t)->end;
	for (uint32_t t = 0; t < x->n_threads; t++) {
		uint32_t at = count;

		if (is_over(x, n, t) || linear_next(x, n, t)->begin > first_end)
			continue;
		for (; at && linear_next(x, n, threads[at - 1])->end > linear_next(x, n, t)->end;
		     at--)
			threads[at] = threads[at - 1];
		threads[at] = t;
		count++;
	}
	return count;
}

static bool at_end(struct as_linear_search *x, const struct as_linear_node *n)
{
	struct as_linear_result *r = x->result;
	struct as_buf why = { 0 };
	bool right = !x->how->ends || x->how->ends(x->how->ctx, n->m, &why);

	if (right) {
		as_linear_count(x, &r->raced);
		r->last = as_model_copy(n->m);
		memcpy(r->order, x->order, x->how->n * sizeof(*r->order));
		r->n_order = x->how->n;
	} else if (!x->reached) {
		as_buf_clear(&r->why);
		as_buf_adds(&r->why, as_buf_str(&why));
		memcpy(r->order, x->order, x->how->n * sizeof(*r->order));
		r->n_order = x->how->n;
	}
	x->reached = true;
	as_buf_free(&why);
	return right;
}

static void keep_best(struct as_linear_search *x, const struct as_linear_node *n)
{
	/* With a promise that nobody keeps in the end, the state explains less than it seems. */
	if (x->best && (n->done <= x->best->done || n->n_promises))
		return;
	as_linear_free(x->best);
	x->best = as_linear_copy(x, n);
	if (!x->reached) {
		memcpy(x->result->order, x->order, n->done * sizeof(*x->order));
		x->result->n_order = n->done;
	}
}

static bool explore(struct as_linear_search *x, const struct as_linear_node *n);

static bool try_step(struct as_linear_search *x, const struct as_linear_node *n, uint32_t thread,
		     bool apart)
{
	size_t call = x->of[thread][n->party[thread].next];
	struct as_linear_node *next = as_linear_copy(x, n);
	bool found = false, again = x->watched[call] && n->party[thread].stage;
	struct as_linear_touch touch;

	/* A call that is taken apart has changed something in its earlier steps. */
	if (again)
		touch = x->touch[call];

	as_linear_number(x, next->m, call);
	if (as_linear_step(x, next, thread, apart) && as_linear_settle(x, n, next, call)) {
		if (next->done > n->done)
			x->order[n->done] = call;
		found = explore(x, next);
	}
	if (again)
		x->touch[call] = touch;
	as_linear_free(next);
	return found;
}

static bool explore(struct as_linear_search *x, const struct as_linear_node *n)
{
	uint32_t threads[AS_LINEAR_THREADS_MAX], count;

	if (!visit(x, n))
		return false;
	keep_best(x, n);
	if (n->done == x->how->n)
		return at_end(x, n);
	count = as_linear_who_is_next(x, n, threads);
	for (uint32_t i = 0; i < count && !x->gave_up; i++) {
		uint32_t t = threads[i];
		bool begun = n->party[t].stage;
		uint8_t leeway = x->leeway[x->of[t][n->party[t].next]];

		if (!begun && try_step(x, n, t, false))
			return true;
		if ((begun || (x->apart && leeway & LINEAR_APART)) && try_step(x, n, t, true))
			return true;
	}
	return false;
}

/* ---- Before and after ---- */

static int by_begin(const void *a, const void *b, void *ctx)
{
	const struct as_linear_call *calls = ctx;
	uint64_t x = calls[*(const size_t *)a].begin, y = calls[*(const size_t *)b].begin;

	return x < y ? -1 : x > y;
}

static void sort_calls(struct as_linear_search *x)
{
	const struct as_linear *how = x->how;

	for (size_t i = 0; i < how->n; i++) {
		as_assert(how->calls[i].thread < AS_LINEAR_THREADS_MAX);
		as_assert(how->calls[i].begin < how->calls[i].end);
		if (how->calls[i].thread >= x->n_threads)
			x->n_threads = how->calls[i].thread + 1;
	}
	for (uint32_t t = 0; t < x->n_threads; t++) {
		x->of[t] = as_xcalloc(how->n, sizeof(*x->of[t]));
		for (size_t i = 0; i < how->n; i++)
			if (how->calls[i].thread == t)
				x->of[t][x->n_of[t]++] = i;
		qsort_r(x->of[t], x->n_of[t], sizeof(*x->of[t]), by_begin, (void *)how->calls);
		for (uint32_t i = 0; i < x->n_of[t]; i++)
			x->place[x->of[t][i]] = i;
	}
}

struct as_linear_node *as_linear_begin(const struct as_linear_search *x)
{
	struct as_linear_node *first = as_xcalloc(1, node_bytes(x));

	first->m = as_model_copy(x->how->first);
	return first;
}

static bool search_once(struct as_linear_search *x, bool apart)
{
	struct as_linear_node *first = as_linear_begin(x);
	bool found;

	x->apart = apart;
	x->reached = x->gave_up = false;
	as_linear_free(x->best);
	x->best = NULL;
	found = explore(x, first);
	as_digests_free(&x->visited);
	as_linear_free(first);
	return found;
}

/* Says why the longest partial explanation cannot be continued: the next call, and what the model
 * says about it. */
static void blame(struct as_linear_search *x)
{
	struct as_linear_result *r = x->result;
	uint32_t threads[AS_LINEAR_THREADS_MAX], count = as_linear_who_is_next(x, x->best, threads);

	for (uint32_t i = 0; i < count; i++) {
		const struct as_linear_call *c = linear_next(x, x->best, threads[i]);
		struct as_model *m = as_model_copy(x->best->m);
		bool agrees = as_model_judge(m, c->op, &c->got, &x->verdict);

		as_model_free(m);
		/* A call that could come next, but leads nowhere, is not the cause: another one
		 * is. */
		if (agrees && i + 1 < count)
			continue;
		r->guilty = (size_t)(c - x->how->calls);
		as_buf_clear(&r->why);
		as_buf_adds(&r->why, agrees ? "what it answered leads nowhere"
					    : as_buf_str(&x->verdict.why));
		return;
	}
}

void as_linear_close(struct as_linear_search *x)
{
	for (uint32_t t = 0; t < x->n_threads; t++)
		free(x->of[t]);
	as_linear_free(x->best);
	free(x->place);
	free(x->leeway);
	free(x->touch);
	free(x->watched);
	free(x->watches);
	free(x->inode);
	free(x->about);
	free(x->order);
	as_arena_free(&x->texts);
	as_verdict_free(&x->verdict);
	as_buf_free(&x->text[0]);
	as_buf_free(&x->text[1]);
}

bool as_linear_open(struct as_linear_search *x, const struct as_linear *how,
		    struct as_linear_result *result)
{
	bool apart = false;

	*x = (struct as_linear_search){ .how = how, .result = result };
	*result = (struct as_linear_result){ .guilty = how->n };
	x->max_states = how->max_states ? how->max_states : AS_LINEAR_STATES_MAX;
	x->place = as_xcalloc(how->n + 1, sizeof(*x->place));
	x->touch = as_xmalloc((how->n + 1) * sizeof(*x->touch));
	x->watched = as_xcalloc(how->n + 1, sizeof(*x->watched));
	x->watches = as_xcalloc(how->n + 1, sizeof(*x->watches));
	x->inode = as_xcalloc(how->n + 1, sizeof(*x->inode));
	x->about = as_xcalloc(how->n + 1, sizeof(*x->about));
	x->leeway = as_xcalloc(how->n + 1, sizeof(*x->leeway));
	x->order = as_xcalloc(how->n + 1, sizeof(*x->order));
	result->order = as_xcalloc(how->n + 1, sizeof(*result->order));
	sort_calls(x);
	as_linear_mark(x);
	for (size_t i = 0; i < how->n; i++)
		apart |= (x->leeway[i] & LINEAR_APART) != 0;
	return apart;
}

void as_linear_judge(const struct as_linear *how, struct as_linear_result *result)
{
	struct as_linear_search x;
	bool found, apart = as_linear_open(&x, how, result);

	result->raced.n[AS_RACED_CALLS] = how->n;
	found = search_once(&x, false);
	if (!found && apart && !x.gave_up) {
		result->taken_apart = true;
		found = search_once(&x, true);
	}
	if (found) {
		result->answer = AS_LINEAR_EXPLAINED;
	} else if (x.gave_up || x.mixed) {
		result->answer = AS_LINEAR_GAVE_UP;
		result->raced.n[AS_RACED_LOST] = how->n;
	} else if (x.reached) {
		result->answer = AS_LINEAR_WRONG_END;
	} else {
		result->answer = AS_LINEAR_UNEXPLAINED;
		blame(&x);
	}
	as_linear_close(&x);
}

void as_linear_result_free(struct as_linear_result *result)
{
	as_model_free(result->last);
	free(result->order);
	as_buf_free(&result->why);
	*result = (struct as_linear_result){ 0 };
}
