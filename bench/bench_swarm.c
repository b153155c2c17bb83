/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_swarm: how a search that is divided among many machines would do. All numbers are counts,
 * so that they do not depend on the machine. The graph is real: states that the model comes to from
 * an empty file system with up to three nodes, and what leads from one to another.
 *
 * Two ways to divide it are simulated for 1 to 1,000 shards.
 *   follow    what `check --shard K/N` does: a state belongs to one shard by its digest, which
 *             alone carries its transitions out. All others follow them in the model. Nothing is
 *             exchanged.
 *   exchange  shards share a folder. At a checkpoint each writes the digests of the states that it
 *             has expanded, and the states that it has found, and reads the files of all others.
 *             Between two checkpoints it expands up to EACH states that it knows: any of them
 *             (`any`), or only those that are its own by their digest (`own`). In one step each
 *             shard expands one state.
 *
 * Counted are: overlap, expansions that another shard has done, too, in percent of the states;
 * speedup, states divided by steps; files and megabytes that all shards read until all is explored.
 */
#include "bench/bench.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/table.h"
#include "check/universe.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATES_MAX 50000u
#define NODES 3u
#define DIGEST_BYTES 16u
#define STATE_BYTES 48u /* a digest, its parent's, and the operation between them */

static const struct as_traits traits = { .name = "bench", AS_TRAITS_ANY };

struct graph {
	struct as_digest *digest;
	struct as_model **model; /* NULL once it is expanded */
	uint32_t *edge, *first; /* the edges of state i are from first[i] to first[i + 1] */
	uint64_t *tries; /* operations that can be tried in it, also those that change nothing */
	size_t n, cap, cap_model, n_edges, cap_edges, n_first, cap_first, n_tries, cap_tries;
	struct as_table by_digest;
};

static uint32_t graph_add(struct graph *g, struct as_model *model)
{
	struct as_digest digest = as_model_digest(model);
	size_t at = as_table_get(&g->by_digest, digest.lo);

	if (at != AS_TABLE_NONE || g->n == STATES_MAX) {
		as_model_free(model);
		return at == AS_TABLE_NONE ? UINT32_MAX : (uint32_t)at;
	}
	as_table_add(&g->by_digest, digest.lo, g->n);
	AS_ARRAY_ROOM(g->digest, g->n, g->cap);
	AS_ARRAY_ROOM(g->model, g->n, g->cap_model);
	g->digest[g->n] = digest;
	g->model[g->n] = model;
	return (uint32_t)g->n++;
}

static void graph_expand(struct graph *g, const struct as_universe *universe, size_t i)
{
	struct as_seq *moves = as_universe_moves(universe, g->model[i]);

	AS_ARRAY_ROOM(g->first, g->n_first, g->cap_first);
	g->first[g->n_first++] = (uint32_t)g->n_edges;
	AS_ARRAY_ROOM(g->tries, g->n_tries, g->cap_tries);
	g->tries[g->n_tries++] = moves->n;
	for (size_t m = 0; m < moves->n; m++) {
		struct as_model *next = as_model_copy(g->model[i]);
		uint32_t to = UINT32_MAX;

		if (as_model_apply(next, &moves->ops[m]))
			as_model_free(next);
		else
			to = graph_add(g, next);
		if (to == UINT32_MAX || to == i)
			continue;
		AS_ARRAY_ROOM(g->edge, g->n_edges, g->cap_edges);
		g->edge[g->n_edges++] = to;
	}
	as_seq_free(moves);
	as_model_free(g->model[i]);
	g->model[i] = NULL;
}

static void graph_make(struct graph *g)
{
	struct as_model *empty = as_model_new(&traits);
	struct as_universe universe = as_universe_of(empty, NODES);

	graph_add(g, empty);
	for (size_t i = 0; i < g->n; i++)
		graph_expand(g, &universe, i);
	AS_ARRAY_ROOM(g->first, g->n_first, g->cap_first);
	g->first[g->n_first] = (uint32_t)g->n_edges;
}

static void graph_free(struct graph *g)
{
	as_table_free(&g->by_digest);
	free(g->digest);
	free(g->model);
	free(g->edge);
	free(g->first);
	free(g->tries);
}

static unsigned owner(const struct graph *g, size_t state, unsigned shards)
{
	return (unsigned)(as_mix64(g->digest[state].hi) % shards);
}

static void tell(as_bench_report report, const char *way, unsigned shards, const char *what,
		 double value, const char *unit)
{
	char name[64];

	snprintf(name, sizeof(name), "swarm.%s.%u.%s", way, shards, what);
	report(name, value, unit);
}

/* ---- follow ---------------------------------------------------------------------------------- */

static void follow(const struct graph *g, unsigned shards, as_bench_report report)
{
	uint64_t *own = as_xcalloc(shards, sizeof(*own)), all = 0, most = 0;

	for (size_t i = 0; i < g->n; i++) {
		own[owner(g, i, shards)] += g->tries[i];
		all += g->tries[i];
	}
	for (unsigned s = 0; s < shards; s++)
		if (own[s] > most)
			most = own[s];
	tell(report, "follow", shards, "carried_out", (double)most, "transitions at the most");
	tell(report, "follow", shards, "followed", (double)(all - most),
	     "transitions in the model");
	free(own);
}

/* ---- exchange -------------------------------------------------------------------------------- */

struct exchange {
	const struct graph *g;
	unsigned shards, each;
	bool own;
	bool *expanded;
	uint32_t *known; /* states that somebody has found by the last checkpoint, to be expanded */
	size_t n_known;
	uint32_t *next; /* those of the next one */
	size_t n_next;
	bool *found; /* it is in one of these, or was */
	bool *published; /* all know it since the last checkpoint, or an earlier one */
	uint64_t *mark; /* who has found it last, in which round */
	uint32_t *mine; /* what a shard may choose from */
	size_t n_mine;
	size_t *start; /* of the states of each shard in `known` (own) */
	uint64_t steps, expansions, written, checkpoints, seed;
};

