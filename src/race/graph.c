/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * graph: see graph.h.
 *
 * Method. The search is that of linear.c, but it does not stop at the first explanation, and keeps
 * each state with the steps that lead on from it. Calls that may be taken apart are tried both ways
 * at once: that one order needs no such call does not mean that it is the one that happened.
 *
 * A call that never changes what others see (a look, an fsync, a call that failed), and whose
 * answer is right at once, is done at once, and nothing else is tried: in any order in which it
 * comes later it can be moved here, and the answers of the others stay explained.
 * Thus orders that differ only in such calls are one. For an fsync this is the earliest moment that
 * it can have looked at the file, and so the one with which it promises least.
 *
 * Invariants
 *   1. Steps lead from a state to a later one: there are no cycles. `post` has the states in an
 *      order in which those that a state leads to come before it.
 *   2. A state is live if all calls that had ended are done there, or if a step leads to a live
 *      one.
 */
#include "race/graph.h"

#include "base/array.h"
#include "base/table.h"
#include "model/persist.h"
#include "race/linear_priv.h"

#include <stdlib.h>
#include <string.h>

struct graph_edge {
	uint32_t to;
	uint32_t call;
	bool ends;
};

struct graph_node {
	struct as_digest digest;
	struct as_model *m;
	struct graph_edge *edge;
	uint32_t n_edges;
	size_t cap_edges;
	bool live;
};

struct as_graph {
	struct graph_node *node;
	size_t n, cap;
	uint32_t *post;
	size_t n_post, cap_post;
	struct as_table table; /* of nodes */
};

struct graph_building {
	struct as_graph *g;
	struct as_linear_search x;
	uint64_t moment;
	size_t max;
	bool too_many;
};

/* ---- Building ---- */

struct graph_wanted {
	const struct as_graph *g;
	struct as_digest digest;
};

static bool is_node(const void *ctx, size_t i)
{
	const struct graph_wanted *w = ctx;

	return as_digest_eq(w->g->node[i].digest, w->digest);
}

/* Which inode each name leads to. */
static void add_edge(void *ctx, uint32_t dir, const char *name, uint32_t before, uint32_t after)
{
	(void)before;
	*(uint64_t *)ctx += as_mix64(as_hash64(name, strlen(name)) ^ (uint64_t)dir << 32 ^ after);
}

static void add_inode(void *ctx, const struct as_node *before, const struct as_node *after,
		      unsigned what)
{
	(void)before;
	(void)what;
	*(uint64_t *)ctx += as_mix64((uint64_t)after->ino << 32 ^ after->nlink);
}

/* States with equal trees differ if the files in them were made by different calls: what was
 * promised of one says nothing about the other. */
static struct as_digest digest_of(const struct graph_building *b, const struct as_linear_node *n)
{
	static const struct as_changes_ops ops = { .inode = add_inode, .edge = add_edge };
	uint64_t sum = 0;

	as_model_changes(NULL, n->m, &ops, &sum);
	return as_digest_bind(as_linear_digest(&b->x, n), sum);
}

/* Whether the call changes nothing that others can see, whenever it comes, if it answers this. An
 * open may find another file then, and a close may be the end of one. */
static bool is_quiet(const struct as_linear_call *c)
{
	switch (c->op->code) {
	case AS_OP_OPEN:
	case AS_OP_CLOSE:
	case AS_OP_FLOCK:
	case AS_OP_MMAP:
	case AS_OP_MUNMAP:
		return c->got.ret < 0;
	default:
		return c->got.ret < 0 || !as_op_table[c->op->code].changes;
	}
}

static bool has_all(const struct graph_building *b, const struct as_linear_node *n)
{
	for (uint32_t t = 0; t < b->x.n_threads; t++)
		if (n->party[t].next < b->x.n_of[t] && linear_next(&b->x, n, t)->end < b->moment)
			return false;
	return true;
}

static uint32_t enter(struct graph_building *b, const struct as_linear_node *n);

static void lead_on(struct graph_building *b, uint32_t from, const struct as_linear_node *n,
		    const struct as_linear_node *next, size_t call)
{
	uint32_t to = enter(b, next);
	struct graph_node *node = &b->g->node[from];

	if (b->too_many)
		return;
	AS_ARRAY_ROOM(node->edge, node->n_edges, node->cap_edges);
	node->edge[node->n_edges++] =
		(struct graph_edge){ to, (uint32_t)call, next->done > n->done };
	node->live |= b->g->node[to].live;
}

enum trial { ONLY_QUIET, WHOLE, APART };

/* True: nothing else need be tried. */
static bool try(struct graph_building *b, uint32_t from, const struct as_linear_node *n,
		uint32_t thread, enum trial trial)
{
	struct as_linear_search *x = &b->x;
	size_t call = x->of[thread][n->party[thread].next];
	struct as_linear_node *next = as_linear_copy(x, n);
	struct as_linear_touch touch = x->touch[call];
	bool fits, quiet;

	if (trial == ONLY_QUIET && !is_quiet(&x->how->calls[call])) {
		as_linear_free(next);
		return false;
	}
	as_linear_number(x, next->m, call);
	fits = as_linear_step(x, next, thread, trial == APART) &&
	       as_linear_settle(x, n, next, call);
	quiet = fits && trial == ONLY_QUIET && next->n_promises == n->n_promises;
	if (fits && (quiet || trial != ONLY_QUIET))
		lead_on(b, from, n, next, call);
	x->touch[call] = touch;
	as_linear_free(next);
	return quiet;
}

