/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a power cut may leave of a race: by hand, and for random races what a search over every
 * order says, which knows of no shortcut. Where names are those of one state, both must say the
 * same of each tree; elsewhere nothing may be refused that some order allows.
 */
#include "base/prng.h"
#include "model/state.h"
#include "recording/orders.h"
#include "tests/lib/traits.h"
#include "work/parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CALLS_MAX 8
#define THREADS 3u

#define BEFORE "$0 = open /a O_RDWR|O_CREAT 0644\n$1 = open /b O_RDWR|O_CREAT 0644\nmkdir /d 0755\n"

static const struct as_policy prefix = { .guarantee = AS_GUARANTEE_PREFIX,
					 .data = AS_DATA_ORDERED,
					 .fsync_names = true,
					 .fdatasync_names = true };
static const struct as_policy object = { .guarantee = AS_GUARANTEE_OBJECT,
					 .data = AS_DATA_ORDERED,
					 .fsync_names = true,
					 .fdatasync_names = true };

static const struct as_traits traits = { .name = "any", AS_TRAITS_ANY, .may_fill = true };

struct race {
	struct as_model *first;
	struct as_linear_call call[CALLS_MAX];
	struct as_op op[CALLS_MAX];
	struct as_seq *seq[CALLS_MAX]; /* by hand: of each call */
	size_t n;
};

static void apply(struct as_model *model, const char *text)
{
	struct as_seq *seq;
	struct as_err err;

	assert_int_equal(as_parse_text("ops", text, strlen(text), &seq, &err), 0);
	for (size_t i = 0; i < seq->n; i++)
		assert_int_equal(as_model_apply(model, &seq->ops[i]), 0);
	as_seq_free(seq);
}

static struct as_orders *orders_of(const struct race *r, const struct as_policy *policy)
{
	struct as_race_history history = { .n = r->n, .atomic = true };

	history.calls = as_xcalloc(r->n + 1, sizeof(*history.calls));
	memcpy(history.calls, r->call, r->n * sizeof(*history.calls));
	return as_orders_new(r->first, policy, &history);
}

/* ---- By hand ---- */

struct row {
	const char *name;
	const char *calls[CALLS_MAX]; /* "THREAD BEGIN-END OPERATION", all of which succeed */
	uint64_t moment;
	const char *tree; /* what is there: operations after BEFORE */
	bool legal, legal_object;
};

static const struct row rows[] = {
	{ "two that overlap: the first alone",
	  { "0 1-3 create /x 0644", "1 2-4 create /y 0644" },
	  9,
	  "create /x 0644",
	  true,
	  true },
	{ "two that overlap: the second alone",
	  { "0 1-3 create /x 0644", "1 2-4 create /y 0644" },
	  9,
	  "create /y 0644",
	  true,
	  true },
	{ "one after the other: the second alone",
	  { "0 1-2 create /x 0644", "1 3-4 create /y 0644" },
	  9,
	  "create /y 0644",
	  false,
	  false },
	{ "a later call that shows the order does not count before it",
	  { "0 1-3 create /x 0644", "1 2-4 rename /d /x/d" },
	  1,
	  "",
	  true,
	  true },
	{ "what has not begun is not there",
	  { "0 1-2 create /x 0644", "1 5-6 create /y 0644" },
	  4,
	  "create /x 0644\ncreate /y 0644",
	  false,
	  false },
	{ "an fsync that has ended",
	  { "0 1-2 rename /a /x", "0 3-4 fsync $0" },
	  5,
	  "",
	  false,
	  false },
	{ "an fsync that has not ended",
	  { "0 1-2 rename /a /x", "0 3-4 fsync $0" },
	  4,
	  "",
	  true,
	  true },
	{ "an fsync promises what had ended before it began",
	  { "1 1-2 rename /a /x", "0 3-4 fsync $0" },
	  9,
	  "",
	  false,
	  false },
	{ "and not what overlapped it",
	  { "1 1-4 rename /a /x", "0 2-3 fsync $0" },
	  9,
	  "",
	  true,
	  true },
	{ "a sync promises all that had ended",
	  { "1 1-2 create /x 0644", "0 3-4 sync" },
	  9,
	  "",
	  false,
	  false },
	{ "but no others", { "1 1-4 create /x 0644", "0 2-3 sync" }, 9, "", true, true },
	{ "data before an fsync",
	  { "0 1-2 pwrite $0 len=100 at=0 fill=5", "0 3-4 fsync $0" },
	  9,
	  "",
	  false,
	  false },
	{ "data while an fsync runs",
	  { "0 1-4 pwrite $0 len=100 at=0 fill=5", "1 2-3 fsync $1" },
	  9,
	  "",
	  true,
	  true },
	{ "half of a rename",
	  { "0 1-3 rename /a /x", "1 2-4 create /y 0644" },
	  9,
	  "hardlink /a /x",
	  false,
	  false },
};