/* A shard expands a state: what that leads to, it knows at once. */
static void expand(struct exchange *x, unsigned shard, uint32_t state, uint64_t stamp)
{
	const struct graph *g = x->g;

	x->expansions++;
	x->written += DIGEST_BYTES;
	x->expanded[state] = true;
	for (uint32_t e = g->first[state]; e < g->first[state + 1]; e++) {
		uint32_t to = g->edge[e];

		if (x->mark[to] == stamp || x->published[to])
			continue;
		if (!x->found[to]) {
			x->found[to] = true;
			x->next[x->n_next++] = to;
		}
		x->mark[to] = stamp;
		x->written += STATE_BYTES;
		if ((!x->own || owner(g, to, x->shards) == shard) && x->n_mine < g->n)
			x->mine[x->n_mine++] = to;
	}
}

/* What one shard does between two checkpoints; returns its steps. */
static unsigned shard_round(struct exchange *x, unsigned shard)
{
	uint64_t stamp = x->checkpoints * x->shards + shard + 1;
	unsigned steps = 0;

	size_t from = x->own ? x->start[shard] : 0, to = x->own ? x->start[shard + 1] : x->n_known;

	x->n_mine = to - from;
	memcpy(x->mine, x->known + from, x->n_mine * sizeof(*x->mine));
	for (; steps < x->each && x->n_mine; steps++) {
		size_t at = as_mix64(x->seed++) % x->n_mine;
		uint32_t state = x->mine[at];

		x->mine[at] = x->mine[--x->n_mine];
		expand(x, shard, state, stamp);
	}
	return steps;
}

/* The states of shard s are from start[s] to start[s + 1]. */
static void sort_by_owner(struct exchange *x)
{
	memset(x->start, 0, (x->shards + 2) * sizeof(*x->start));
	for (size_t i = 0; i < x->n_known; i++)
		x->start[owner(x->g, x->known[i], x->shards) + 2]++;
	for (unsigned s = 0; s < x->shards; s++)
		x->start[s + 2] += x->start[s + 1];
	for (size_t i = 0; i < x->n_known; i++)
		x->mine[x->start[owner(x->g, x->known[i], x->shards) + 1]++] = x->known[i];
	memcpy(x->known, x->mine, x->n_known * sizeof(*x->known));
}

static void exchange_round(struct exchange *x)
{
	unsigned most = 0;
	size_t n = 0;

	if (x->own)
		sort_by_owner(x);
	for (unsigned s = 0; s < x->shards; s++) {
		unsigned steps = shard_round(x, s);

		if (steps > most)
			most = steps;
	}
	x->steps += most;
	x->checkpoints++;
	for (size_t i = 0; i < x->n_known; i++)
		if (!x->expanded[x->known[i]])
			x->known[n++] = x->known[i];
	for (size_t i = 0; i < x->n_next; i++) {
		x->published[x->next[i]] = true;
		if (!x->expanded[x->next[i]])
			x->known[n++] = x->next[i];
	}
	x->n_known = n;
	x->n_next = 0;
}

static void exchange(const struct graph *g, unsigned shards, unsigned each, bool own,
		     as_bench_report report)
{
	struct exchange x = { .g = g, .shards = shards, .each = each, .own = own };
	char way[32];

	x.expanded = as_xcalloc(g->n, sizeof(*x.expanded));
	x.found = as_xcalloc(g->n, sizeof(*x.found));
	x.known = as_xcalloc(g->n, sizeof(*x.known));
	x.next = as_xcalloc(g->n, sizeof(*x.next));
	x.mine = as_xcalloc(g->n, sizeof(*x.mine));
	x.mark = as_xcalloc(g->n, sizeof(*x.mark));
	x.start = as_xcalloc(shards + 2, sizeof(*x.start));
	x.published = as_xcalloc(g->n, sizeof(*x.published));
	x.found[0] = x.published[0] = true;
	x.n_known = 1;
	while (x.n_known)
		exchange_round(&x);
	snprintf(way, sizeof(way), "exchange.%s.each%u", own ? "own" : "any", each);
	tell(report, way, shards, "overlap", 100.0 * (double)(x.expansions - g->n) / (double)g->n,
	     "%");
	tell(report, way, shards, "speedup", (double)g->n / (double)x.steps, "x");
	tell(report, way, shards, "files", (double)x.checkpoints * shards * (shards - 1), "read");
	tell(report, way, shards, "read", (double)x.written * (shards - 1) / 1e6, "MB");
	free(x.expanded);
	free(x.found);
	free(x.published);
	free(x.known);
	free(x.next);
	free(x.mine);
	free(x.mark);
	free(x.start);
}

void bench_swarm(as_bench_report report)
{
	static const unsigned shards[] = { 1, 10, 100, 1000 }, each[] = { 1, 16, 256 };
	struct graph g = { 0 };

	if (!as_bench_wants("swarm"))
		return;
	graph_make(&g);
	report("swarm.states", (double)g.n, "state");
	for (size_t i = 0; i < sizeof(shards) / sizeof(shards[0]); i++)
		follow(&g, shards[i], report);
	for (size_t i = 1; i < sizeof(shards) / sizeof(shards[0]); i++)
		for (size_t k = 0; k < sizeof(each) / sizeof(each[0]); k++)
			for (int own = 0; own < 2; own++)
				exchange(&g, shards[i], each[k], own, report);
	graph_free(&g);
}
