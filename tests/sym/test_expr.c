/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_expr: expressions. Random ones are computed twice: operation by operation as they were
 * asked for, and as the graph has them after it simplified them. Then questions about them are
 * asked of each way to solve, and the answers are compared.
 */
#include "base/prng.h"
#include "sym/solve_priv.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define INPUTS 4u
#define NODES 60u
#define GRAPHS 4000u
#define ROUNDS 6u /* of bytes for each graph */

struct drawn {
	struct as_expr_node node; /* its arguments are numbers of drawn nodes */
	uint32_t own; /* in the graph */
};

struct draw {
	struct as_prng prng;
	struct as_expr *e;
	struct drawn nodes[NODES + INPUTS + 1];
	unsigned n;
	uint32_t table;
};

static unsigned below(struct draw *d, unsigned n)
{
	return (unsigned)(as_prng_next(&d->prng) % n);
}

static as_u128 constant(struct draw *d, unsigned width)
{
	static const unsigned few[] = { 0, 1, 2, 3, 7, 8, 0x7f, 0x80, 0xff, 0xffff };
	as_u128 v = (as_u128)as_prng_next(&d->prng) << 64 | as_prng_next(&d->prng);

	switch (below(d, 4)) {
	case 0:
		v = few[below(d, sizeof(few) / sizeof(few[0]))];
		break;
	case 1:
		v = ~(as_u128)0 << below(d, 128);
		break;
	case 2:
		v = as_expr_mask(below(d, 128) + 1);
		break;
	default:
		break;
	}
	return v & as_expr_mask(width);
}

static bool keep(struct draw *d, struct as_expr_node *x)
{
	struct as_expr_node own = *x;

	for (unsigned i = 0; i < as_expr_op_args(x->op); i++)
		own.arg[i] = d->nodes[x->arg[i]].own;
	d->nodes[d->n].node = *x;
	d->nodes[d->n].own = as_expr_make(d->e, &own);
	if (!d->nodes[d->n].own)
		return false;
	assert_int_equal(as_expr_at(d->e, d->nodes[d->n].own)->width, x->width);
	d->n++;
	return true;
}

/* A drawn node of that width; 0: there is none. */
static unsigned of_width(struct draw *d, unsigned width)
{
	unsigned from = below(d, d->n);

	for (unsigned i = 0; i < d->n; i++) {
		unsigned k = (from + i) % d->n;

		if (k && d->nodes[k].node.width == width)
			return k;
	}
	return 0;
}

static void draw_node(struct draw *d)
{
	static const uint8_t widths[] = { 1, 7, 8, 16, 32, 64, 128 };
	struct as_expr_node x = { .op = (uint8_t)below(d, AS_EXPR_OPS) };
	unsigned a = 1 + below(d, d->n - 1), w = d->nodes[a].node.width;

	if (x.op == AS_EXPR_INPUT)
		return;
	x.arg[0] = a;
	x.width = (uint8_t)w;
	switch (x.op) {
	case AS_EXPR_CONST:
		x.width = widths[below(d, sizeof(widths))];
		x.arg[0] = 0;
		x.imm = constant(d, x.width);
		break;
	case AS_EXPR_EXTRACT:
		x.imm = below(d, w);
		x.width = (uint8_t)(1 + below(d, w - (unsigned)x.imm));
		break;
	case AS_EXPR_ZEXT:
	case AS_EXPR_SEXT:
		x.width = (uint8_t)(w + below(d, 129 - w));
		break;
	case AS_EXPR_CONCAT:
		x.arg[1] = 1 + below(d, d->n - 1);
		if (w + d->nodes[x.arg[1]].node.width > 128)
			return;
		x.width = (uint8_t)(w + d->nodes[x.arg[1]].node.width);
		break;
	case AS_EXPR_SHL:
	case AS_EXPR_LSHR:
	case AS_EXPR_ASHR:
		x.arg[1] = 1 + below(d, d->n - 1);
		break;
	case AS_EXPR_ITE:
		x.arg[0] = of_width(d, 1);
		x.arg[1] = a;
		x.arg[2] = of_width(d, w);
		if (!x.arg[0])
			return;
		break;
	case AS_EXPR_TABLE:
		x.imm = d->table;
		x.width = (uint8_t)(8 + 8 * below(d, 4));
		break;
	default:
		if (as_expr_op_args(x.op) == 2)
			x.arg[1] = of_width(d, w);
		if (x.op >= AS_EXPR_EQ && x.op <= AS_EXPR_SLE)
			x.width = 1;
	}
	assert_true(keep(d, &x));
}

