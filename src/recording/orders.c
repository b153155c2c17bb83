/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * orders: see orders.h.
 *
 * Method. The moments of the cuts divide a race into parts in which the same calls had begun and
 * ended. For each of them there is a graph of all orders (race/graph.h). One order gives a history
 * (legal/history.h), and with it the tree is judged as that of one thread.
 *
 * There may be many orders, so those are tried first that can fit. Where names and attributes are
 * those of one state (guarantee `prefix`), only orders through a state with the tree's names and
 * attributes can make it legal, and if there is no such state, none can. Otherwise all are tried.
 *
 * Invariants
 *   1. A tree is refused only if every order refuses it that could allow it. If there are more than
 *      ORDERS_MAX of them, it is unjudged.
 *   2. What can have reached the disk are calls that had begun, in any order that their answers
 *      allow. Calls that began later cannot rule an order out: what they saw was in memory.
 */
#include "recording/orders.h"

#include "base/array.h"
#include "base/digests.h"
#include "race/graph.h"
#include "work/print.h"

#include <stdlib.h>
#include <string.h>

#define ORDERS_MAX 256u
#define STATES_MAX 4000u

/* The time in which the same calls had begun and ended. */
struct orders_part {
	struct as_moment moment;
	struct as_linear_call *calls; /* that had begun */
	size_t *number; /* of each of them */
	size_t n;
	struct as_graph *graph; /* NULL: nothing can be said */
	struct as_history **state; /* of each state of the graph, with it alone; made when needed */
	bool single; /* some call makes single files stable */
	struct as_digests legal, unjudged; /* trees */
};

struct as_orders {
	struct as_model *first;
	struct as_policy policy;
	struct as_linear_call *call;
	size_t n, n_raced; /* the others were made by one thread, after the race */
	size_t cap;
	struct as_seq *added; /* their operations */
	bool atomic;
	struct orders_part **part;
	size_t n_parts, cap_parts;
	struct as_legal trial;
};

struct as_orders *as_orders_new(const struct as_model *first, const struct as_policy *policy,
				struct as_race_history *history)
{
	struct as_orders *o = as_xcalloc(1, sizeof(*o));

	o->first = as_model_copy(first);
	o->policy = *policy;
	o->call = history->calls;
	o->n = o->n_raced = o->cap = history->n;
	o->atomic = history->atomic;
	o->added = as_seq_new();
	history->calls = NULL;
	history->n = 0;
	return o;
}

static void free_part(struct orders_part *p)
{
	for (size_t i = 0; i < (p->graph ? as_graph_len(p->graph) : 0); i++)
		as_history_free(p->state[i]);
	free(p->state);
	as_graph_free(p->graph);
	as_digests_free(&p->legal);
	as_digests_free(&p->unjudged);
	free(p->calls);
	free(p->number);
	free(p);
}

void as_orders_free(struct as_orders *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->n_parts; i++)
		free_part(o->part[i]);
	for (size_t i = 0; i < o->n; i++)
		free((void *)o->call[i].got.data);
	free(o->part);
	free(o->call);
	as_model_free(o->first);
	as_seq_free(o->added);
	as_legal_free(&o->trial);
	free(o);
}

void as_orders_add(struct as_orders *o, const struct as_op *op, const struct as_outcome *got,
		   uint64_t begin, uint64_t end)
{
	size_t n_added = o->n - o->n_raced;

	(void)as_seq_add(o->added, op);
	AS_ARRAY_ROOM(o->call, o->n, o->cap);
	o->call[o->n] = (struct as_linear_call){
		.got = *got, .begin = begin, .end = end, .thread = AS_LINEAR_THREADS_MAX - 1
	};
	o->call[o->n].got.data = NULL;
	o->call[o->n].got.payload = AS_PAYLOAD_NONE;
	o->n++;
	/* The sequence may have moved. */
	for (size_t i = 0; i <= n_added; i++)
		o->call[o->n_raced + i].op = &o->added->ops[i];
}

struct as_digest as_orders_digest(const struct as_orders *o)
{
	struct as_digest digest = as_digest_bind(as_model_digest(o->first), 23);
	struct as_buf text = { 0 };