static void make(const struct row *row, struct race *r)
{
	struct as_model *m;

	*r = (struct race){ .first = as_model_new(&traits) };
	apply(r->first, BEFORE);
	m = as_model_copy(r->first);
	for (; r->n < CALLS_MAX && row->calls[r->n]; r->n++) {
		unsigned thread, at = 0;
		unsigned long long begin, end;
		struct as_linear_call *c = &r->call[r->n];
		const char *text = row->calls[r->n];
		struct as_err err;

		assert_int_equal(sscanf(text, "%u %llu-%llu %n", &thread, &begin, &end, (int *)&at),
				 3);
		assert_int_equal(
			as_parse_text("op", text + at, strlen(text + at), &r->seq[r->n], &err), 0);
		c->op = &r->seq[r->n]->ops[0];
		c->thread = thread;
		c->begin = begin;
		c->end = end;
		c->got.ret = c->op->code == AS_OP_PWRITE ? (int64_t)c->op->len : 0;
		if (strstr(text, "/x/d"))
			c->got = (struct as_outcome){ .ret = -1, .err = ENOTDIR };
		else
			assert_int_equal(as_model_apply(m, c->op), 0);
	}
	as_model_free(m);
}

static struct as_tree *tree_of(const struct as_model *m)
{
	struct as_history *h = as_history_new(m, &prefix);
	struct as_tree *tree = as_history_tree(h, 0);

	as_history_free(h);
	return tree;
}

static void by_hand(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned p = 0; p < 2; p++) {
			const struct as_policy *policy = p ? &object : &prefix;
			struct as_moment moment = { rows[i].moment, rows[i].moment, 0 };
			struct as_legal verdict = { 0 };
			struct as_orders *orders;
			struct as_model *m;
			struct as_tree *tree;
			struct race r;
			bool legal;

			make(&rows[i], &r);
			orders = orders_of(&r, policy);
			m = as_model_copy(r.first);
			apply(m, rows[i].tree);
			tree = tree_of(m);
			legal = as_orders_judge(orders, AS_WAY_MOUNT, moment, tree, &verdict);
			if (legal != (p ? rows[i].legal_object : rows[i].legal))
				fail_msg("%s: %s", rows[i].name,
					 legal ? "legal" : as_buf_str(&verdict.why));
			assert_false(verdict.unjudged);
			as_legal_free(&verdict);
			as_tree_put(tree);
			as_model_free(m);
			as_orders_free(orders);
			for (size_t k = 0; k < r.n; k++)
				as_seq_free(r.seq[k]);
			as_model_free(r.first);
		}
}

/* ---- Against all orders ---- */

static void random_op(struct as_prng *prng, uint32_t thread, struct as_op *op)
{
	static const enum as_opcode codes[] = { AS_OP_MKDIR,  AS_OP_CREATE, AS_OP_RENAME,
						AS_OP_UNLINK, AS_OP_PWRITE, AS_OP_FTRUNCATE,
						AS_OP_STAT,   AS_OP_FSYNC,  AS_OP_FSYNC,
						AS_OP_SYNC };
	static const char *const paths[] = { "/a", "/b", "/c", "/d/c" };

	*op = as_op_make(codes[as_prng_below(prng, sizeof(codes) / sizeof(codes[0]))]);
	op->path = paths[as_prng_below(prng, 4)];
	op->path2 = paths[as_prng_below(prng, 4)];
	op->mode = 0755;
	op->fd = (int32_t)(thread % 2);
	op->len = 1 + as_prng_below(prng, 3) * 5000;
	op->off = 0;
	op->fill = 1 + as_prng_below(prng, 3);
}

static void random_race(struct as_prng *prng, struct race *r)
{
	struct as_model *m;
	size_t running[THREADS] = { SIZE_MAX, SIZE_MAX, SIZE_MAX }, begun = 0, ended = 0;
	bool acted[CALLS_MAX] = { false };
	uint64_t now = 1;

	*r = (struct race){ .first = as_model_new(&traits), .n = 6 };
	apply(r->first, BEFORE);
	m = as_model_copy(r->first);
	while (ended < r->n) {
		unsigned t = (unsigned)as_prng_below(prng, THREADS);
		size_t i = running[t];

		if (i == SIZE_MAX) {
			if (begun == r->n)
				continue;
			i = running[t] = begun++;
			random_op(prng, t, &r->op[i]);
			r->call[i] = (struct as_linear_call){ .op = &r->op[i],
							      .thread = t,
							      .begin = now++ };
		} else if (!acted[i]) {
			int err = as_model_apply(m, &r->op[i]);
			int64_t ret = r->op[i].code == AS_OP_PWRITE ? (int64_t)r->op[i].len : 0;

			r->call[i].got.ret = err ? -1 : ret;
			r->call[i].got.err = err;
			acted[i] = true;
		} else {
			r->call[i].end = now++;
			running[t] = SIZE_MAX;
			ended++;
		}
	}
	as_model_free(m);
}