static void draw_graph(struct draw *d, uint64_t seed)
{
	unsigned char bytes[37];

	d->prng = as_prng_seed(seed);
	d->e = as_expr_new();
	d->n = 1;
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 17);
	d->table = as_expr_add_table(d->e, bytes, sizeof(bytes));
	for (unsigned i = 0; i < INPUTS; i++) {
		struct as_expr_node x = { .op = AS_EXPR_INPUT, .width = 8, .imm = 1000 + i };

		assert_true(keep(d, &x));
	}
	while (d->n < NODES + INPUTS)
		draw_node(d);
}

static void compare(struct draw *d, const unsigned char *bytes)
{
	as_u128 want[NODES + INPUTS + 1] = { 0 };
	as_u128 *got = calloc(as_expr_n(d->e) + 1, sizeof(*got));

	as_expr_eval(d->e, bytes, got);
	for (unsigned i = 1; i < d->n; i++) {
		struct as_expr_node x = d->nodes[i].node;
		const as_u128 v[3] = { want[x.arg[0]], want[x.arg[1]], want[x.arg[2]] };

		/* Widths of arguments are looked up in the graph. */
		for (unsigned k = 0; k < 3; k++)
			x.arg[k] = x.arg[k] ? d->nodes[x.arg[k]].own : 0;
		want[i] = x.op == AS_EXPR_INPUT ? bytes[(unsigned)x.imm - 1000]
						: as_expr_compute(d->e, &x, v);
		if (want[i] != got[d->nodes[i].own])
			fail_msg("node %u (%s, %u bits) is not what it was", i,
				 as_expr_op_name(x.op), x.width);
	}
	free(got);
}

static void test_simple_is_equal(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
		struct draw d;
		unsigned char bytes[INPUTS];

		draw_graph(&d, seed);
		for (unsigned round = 0; round < ROUNDS; round++) {
			for (unsigned i = 0; i < INPUTS; i++)
				bytes[i] = (unsigned char)as_prng_next(&d.prng);
			compare(&d, bytes);
		}
		as_expr_free(d.e);
	}
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* Asks about a branch of the graph that the bytes do not take. */
static enum as_solved ask(struct as_solver *s, struct draw *d, uint32_t node,
			  const unsigned char *bytes, unsigned char *out)
{
	as_u128 *values = calloc(as_expr_n(d->e) + 1, sizeof(*values));
	uint32_t holds[4], target;
	size_t n = 0;
	enum as_solved solved;

	as_expr_eval(d->e, bytes, values);
	/* Some conditions that hold now. */
	for (unsigned i = 1; i < d->n && n < 2; i++) {
		uint32_t own = d->nodes[i].own;

		if (d->nodes[i].node.width != 1 || own == node || as_expr_is_const(d->e, own))
			continue;
		holds[n++] = values[own] ? own : as_expr_op1(d->e, AS_EXPR_NOT, 1, own, 0);
	}
	target = values[node] ? as_expr_op1(d->e, AS_EXPR_NOT, 1, node, 0) : node;
	free(values);
	solved = as_solve(
		s,
		&(struct as_question){
			.expr = d->e, .holds = holds, .n = n, .target = target, .bytes = bytes },
		out);
	if (solved == AS_SOLVED || solved == AS_SOLVED_CONCRETE) {
		values = calloc(as_expr_n(d->e) + 1, sizeof(*values));
		as_expr_eval(d->e, out, values);
		assert_true(values[target] == 1);
		for (size_t i = 0; i < n; i++)
			assert_true(values[holds[i]] == 1);
		free(values);
	}
	return solved;
}