	for (size_t i = 0; i < o->n; i++) {
		const struct as_linear_call *c = &o->call[i];

		as_buf_clear(&text);
		as_print_op(c->op, &text);
		as_outcome_print(&c->got, &text);
		as_buf_addf(&text, " %llu %llu %u", (unsigned long long)c->begin,
			    (unsigned long long)c->end, c->thread);
		digest = as_digest_add(as_digest_bind(digest, 1),
				       as_hash(as_buf_str(&text), text.len));
	}
	as_buf_free(&text);
	return digest;
}

/* ---- Parts ---- */

static bool is_single(const struct as_op *op)
{
	enum as_persists persists = as_op_table[op->code].persists;

	return (persists != AS_PERSISTS_NOTHING && persists != AS_PERSISTS_ALL) ||
	       (op->code == AS_OP_OPEN && op->flags & (AS_O_SYNC | AS_O_DSYNC)) ||
	       op->code == AS_OP_PWRITEV2;
}

static struct orders_part *part_new(const struct as_orders *o, struct as_moment moment)
{
	struct orders_part *p = as_xcalloc(1, sizeof(*p));
	struct as_linear how = { .first = o->first, .atomic = o->atomic };
	bool too_many;

	p->moment = moment;
	p->single = o->policy.sync || o->policy.dirsync;
	p->calls = as_xcalloc(o->n + 1, sizeof(*p->calls));
	p->number = as_xcalloc(o->n + 1, sizeof(*p->number));
	for (size_t i = 0; i < o->n; i++) {
		if (o->call[i].begin >= moment.begun)
			continue;
		p->number[p->n] = i;
		p->calls[p->n++] = o->call[i];
		p->single |= is_single(o->call[i].op);
	}
	how.calls = p->calls;
	how.n = p->n;
	p->graph = as_graph_new(&how, moment.done, STATES_MAX, &too_many);
	if (p->graph)
		p->state = as_xcalloc(as_graph_len(p->graph), sizeof(*p->state));
	return p;
}

static struct orders_part *part_of(struct as_orders *o, struct as_moment moment)
{
	for (size_t i = 0; i < o->n_parts; i++)
		if (o->part[i]->moment.done == moment.done &&
		    o->part[i]->moment.begun == moment.begun)
			return o->part[i];
	AS_ARRAY_ROOM(o->part, o->n_parts, o->cap_parts);
	o->part[o->n_parts] = part_new(o, moment);
	return o->part[o->n_parts++];
}

/* ---- One order ---- */

struct orders_trial {
	const struct as_orders *o;
	struct orders_part *part;
	enum as_way way;
	const struct as_tree *tree;
	struct as_legal *verdict;
};

static bool overlaps_any(const struct orders_part *p, size_t call)
{
	const struct as_linear_call *a = &p->calls[call];

	for (size_t i = 0; i < p->n; i++)
		if (i != call && p->calls[i].begin < a->end && a->begin < p->calls[i].end)
			return true;
	return a->end >= p->moment.done;
}

/* What sync(2) has sent to a disk whose type sends no flush is not stable when it returns; in a
 * race nobody flushes for it. */
static bool may_promise(const struct orders_trial *t, size_t call)
{
	const struct as_linear_call *c = &t->part->calls[call];

	return c->end < t->part->moment.done &&
	       !(t->o->policy.guarantee == AS_GUARANTEE_REPAIR &&
		 t->part->number[call] < t->o->n_raced &&
		 as_op_table[c->op->code].persists == AS_PERSISTS_ALL);
}

static struct as_history *history_of(const struct orders_trial *t,
				     const struct as_graph_step *steps, size_t n,
				     struct as_moment *moment)
{
	struct as_history *h = as_history_new(t->o->first, &t->o->policy);

	for (size_t i = 0; i < n; i++) {
		size_t call = steps[i].call;
		struct as_history_step step = {
			.op = t->part->calls[call].op,
			.got = &t->part->calls[call].got,
			.after = steps[i].after,
			.number = t->part->number[call],
			.promises = steps[i].ends && may_promise(t, call),
			.late = steps[i].ends && overlaps_any(t->part, call),
		};

		as_history_follow(h, &step);
	}
	moment->done = as_history_len(h);
	as_history_end(h);
	moment->begun = as_history_len(h);
	return h;
}

