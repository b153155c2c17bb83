/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gen: Algorithm 1 of Dogfood.
 *
 * A step picks a workload (P1: the queue's order favours longer ones), draws the type of a command
 * (P2: by the profile's weights, among those that the state has an inode for) and appends one
 * command for each typical inode (P3); looking at a state costs more than a draw, so it draws
 * several times. What leads to a state not explored before is queued; the workload picked stays in
 * the queue until it is as long as it may be. Mostly the next one picked is one of those just
 * queued (the profile's `dive`): workloads that have little in common beginnings reach states that
 * look different, where those picked all over the queue are cousins.
 *
 * A queued workload is a node of a tree (tree.h). A full queue drops one of the commonest length.
 */
#include "gen/gen.h"

#include "gen/finish.h"
#include "gen/refine.h"
#include "gen/tree.h"
#include "gen/walk.h"

#include <stdlib.h>

/* So many steps in a row, and one for each state that waits, without a new state or a workload mean
 * that nothing is left. */
#define BARREN_MAX 4096

struct as_gen {
	const struct as_profile *profile;
	const struct as_traits *traits;
	struct as_choice *choice;
	struct as_gen_view view;
	struct as_queue queue;
	struct as_visited visited;
	struct as_gen_walk walk;
	uint32_t weight[AS_OP_COUNT]; /* of core commands that the target can do */
	uint32_t ext_weight[AS_OP_COUNT]; /* of the others */
	struct as_gen_stats stats;
	void (*on_state)(void *ctx, const struct as_model *model);
	void *on_state_ctx;
	struct as_op built[AS_KMEANS_MAX];
	/* One of the workloads that the last step queued, counted; NULL: none was. */
	struct as_gnode *child;
	unsigned children; /* that it is one of */
};

bool as_gen_may(const struct as_traits *traits, enum as_opcode op)
{
	bool of_dirs = op == AS_OP_MKDIR || op == AS_OP_RMDIR || op == AS_OP_DEEPEN;

	return as_traits_may(traits, as_gen_rows[op].features) &&
	       !(of_dirs && traits->quirks & AS_QUIRK_FLAT);
}

void as_gen_weights(const struct as_profile *profile, const struct as_traits *traits,
		    uint32_t weight[AS_OP_COUNT])
{
	for (int i = 0; i < AS_OP_COUNT; i++)
		weight[i] = as_gen_may(traits, (enum as_opcode)i) ? profile->weight[i] : 0;
}

static struct as_digest state_digest(const struct as_gen *gen, const struct as_model *model)
{
	return gen->profile->prune == AS_PRUNE_EXACT ? as_model_digest(model)
						     : as_model_digest_canonical(model);
}

int as_gen_new(const struct as_profile *profile, const struct as_traits *traits,
	       struct as_choice *choice, struct as_gen **gen, struct as_err *err)
{
	struct as_gen *g = as_xcalloc(1, sizeof(*g));
	struct as_model *empty = as_model_new(traits);

	*gen = g;
	g->profile = profile;
	g->traits = traits;
	g->choice = choice;
	g->queue.order = profile->order;
	g->queue.bias = (unsigned)profile->bias;
	g->visited.max = profile->visited_max;
	as_view_init(&g->view, profile, choice);
	as_gen_walk_init(&g->walk, &g->view, traits);
	as_refine_weights(profile, traits, g->ext_weight);
	as_gen_weights(profile, traits, g->weight);
	for (int i = 0; i < AS_OP_COUNT; i++)
		if (as_op_table[i].layer != AS_LAYER_CORE)
			g->weight[i] = 0;
	as_view_look(&g->view, empty, false);
	as_visited_add(&g->visited, state_digest(g, empty));
	as_queue_push(&g->queue, 0, as_gnode_new(NULL, NULL, empty));
	if (as_view_draw_type(&g->view, g->weight) != AS_OP_COUNT)
		return 0;
	as_gen_free(g);
	*gen = NULL;
	return as_fail(err, AS_EUSE,
		       "profile %s: no possible command is left that could start a workload%s%s",
		       profile->title, traits->name ? " on " : "",
		       traits->name ? traits->name : "");
}

void as_gen_free(struct as_gen *gen)
{
	if (!gen)
		return;
	for (size_t l = 0; l < gen->queue.n_levels; l++)
		for (size_t i = 0; i < gen->queue.level[l].n; i++)
			as_gnode_put(gen->queue.level[l].item[i]);
	as_gnode_put(gen->child);
	as_queue_free(&gen->queue);
	as_visited_free(&gen->visited);
	as_gen_walk_free(&gen->walk);
	as_view_free(&gen->view);
	free(gen);
}

bool as_gen_left_out(const struct as_gen *gen, enum as_opcode code)
{
	uint64_t needs = as_gen_rows[code].features;

	return gen->profile->weight[code] && !as_traits_may(gen->traits, needs);
}

void as_gen_on_state(struct as_gen *gen, void (*fn)(void *ctx, const struct as_model *model),
		     void *ctx)
{
	gen->on_state = fn;
	gen->on_state_ctx = ctx;
}

struct as_gen_view *as_gen_view(struct as_gen *gen)
{
	return &gen->view;
}

void as_gen_stats(const struct as_gen *gen, struct as_gen_stats *stats)
{
	*stats = gen->stats;
	stats->queued = gen->queue.n;
	stats->forgotten = gen->visited.forgotten;
}

/* Line 14 to 18: one command more. */
static void append(struct as_gen *gen, struct as_gnode *node, const struct as_op *op)
{
	struct as_model *model = as_model_copy(node->model);
	int err = as_model_apply(model, op);
	struct as_gnode *child;
	bool fresh;

	/* Only what the semantics let through is built. */
	as_assert(err == 0);
	gen->stats.extended++;
	fresh = as_visited_add(&gen->visited, state_digest(gen, model));
	if (fresh && gen->on_state)
		gen->on_state(gen->on_state_ctx, model);
	as_model_free(model);
	if (!fresh)
		return;
	gen->stats.fresh++;
	child = as_gnode_new(node, op, NULL);
	as_queue_push(&gen->queue, node->length + 1, child);
	if (as_choose(gen->choice, ++gen->children) == 0) {
		as_gnode_put(gen->child);
		gen->child = child;
		child->ref++;
	}
}

/* One iteration; the workload picked, or NULL. *last: it has left the queue and is the caller's to
 * put. */
static struct as_gnode *step(struct as_gen *gen, bool *last)
{
	struct as_queue_place place;
	struct as_gnode *node = NULL, *child = gen->child;
	enum as_opcode code = AS_OP_COUNT;
	bool diving;
	unsigned n;

	*last = false;
	gen->child = NULL;
	gen->children = 0;
	if (child && child->length < gen->profile->length_max &&
	    as_draw_chance(gen->choice, gen->profile->dive))
		node = child;
	diving = node != NULL;
	if (!diving) {
		as_gnode_put(child);
		node = as_queue_pick(&gen->queue, gen->choice, &place);
	}
	if (!node)
		return NULL;
	gen->stats.picked++;
	if (node->length >= gen->profile->length_max) {
		as_queue_remove(&gen->queue, place);
		*last = true;
		return node;
	}
	as_view_look(&gen->view, as_gnode_model(node, &gen->view), false);
	for (uint64_t t = 0; t < gen->profile->types; t++) {
		code = as_view_draw_type(&gen->view, gen->weight);
		if (code == AS_OP_COUNT)
			break;
		n = as_view_build(&gen->view, node->model, code, gen->built);
		for (unsigned i = 0; i < n; i++)
			append(gen, node, &gen->built[i]);
		/* chcwd has looked at the whole tree. */
		if (as_gen_rows[code].subject == AS_SUBJECT_GOAL)
			as_view_look(&gen->view, node->model, false);
	}
	if (diving) {
		*last = true;
	} else if (code == AS_OP_COUNT) {
		as_queue_remove(&gen->queue, place);
		*last = true;
	}
	return node;
}

static void keep_bound(struct as_gen *gen)
{
	while (gen->queue.n > gen->profile->queue_max) {
		as_gnode_put(as_queue_evict(&gen->queue, gen->choice));
		gen->stats.evicted++;
	}
}

bool as_gen_step(struct as_gen *gen)
{
	bool last;
	struct as_gnode *node = step(gen, &last);

	if (last)
		as_gnode_put(node);
	keep_bound(gen);
	return node != NULL;
}

/* The same core workload twice is of no use; with drawn arguments it is another one. */
static bool worth_giving(const struct as_gen *gen, const struct as_gnode *node,
			 enum as_gen_layer layer)
{
	return node->length >= gen->profile->length_min && !(node->given && layer == AS_GEN_CORE);
}

static struct as_seq *give(struct as_gen *gen, struct as_gnode *node, enum as_gen_layer layer)
{
	struct as_seq *seq = as_gnode_seq(node, &gen->view), *finer;
	const struct as_profile *p = gen->profile;
	struct as_model *end;
	size_t steps = p->walk_min;

	node->given = true;
	gen->stats.given++;
	if (layer < AS_GEN_EXT)
		return seq;
	finer = as_refine_extend(seq, &gen->view, gen->ext_weight, gen->traits, &gen->stats, &end);
	as_seq_free(seq);
	if (layer >= AS_GEN_SYNTAX)
		as_refine_fill(finer, &gen->view.index, p, gen->choice);
	if (p->walk_max > p->walk_min)
		steps += as_choose(gen->choice, (unsigned)(p->walk_max - p->walk_min) + 1);
	as_gen_walk_append(&gen->walk, end, steps, layer >= AS_GEN_SYNTAX, finer);
	if (layer >= AS_GEN_SYNTAX) {
		uint64_t number = gen->stats.given - 1;

		as_places_move(finer, p, gen->traits, gen->choice);
		as_spare_space(finer, p, gen->choice);
		as_direct_align(finer, p, gen->choice);
		as_spell_names(finer, p, gen->traits, number);
		finer = as_reuse_blocks(finer, p, gen->traits, number);
		as_mark_data(finer, p, gen->traits, number);
	}
	as_model_free(end);
	return finer;
}

struct as_seq *as_gen_next(struct as_gen *gen, enum as_gen_layer layer)
{
	uint64_t barren = 0, fresh = gen->stats.fresh;

	while (barren++ < BARREN_MAX + gen->queue.n) {
		struct as_seq *seq = NULL;
		bool last;
		struct as_gnode *node = step(gen, &last);

		if (!node)
			return NULL;
		if (worth_giving(gen, node, layer))
			seq = give(gen, node, layer);
		if (last)
			as_gnode_put(node);
		keep_bound(gen);
		if (seq)
			return seq;
		if (gen->stats.fresh != fresh)
			barren = 0;
		fresh = gen->stats.fresh;
	}
	return NULL;
}

void as_gen_tries(const struct as_gen *gen, struct as_profile *profile)
{
	as_aim_tries(gen->walk.aim, profile);
}