/* What Z3 says, and what trying all values says, must be the same. */
static void test_answers_agree(void **state)
{
	struct as_solver *with, *without;
	struct as_err err;
	unsigned char bytes[INPUTS], out[INPUTS];
	unsigned asked = 0, both = 0;

	(void)state;
	if (as_solver_new(&(struct as_solver_setup){ .deadline_ms = 200,
						     .concretize = AS_CONCRETIZE_NONE },
			  &with, &err)) {
		print_message("skipped: %s\n", err.msg);
		skip();
	}
	for (uint64_t seed = 1; seed <= 400 && asked < 300; seed++) {
		struct draw d;

		assert_int_equal(
			as_solver_new(&(struct as_solver_setup){ .without_z3 = true,
								 .concretize = AS_CONCRETIZE_NONE },
				      &without, &err),
			0);
		draw_graph(&d, seed + 100000);
		memset(bytes, (int)seed, sizeof(bytes));
		for (unsigned i = 1; i < d.n; i++) {
			enum as_solved a, b;

			if (d.nodes[i].node.width != 1 || as_expr_is_const(d.e, d.nodes[i].own))
				continue;
			a = ask(with, &d, d.nodes[i].own, bytes, out);
			b = ask(without, &d, d.nodes[i].own, bytes, out);
			asked++;
			if (a == AS_SOLVED_LATE || b == AS_SOLVED_LATE || a == AS_SOLVED_CONCRETE)
				continue;
			both++;
			assert_int_equal(a, b);
		}
		as_expr_free(d.e);
		as_solver_free(without);
	}
	print_message("%u questions, %u of them answered in both ways\n", asked, both);
	assert_true(both > 100);
	assert_int_equal(as_solver_counts(with).wrong, 0);
	as_solver_free(with);
}

/* A square of n bytes, which only Z3 can undo; another one for each n. */
static uint32_t hard(struct as_expr *e, unsigned n)
{
	uint32_t x = as_expr_input(e, 5000);

	for (unsigned i = 1; i < n; i++)
		x = as_expr_op2(e, AS_EXPR_CONCAT, as_expr_input(e, 5000 + i), x);
	x = as_expr_op2(e, AS_EXPR_MUL, x, x);
	return as_expr_op2(e, AS_EXPR_EQ, x, as_expr_const(e, 8 * n, 0xc57a66a1 + 8 * n));
}

static enum as_solved ask_hard(struct as_solver *s, unsigned n)
{
	struct as_expr *e = as_expr_new();
	unsigned char bytes[8] = { 0 }, out[8];
	struct as_question q = { .expr = e, .target = hard(e, n), .bytes = bytes };
	enum as_solved solved = as_solve(s, &q, out);

	as_expr_free(e);
	return solved;
}

/* A process of Z3 that dies costs its question; the next one gets a new process. */
static void test_death(void **state)
{
	struct as_solver *s;
	struct as_err err;
	int first;

	(void)state;
	if (as_solver_new(&(struct as_solver_setup){ .deadline_ms = 1000,
						     .concretize = AS_CONCRETIZE_NONE },
			  &s, &err))
		skip();
	(void)ask_hard(s, 5);
	first = as_solver_pid(s);
	assert_true(first > 0);
	kill(first, SIGKILL);
	assert_int_equal(ask_hard(s, 4), AS_SOLVED_LATE);
	assert_int_equal(as_solver_counts(s).z3_deaths, 1);
	(void)ask_hard(s, 4);
	assert_int_equal(as_solver_counts(s).z3_deaths, 1);
	assert_int_not_equal(as_solver_pid(s), first);
	as_solver_free(s);
}