struct search {
	const struct race *r;
	const struct as_policy *policy;
	uint64_t moment;
	const struct as_tree *tree;
	size_t order[CALLS_MAX];
};

static bool order_allows(const struct search *s, size_t n)
{
	struct as_history *h = as_history_new(s->r->first, s->policy);
	struct as_legal verdict = { 0 };
	struct as_moment m;
	bool fits = true;

	for (size_t i = 0; i < n && fits; i++) {
		const struct as_linear_call *c = &s->r->call[s->order[i]];

		fits = c->end < s->moment ? as_history_add(h, c->op, &c->got)
					  : as_history_add_unsure(h, c->op, &c->got);
	}
	m.done = m.begun = as_history_len(h);
	m.wrote = 0;
	fits = fits && as_legal_judge(h, m, s->tree, &verdict);
	as_legal_free(&verdict);
	as_history_free(h);
	return fits;
}

static bool some_order_allows(struct search *s, unsigned left, size_t n)
{
	bool all = true;

	for (size_t i = 0; i < s->r->n; i++)
		all = all && (!(left >> i & 1) || s->r->call[i].end >= s->moment);
	if (all && order_allows(s, n))
		return true;
	for (size_t i = 0; i < s->r->n; i++) {
		bool next = left >> i & 1;

		for (size_t k = 0; k < s->r->n && next; k++)
			next = !(left >> k & 1) || s->r->call[k].end > s->r->call[i].begin;
		s->order[n] = i;
		if (next && some_order_allows(s, left & ~(1u << i), n + 1))
			return true;
	}
	return false;
}

/* A tree that some calls lead to, in some order; their answers do not count. */
static struct as_tree *random_tree(struct as_prng *prng, const struct race *r)
{
	struct as_model *m = as_model_copy(r->first);
	struct as_tree *tree;
	size_t at = as_prng_below(prng, r->n), n = as_prng_below(prng, r->n + 1);

	for (size_t i = 0; i < n; i++)
		if (as_prng_below(prng, 8))
			(void)as_model_apply(m, &r->op[(at * i + i) % r->n]);
	tree = tree_of(m);
	as_model_free(m);
	return tree;
}

static void as_all_orders_say(void **state)
{
	struct as_prng prng = as_prng_seed(71);
	unsigned legal = 0, refused = 0, more = 0;

	(void)state;
	for (unsigned i = 0; i < 1500; i++) {
		const struct as_policy *policy = i % 4 ? &prefix : &object;
		uint64_t moment = 1 + as_prng_below(&prng, 13);
		struct as_legal verdict = { 0 };
		struct as_orders *orders;
		unsigned begun = 0;
		struct race r;

		random_race(&prng, &r);
		orders = orders_of(&r, policy);
		for (size_t k = 0; k < r.n; k++)
			begun |= r.call[k].begin < moment ? 1u << k : 0;
		for (unsigned k = 0; k < 4; k++) {
			struct as_tree *tree = random_tree(&prng, &r);
			struct search s = { &r, policy, moment, tree, { 0 } };
			bool want = some_order_allows(&s, begun, 0);
			bool got = as_orders_judge(orders, AS_WAY_MOUNT,
						   (struct as_moment){ moment, moment, 0 }, tree,
						   &verdict);

			assert_false(verdict.unjudged);
			if (want && !got)
				fail_msg("race %u, tree %u: an order allows it, but: %s", i, k,
					 as_buf_str(&verdict.why));
			if (!want && got && policy == &prefix)
				fail_msg("race %u, tree %u: no order allows it", i, k);
			legal += want;
			refused += !want && !got;
			more += !want && got;
			as_tree_put(tree);
		}
		as_legal_free(&verdict);
		as_orders_free(orders);
		as_model_free(r.first);
	}
	print_message("%u trees legal, %u refused, %u allowed by more than an order\n", legal,
		      refused, more);
	assert_true(legal > 1000 && refused > 1000 && more < refused / 4);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand),
		cmocka_unit_test(as_all_orders_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