static bool judge_order(void *ctx, const struct as_graph_step *steps, size_t n)
{
	const struct orders_trial *t = ctx;
	struct as_moment moment = { 0 };
	struct as_history *h = history_of(t, steps, n, &moment);

	if (t->way == AS_WAY_MOUNT)
		(void)as_legal_judge(h, moment, t->tree, t->verdict);
	else if (t->way == AS_WAY_COMMIT)
		(void)as_legal_judge_commit(h, moment, t->tree, t->verdict);
	else
		(void)as_legal_judge_checked(h, moment, t->tree, t->verdict);
	if (t->verdict->op != AS_LEGAL_NO_OP)
		t->verdict->op = as_history_number(h, t->verdict->op);
	/* The numbers of states are those of this history. */
	t->verdict->oldest = t->verdict->newest = AS_LEGAL_NO_POINT;
	as_history_free(h);
	return t->verdict->legal;
}

/* ---- All of them ---- */

static bool has_shape(const struct orders_trial *t, size_t state, const struct as_tree *without)
{
	struct orders_part *p = t->part;

	if (!p->state[state])
		p->state[state] = as_history_new(as_graph_state(p->graph, state), &t->o->policy);
	return as_history_is_last(p->state[state], t->tree) ||
	       (without && as_history_is_last(p->state[state], without));
}

/* Orders through a state that has the tree's names and attributes. */
static enum as_graph_end try_states(struct orders_trial *t)
{
	const struct as_graph *graph = t->part->graph;
	bool checked = t->way != AS_WAY_MOUNT && t->way != AS_WAY_COMMIT;
	enum as_graph_end end = AS_GRAPH_ALL, one;
	struct as_tree *without = NULL;

	if (checked && !has_shape(t, 0, NULL))
		without = as_legal_without_found(t->part->state[0], t->tree, false);
	for (size_t i = 0; i < as_graph_len(graph) && end != AS_GRAPH_FOUND; i++) {
		if (!as_graph_is_live(graph, i) || !has_shape(t, i, without))
			continue;
		one = as_graph_orders(graph, i, ORDERS_MAX, judge_order, t);
		if (one != AS_GRAPH_ALL)
			end = one;
	}
	as_tree_put(without);
	return end;
}

static bool remembered(struct orders_part *p, struct as_digest key, struct as_legal *verdict)
{
	verdict->unjudged = as_digests_has(&p->unjudged, key);
	verdict->legal = verdict->unjudged || as_digests_has(&p->legal, key);
	verdict->oldest = verdict->newest = AS_LEGAL_NO_POINT;
	verdict->op = AS_LEGAL_NO_OP;
	return verdict->legal;
}

static enum as_graph_end try_orders(struct orders_trial *t)
{
	enum as_guarantee guarantee = t->o->policy.guarantee;
	bool prefix = guarantee == AS_GUARANTEE_PREFIX || t->way == AS_WAY_COMMIT;
	enum as_graph_end end = AS_GRAPH_ALL;

	if (guarantee != AS_GUARANTEE_REPAIR)
		end = try_states(t);
	if (end != AS_GRAPH_FOUND && !prefix &&
	    (t->part->single || guarantee == AS_GUARANTEE_REPAIR))
		end = as_graph_orders(t->part->graph, AS_GRAPH_ANY, ORDERS_MAX, judge_order, t);
	return end;
}

bool as_orders_judge(struct as_orders *o, enum as_way way, struct as_moment moment,
		     const struct as_tree *tree, struct as_legal *verdict)
{
	struct orders_part *p = part_of(o, moment);
	struct orders_trial t = {
		.o = o, .part = p, .way = way, .tree = tree, .verdict = &o->trial
	};
	struct as_digest key = as_digest_add(as_digest_bind(as_tree_digest(tree), 29 + way),
					     as_tree_digest_of_rest(tree));
	enum as_graph_end end = AS_GRAPH_TOO_MANY;

	as_buf_clear(&verdict->why);
	as_buf_clear(&verdict->signature);
	if (remembered(p, key, verdict))
		return true;
	if (p->graph && !as_tree_is_cut(tree))
		end = try_orders(&t);
	if (end != AS_GRAPH_ALL) {
		verdict->legal = true;
		verdict->unjudged = end != AS_GRAPH_FOUND || o->trial.unjudged;
		as_digests_add(verdict->unjudged ? &p->unjudged : &p->legal, key);
		return true;
	}
	/* The reason is told for the order in which the calls ended. */
	t.verdict = verdict;
	(void)as_graph_orders(p->graph, AS_GRAPH_ANY, 1, judge_order, &t);
	as_assert(!verdict->legal);
	as_buf_adds(&verdict->why, ", and no order of the calls that overlapped allows it");
	return false;
}