/* Two factors of a product of two primes, which nobody finds. */
static uint32_t hopeless(struct as_expr *e)
{
	uint32_t x = as_expr_input(e, 0), y = as_expr_input(e, 4), product;

	for (unsigned k = 1; k < 4; k++) {
		x = as_expr_op2(e, AS_EXPR_CONCAT, as_expr_input(e, k), x);
		y = as_expr_op2(e, AS_EXPR_CONCAT, as_expr_input(e, 4 + k), y);
	}
	product = as_expr_op2(e, AS_EXPR_MUL, as_expr_op1(e, AS_EXPR_ZEXT, 64, x, 0),
			      as_expr_op1(e, AS_EXPR_ZEXT, 64, y, 0));
	return as_expr_op2(e, AS_EXPR_EQ, product,
			   as_expr_const(e, 64, (as_u128)4294967291u * 4294967279u));
}

/* Where Z3 was late each time, the next question gets less time; elsewhere it gets all. */
static void test_late_sites(void **state)
{
	static const uint64_t sites[] = { 7, 7, 7, 7, 7, 8 };
	struct as_expr *e = as_expr_new();
	unsigned char bytes[8] = { 1, 1, 1, 1, 1, 1, 1, 1 }, out[8];
	struct as_question q = { .expr = e, .bytes = bytes };
	uint64_t used[6];
	struct as_solver *s;
	struct as_err err;

	(void)state;
	if (as_solver_new(&(struct as_solver_setup){ .deadline_ms = 320,
						     .only_z3 = true,
						     .concretize = AS_CONCRETIZE_NONE },
			  &s, &err))
		skip();
	q.target = hopeless(e);
	for (unsigned i = 0; i < 6; i++) {
		uint64_t before = as_solver_counts(s).z3_cpu_us;

		q.site = sites[i];
		assert_int_equal(as_solve(s, &q, out), AS_SOLVED_LATE);
		used[i] = as_solver_counts(s).z3_cpu_us - before;
		print_message("site %u: %u ms\n", (unsigned)sites[i], (unsigned)(used[i] / 1000));
	}
	assert_true(used[0] >= 300000 && used[4] < used[0] / 2 && used[5] > used[4] * 2);
	as_solver_free(s);
	as_expr_free(e);
}

/* A question that takes too long is answered with some bytes as they are, or not at all. */
static void test_concretize(void **state)
{
	static const enum as_concretize hows[] = { AS_CONCRETIZE_FIRST, AS_CONCRETIZE_FREQUENT,
						   AS_CONCRETIZE_ARITH, AS_CONCRETIZE_FULL };
	struct as_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(hows) / sizeof(hows[0]); i++) {
		struct as_expr *e = as_expr_new();
		unsigned char bytes[8] = { 1, 1, 1, 1, 1, 1, 1, 1 }, out[8];
		struct as_question q = { .expr = e, .bytes = bytes };
		struct as_solver *s;
		enum as_solved solved;

		if (as_solver_new(&(struct as_solver_setup){ .deadline_ms = 300,
							     .concretize = hows[i] },
				  &s, &err))
			skip();
		q.target = hopeless(e);
		solved = as_solve(s, &q, out);
		/* No strategy can find these: it must end all the same. */
		assert_true(solved == AS_SOLVED_LATE || solved == AS_SOLVED ||
			    solved == AS_SOLVED_CONCRETE);
		if (solved != AS_SOLVED)
			assert_int_equal(as_solver_counts(s).late, 1);
		as_solver_free(s);
		as_expr_free(e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_simple_is_equal), cmocka_unit_test(test_answers_agree),
		cmocka_unit_test(test_death),		cmocka_unit_test(test_late_sites),
		cmocka_unit_test(test_concretize),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