static void try_all(struct graph_building *b, uint32_t from, const struct as_linear_node *n)
{
	uint32_t threads[AS_LINEAR_THREADS_MAX];
	uint32_t count = as_linear_who_is_next(&b->x, n, threads);

	for (uint32_t i = 0; i < count; i++)
		if (!n->party[threads[i]].stage && try(b, from, n, threads[i], ONLY_QUIET))
			return;
	for (uint32_t i = 0; i < count && !b->too_many; i++) {
		uint32_t t = threads[i];
		bool begun = n->party[t].stage;
		uint8_t leeway = b->x.leeway[b->x.of[t][n->party[t].next]];

		if (!begun)
			(void)try(b, from, n, t, WHOLE);
		if ((begun || leeway & LINEAR_APART) && !b->too_many)
			(void)try(b, from, n, t, APART);
	}
}

static uint32_t enter(struct graph_building *b, const struct as_linear_node *n)
{
	struct as_graph *g = b->g;
	struct graph_wanted w = { g, digest_of(b, n) };
	size_t at = as_table_find(&g->table, w.digest.lo, is_node, &w);
	uint32_t i = (uint32_t)g->n;

	if (at != AS_TABLE_NONE)
		return (uint32_t)at;
	if (g->n >= b->max) {
		b->too_many = true;
		return 0;
	}
	if (b->x.how->beat && g->n % 64 == 63)
		b->x.how->beat(b->x.how->ctx);
	AS_ARRAY_ROOM(g->node, g->n, g->cap);
	g->node[g->n++] = (struct graph_node){
		.digest = w.digest,
		.m = as_model_copy(n->m),
		.live = has_all(b, n),
	};
	as_table_add(&g->table, w.digest.lo, i);
	try_all(b, i, n);
	AS_ARRAY_ROOM(g->post, g->n_post, g->cap_post);
	g->post[g->n_post++] = i;
	return i;
}

struct as_graph *as_graph_new(const struct as_linear *how, uint64_t moment, size_t max,
			      bool *too_many)
{
	struct graph_building b = { .moment = moment, .max = max };
	struct as_linear_result unused;
	struct as_linear_node *first;

	b.g = as_xcalloc(1, sizeof(*b.g));
	(void)as_linear_open(&b.x, how, &unused);
	b.x.numbered = true;
	first = as_linear_begin(&b.x);
	(void)enter(&b, first);
	b.too_many |= b.x.mixed;
	as_linear_free(first);
	as_linear_close(&b.x);
	as_linear_result_free(&unused);
	*too_many = b.too_many;
	if (b.too_many || !b.g->node[0].live) {
		as_graph_free(b.g);
		return NULL;
	}
	return b.g;
}

void as_graph_free(struct as_graph *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->n; i++) {
		as_model_free(g->node[i].m);
		free(g->node[i].edge);
	}
	free(g->node);
	free(g->post);
	as_table_free(&g->table);
	free(g);
}

size_t as_graph_len(const struct as_graph *g)
{
	return g->n;
}

const struct as_model *as_graph_state(const struct as_graph *g, size_t i)
{
	return g->node[i].m;
}

bool as_graph_is_live(const struct as_graph *g, size_t i)
{
	return g->node[i].live;
}

/* ---- Orders ---- */

struct graph_walk {
	const struct as_graph *g;
	bool *leads; /* to the state that is gone through; NULL: none is */
	size_t through;
	uint64_t left; /* orders that may still be visited */
	bool (*visit)(void *ctx, const struct as_graph_step *steps, size_t n);
	void *ctx;
	struct as_graph_step *step;
	size_t cap;
	bool too_many;
};

/* passed: the state has been gone through. */
static bool walk(struct graph_walk *w, size_t at, size_t n, bool passed)
{
	const struct graph_node *node = &w->g->node[at];
	bool on = false;

	passed |= !w->leads || at == w->through;
	for (uint32_t i = 0; i < node->n_edges && !w->too_many; i++) {
		const struct graph_edge *edge = &node->edge[i];

		if (!w->g->node[edge->to].live || (!passed && !w->leads[edge->to]))
			continue;
		on = true;
		AS_ARRAY_ROOM(w->step, n, w->cap);
		w->step[n] =
			(struct as_graph_step){ edge->call, w->g->node[edge->to].m, edge->ends };
		if (walk(w, edge->to, n + 1, passed))
			return true;
	}
	if (on || !passed)
		return false;
	if (!w->left) {
		w->too_many = true;
		return false;
	}
	w->left--;
	return w->visit(w->ctx, w->step, n);
}

enum as_graph_end
as_graph_orders(const struct as_graph *g, size_t through, uint64_t max,
		bool (*visit)(void *ctx, const struct as_graph_step *steps, size_t n), void *ctx)
{
	struct graph_walk w = {
		.g = g, .through = through, .left = max, .visit = visit, .ctx = ctx
	};
	bool found;

	if (through != AS_GRAPH_ANY) {
		w.leads = as_xcalloc(g->n, sizeof(*w.leads));
		for (size_t i = 0; i < g->n; i++) {
			const struct graph_node *node = &g->node[g->post[i]];
			bool *leads = &w.leads[g->post[i]];

			*leads = g->post[i] == through;
			for (uint32_t k = 0; k < node->n_edges && !*leads; k++)
				*leads = w.leads[node->edge[k].to];
		}
	}
	found = g->node[0].live && walk(&w, 0, 0, false);
	free(w.leads);
	free(w.step);
	return found ? AS_GRAPH_FOUND : w.too_many ? AS_GRAPH_TOO_MANY : AS_GRAPH_ALL;
}