/* ---- Words ---- */

static bool is_under_way(const struct as_linear_call *c, struct as_moment m)
{
	return c->begin < m.begun && c->end >= m.done;
}

int64_t as_orders_guilty(const struct as_orders *o, struct as_moment m)
{
	int64_t last = -1;

	for (size_t i = 0; i < o->n; i++) {
		if (is_under_way(&o->call[i], m))
			return (int64_t)i;
		if (o->call[i].end < m.done && (last < 0 || o->call[i].end > o->call[last].end))
			last = (int64_t)i;
	}
	return last;
}

static void say_call(const struct as_linear_call *c, size_t number, struct as_buf *out)
{
	struct as_buf op = { 0 };

	as_print_op(c->op, &op);
	as_buf_addf(out, "op %zu `%.80s` of thread %u", number + 1, as_buf_str(&op), c->thread);
	as_buf_free(&op);
}

void as_orders_say_moment(const struct as_orders *o, struct as_moment m, struct as_buf *out)
{
	const char *before = "power cut during ";
	int64_t last = as_orders_guilty(o, m);

	for (size_t i = 0; i < o->n; i++) {
		if (!is_under_way(&o->call[i], m))
			continue;
		as_buf_adds(out, before);
		say_call(&o->call[i], i, out);
		before = " and ";
	}
	if (*before != 'p')
		return;
	as_buf_adds(out, last < 0 ? "power cut before the first operation" : "power cut after ");
	if (last >= 0)
		say_call(&o->call[last], (size_t)last, out);
}

void as_orders_describe(const struct as_orders *o, struct as_moment m, size_t max_lines,
			struct as_buf *out)
{
	struct as_race_history begun = { .calls = as_xcalloc(o->n + 1, sizeof(*o->call)) };

	for (size_t i = 0; i < o->n; i++)
		if (o->call[i].begin < m.begun)
			begun.calls[begun.n++] = o->call[i];
	as_race_describe(&begun, begun.n, max_lines, out);
	free(begun.calls);
}

bool as_orders_ended_between(const struct as_orders *o, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->call[i].end >= from && o->call[i].end < to)
			return true;
	return false;
}

/* ---- Of any recording ---- */

bool as_recording_knows(const struct as_recording *rec, struct as_moment moment)
{
	if (rec->raced)
		return rec->orders && moment.begun <= rec->until;
	return moment.done <= rec->n_ops && moment.begun <= rec->n_ops;
}

bool as_recording_allows(const struct as_recording *rec, enum as_way way, struct as_moment moment,
			 const struct as_tree *tree, struct as_legal *verdict)
{
	if (rec->raced)
		return as_orders_judge(rec->orders, way, moment, tree, verdict);
	if (way == AS_WAY_MOUNT)
		return as_legal_judge(rec->history, moment, tree, verdict);
	if (way == AS_WAY_COMMIT)
		return as_legal_judge_commit(rec->history, moment, tree, verdict);
	return as_legal_judge_checked(rec->history, moment, tree, verdict);
}

bool as_recording_allows_quotas(const struct as_recording *rec, struct as_moment moment,
				const struct as_tree *counted, struct as_legal *verdict)
{
	return !counted || rec->raced ||
	       as_legal_judge_quotas(rec->history, moment, counted, verdict);
}

bool as_recording_allows_redone(const struct as_recording *rec, struct as_moment moment,
				const struct as_tree *tree)
{
	struct as_legal verdict = { 0 };
	bool legal;

	if (!rec->raced)
		return as_legal_judge_redone(rec->history, moment, tree);
	legal = rec->orders->policy.redo_differs &&
		as_orders_judge(rec->orders, AS_WAY_MOUNT, moment, tree, &verdict);
	as_legal_free(&verdict);
	return legal;
}

bool as_recording_is_ordered(const struct as_recording *rec, struct as_moment moment)
{
	struct as_moment first = { 0 };

	/* In a race, nothing is mounted with other options. */
	return as_legal_is_ordered(rec->history, rec->raced ? first : moment);
}

bool as_recording_is_unmounted(const struct as_recording *rec, struct as_moment moment)
{
	size_t done = moment.done;

	if (rec->raced)
		return done == rec->until;
	return done && moment.begun == done && rec->seq->ops[done - 1].code == AS_OP_UMOUNT &&
	       rec->answers[done - 1].ret >= 0;
}
