/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_bounds: what is answered without Z3 (quotients that are found again in products, bounds,
 * boxes) against plain Z3, and against numbers. Questions are drawn from what checkers do: words
 * of several bytes, compared, divided, printed, looked up, in each with a mask.
 */
#include "base/prng.h"
#include "sym/expr_priv.h"
#include "sym/solve_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BYTES 6u
#define WORDS 24u
#define TERMS 5u

struct draw {
	struct as_prng prng;
	struct as_expr *e;
	uint32_t words[WORDS + 8];
	unsigned n;
	uint32_t table;
};

static unsigned below(struct draw *d, unsigned n)
{
	return (unsigned)(as_prng_next(&d->prng) % n);
}

static uint32_t number(struct draw *d, unsigned width)
{
	static const unsigned few[] = { 0, 1, 2, 3, 4, 7, 10, 16, 60, 100, 255, 1000, 1024, 86400 };
	as_u128 v = few[below(d, sizeof(few) / sizeof(few[0]))];

	if (!below(d, 3))
		v = (as_u128)as_prng_next(&d->prng) >> below(d, 64);
	if (!below(d, 8))
		v = -v;
	return as_expr_const(d->e, width, v);
}

static unsigned width_of(const struct draw *d, uint32_t node)
{
	return as_expr_at(d->e, node)->width;
}

static uint32_t of_width(struct draw *d, uint32_t node, unsigned width, bool sign)
{
	unsigned w = width_of(d, node);

	return w < width ? as_expr_op1(d->e, sign ? AS_EXPR_SEXT : AS_EXPR_ZEXT, width, node, 0)
			 : as_expr_op1(d->e, AS_EXPR_EXTRACT, width, node, 0);
}

/* x / 10 as compilers do it, for one of their divisors. */
static uint32_t magic(struct draw *d, uint32_t x)
{
	static const struct {
		uint64_t factor;
		unsigned shift, width;
	} ways[] = { { 0xcccccccccccccccd, 67, 64 }, { 0xcccccccd, 35, 32 },
		     { 0xaaaaaaab, 33, 32 },	     { 0x51eb851f, 37, 32 },
		     { 0x1845c8a0ce512957, 77, 32 }, { 0xcccccccccccccccc, 67, 64 },
		     { 0x92492493, 34, 32 } };
	unsigned k = below(d, sizeof(ways) / sizeof(ways[0])), w = ways[k].width;
	unsigned wide = ways[k].factor >> 32 ? 128 : 64;
	uint32_t y = of_width(d, x, w, false);

	y = as_expr_op1(d->e, AS_EXPR_ZEXT, wide, y, 0);
	y = as_expr_op2(d->e, AS_EXPR_MUL, y, as_expr_const(d->e, wide, ways[k].factor));
	y = as_expr_op1(d->e, AS_EXPR_EXTRACT, wide - ways[k].shift, y, ways[k].shift);
	return as_expr_op1(d->e, AS_EXPR_ZEXT, w > wide - ways[k].shift ? w : 128, y, 0);
}

/* x - x / 10 * 10 with shifts and sums. */
static uint32_t digit(struct draw *d, uint32_t x)
{
	uint32_t wide = of_width(d, x, 64, false), q, five;
	uint32_t ten = as_expr_const(d->e, 64, 10);

	q = below(d, 2) ? of_width(d, magic(d, wide), 64, false)
			: as_expr_op2(d->e, AS_EXPR_UDIV, wide, ten);
	five = as_expr_op1(d->e, AS_EXPR_EXTRACT, 62, q, 0);
	five = as_expr_op2(d->e, AS_EXPR_CONCAT, five, as_expr_const(d->e, 2, 0));
	five = as_expr_op2(d->e, AS_EXPR_ADD, five, q);
	return as_expr_op2(d->e, AS_EXPR_SUB, wide,
			   as_expr_op2(d->e, AS_EXPR_SHL, five, as_expr_const(d->e, 8, 1)));
}

static uint32_t draw_word(struct draw *d)
{
	static const uint8_t ops[] = { AS_EXPR_ADD,  AS_EXPR_SUB,  AS_EXPR_MUL, AS_EXPR_UDIV,
				       AS_EXPR_UREM, AS_EXPR_AND,  AS_EXPR_OR,	AS_EXPR_XOR,
				       AS_EXPR_SHL,  AS_EXPR_ASHR, AS_EXPR_LSHR };
	uint32_t a = d->words[below(d, d->n)], b = d->words[below(d, d->n)];
	unsigned w = width_of(d, a);

	switch (below(d, 12)) {
	case 0:
		return w + width_of(d, b) > 64 ? 0 : as_expr_op2(d->e, AS_EXPR_CONCAT, a, b);
	case 1:
		return magic(d, a);
	case 2:
		return digit(d, a);
	case 3:
		return of_width(d, a, 1 + below(d, 64), below(d, 2));
	case 4:
		return as_expr_op1(d->e, AS_EXPR_EXTRACT, 1 + below(d, w), a, 0);
	case 5:
		return as_expr_make(d->e, &(struct as_expr_node){ .op = AS_EXPR_TABLE,
								  .width = 8,
								  .arg = { a },
								  .imm = d->table });
	case 6:
		return as_expr_op1(d->e, below(d, 2) ? AS_EXPR_NOT : AS_EXPR_CTZ, w, a, 0);
	case 7:
		return as_expr_make(
			d->e, &(struct as_expr_node){
				      .op = AS_EXPR_ITE,
				      .width = (uint8_t)w,
				      .arg = { as_expr_op2(d->e, AS_EXPR_ULT, a, number(d, w)), a,
					       of_width(d, b, w, false) } });
	default:
		return as_expr_op2(d->e, ops[below(d, sizeof(ops))], a,
				   below(d, 3) ? number(d, w) : of_width(d, b, w, false));
	}
}

static uint32_t draw_term(struct draw *d)
{
	uint32_t a = d->words[below(d, d->n)], b = d->words[below(d, d->n)];
	unsigned w = width_of(d, a);
	enum as_expr_op op = AS_EXPR_EQ + below(d, 5);

	b = below(d, 4) ? number(d, w) : of_width(d, b, w, false);
	return below(d, 4) ? as_expr_op2(d->e, op, a, b) : as_expr_op2(d->e, op, b, a);
}

/* Plain: nothing is simplified. */
static void draw_graph(struct draw *d, uint64_t seed, bool plain)
{
	unsigned char text[40];

	d->prng = as_prng_seed(seed);
	d->e = as_expr_new();
	d->e->depth = plain ? EXPR_DEPTH_MAX : 0;
	d->n = 0;
	for (unsigned i = 0; i < sizeof(text); i++)
		text[i] = (unsigned char)(i * i);
	d->table = as_expr_add_table(d->e, text, sizeof(text));
	for (unsigned i = 0; i < BYTES; i++)
		(void)as_expr_input(d->e, i);
	/* Words of 1, 2 and 4 bytes, as they are on a disk. */
	for (unsigned i = 0; i < 3; i++) {
		unsigned n = 1u << below(d, 3), from = below(d, BYTES - n + 1);
		uint32_t x = as_expr_input(d->e, from);

		for (unsigned k = 1; k < n; k++)
			x = as_expr_op2(d->e, AS_EXPR_CONCAT, as_expr_input(d->e, from + k), x);
		d->words[d->n++] = x;
	}
	for (unsigned want = d->n + 2 + below(d, 8); d->n < want && d->n < WORDS;) {
		uint32_t x = draw_word(d);

		if (x)
			d->words[d->n++] = x;
	}
}

static void draw_open(struct draw *d, uint64_t seed)
{
	draw_graph(d, seed, false);
}

/* Terms that are 1 for these bytes, and one more that should become so. */
static size_t draw_terms(struct draw *d, const unsigned char *bytes, uint32_t *terms)
{
	size_t n = 0, asked = 1 + below(d, TERMS);
	as_u128 *values;

	while (n < asked) {
		uint32_t t = draw_term(d);

		assert_int_not_equal(t, 0);
		terms[n++] = t;
	}
	values = calloc(as_expr_n(d->e) + 1, sizeof(*values));
	as_expr_eval(d->e, bytes, values);
	for (size_t i = 0; i < n; i++) {
		bool is = values[terms[i]] == 1, want = i + 1 < n;

		if (is != want)
			terms[i] = as_expr_op1(d->e, AS_EXPR_NOT, 1, terms[i], 0);
	}
	free(values);
	return n;
}

static bool all_hold(struct draw *d, const unsigned char *bytes, const uint32_t *terms, size_t n)
{
	as_u128 *values = calloc(as_expr_n(d->e) + 1, sizeof(*values));
	bool hold = true;

	as_expr_eval(d->e, bytes, values);
	for (size_t i = 0; i < n; i++)
		hold = hold && values[terms[i]] == 1;
	free(values);
	return hold;
}

static void test_against_z3(void **state)
{
	struct as_solver *plain, *fast;
	unsigned both = 0, none = 0, by_bounds;
	struct as_err err;

	(void)state;
	if (as_solver_new(&(struct as_solver_setup){ .deadline_ms = 250,
						     .only_z3 = true,
						     .concretize = AS_CONCRETIZE_NONE },
			  &plain, &err)) {
		print_message("skipped: %s\n", err.msg);
		skip();
	}
	assert_int_equal(
		as_solver_new(&(struct as_solver_setup){ .without_z3 = true,
							 .concretize = AS_CONCRETIZE_NONE },
			      &fast, &err),
		0);
	for (uint64_t seed = 1; seed <= 600; seed++) {
		unsigned char bytes[BYTES], out[BYTES];
		uint32_t terms[TERMS + 1];
		struct as_question q;
		enum as_solved a, b;
		struct draw d;
		size_t n;

		draw_open(&d, seed);
		for (unsigned i = 0; i < BYTES; i++)
			bytes[i] = (unsigned char)(as_prng_next(&d.prng) >> below(&d, 64));
		n = draw_terms(&d, bytes, terms);
		q = (struct as_question){ .expr = d.e,
					  .holds = terms,
					  .n = n - 1,
					  .target = terms[n - 1],
					  .bytes = bytes };
		b = as_solve(fast, &q, out);
		if (b == AS_SOLVED)
			assert_true(all_hold(&d, out, terms, n));
		if (b != AS_SOLVED_LATE) {
			a = as_solve(plain, &q, out);
			if (a == AS_SOLVED)
				assert_true(all_hold(&d, out, terms, n));
			if (a != AS_SOLVED_LATE && a != b)
				fail_msg("seed %llu: Z3 says %d, we say %d",
					 (unsigned long long)seed, (int)a, (int)b);
			both += a != AS_SOLVED_LATE;
			none += a == AS_SOLVED_NONE;
		}
		as_expr_free(d.e);
	}
	by_bounds = (unsigned)as_solver_counts(fast).by_bounds;
	print_message("%u questions with two answers, %u of them none; by bounds %u\n", both, none,
		      by_bounds);
	assert_true(both > 200 && none > 20 && by_bounds > 60);
	assert_int_equal(as_solver_counts(plain).wrong + as_solver_counts(fast).wrong, 0);
	as_solver_free(plain);
	as_solver_free(fast);
}

/* ---- Bounds against numbers ------------------------------------------------------------------ */

/* Bytes at random between low and high. */
static void draw_point(struct draw *d, const unsigned char *low, const unsigned char *high,
		       unsigned char *bytes)
{
	for (unsigned i = 0; i < BYTES; i++)
		bytes[i] = (unsigned char)(low[i] + below(d, high[i] - low[i] + 1u));
}

static void bounds_of_all(struct draw *d, const unsigned char *low, const unsigned char *high,
			  struct solve_bound *all)
{
	all[0] = (struct solve_bound){ 0, 0 };
	for (uint32_t i = 1; i <= as_expr_n(d->e); i++) {
		const struct as_expr_node *x = as_expr_at(d->e, i);

		all[i] = x->op == AS_EXPR_INPUT
				 ? (struct solve_bound){ low[(size_t)x->imm], high[(size_t)x->imm] }
				 : as_bounds_of(d->e, x, all);
	}
}

/* Every value is between the bounds; narrowing to bounds around it never cuts it off. */
static void check_point(struct draw *d, const unsigned char *bytes, const struct solve_bound *all,
			struct solve_bound *own, as_u128 *values)
{
	uint32_t n = as_expr_n(d->e);

	as_expr_eval(d->e, bytes, values);
	for (uint32_t i = 1; i <= n; i++)
		assert_true(values[i] >= all[i].lo && values[i] <= all[i].hi);
	memcpy(own, all, (n + 1) * sizeof(*own));
	for (uint32_t i = n; i; i--) {
		const struct as_expr_node *x = as_expr_at(d->e, i);
		as_u128 slack = (as_u128)as_prng_next(&d->prng) >> below(d, 64);
		as_u128 v = values[i];
		bool changed = false;

		if (below(d, 2)) {
			as_u128 low = v > slack ? v - slack : 0;
			as_u128 high = v < ~slack ? v + slack : ~(as_u128)0;

			own[i].lo = low > own[i].lo ? low : own[i].lo;
			own[i].hi = high < own[i].hi ? high : own[i].hi;
		}
		if (!as_bounds_narrow(d->e, x, own[i], own, &changed))
			fail_msg("%s of %u bits has no value left", as_expr_op_name(x->op),
				 x->width);
		for (unsigned k = 0; k < as_expr_op_args(x->op); k++)
			if (values[x->arg[k]] < own[x->arg[k]].lo ||
			    values[x->arg[k]] > own[x->arg[k]].hi)
				fail_msg("%s of %u bits cuts its argument %u off",
					 as_expr_op_name(x->op), x->width, k);
	}
}

static void test_bounds_hold(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 2000; seed++) {
		unsigned char low[BYTES], high[BYTES], bytes[BYTES];
		struct solve_bound *all, *own;
		as_u128 *values;
		struct draw d;

		draw_open(&d, seed + 1000000);
		for (unsigned i = 0; i < TERMS; i++)
			assert_int_not_equal(draw_term(&d), 0);
		all = calloc(as_expr_n(d.e) + 1, sizeof(*all));
		own = calloc(as_expr_n(d.e) + 1, sizeof(*own));
		values = calloc(as_expr_n(d.e) + 1, sizeof(*values));
		for (unsigned i = 0; i < BYTES; i++) {
			low[i] = (unsigned char)below(&d, 256);
			high[i] = (unsigned char)(low[i] +
						  below(&d, 256u - low[i]) / (1u + below(&d, 9)));
		}
		bounds_of_all(&d, low, high, all);
		for (unsigned i = 0; i < 24; i++) {
			draw_point(&d, low, high, bytes);
			check_point(&d, bytes, all, own, values);
		}
		free(all);
		free(own);
		free(values);
		as_expr_free(d.e);
	}
}

/* ---- Quotients ------------------------------------------------------------------------------- */

/* The product that a compiler makes of a division is a quotient for all values, or stays as it is:
 * each factor around the right one is compared at the borders of the quotients. */
static void test_magic(void **state)
{
	unsigned found = 0;

	(void)state;
	for (unsigned divisor = 2; divisor < 400; divisor++)
		for (unsigned shift = 32; shift < 44; shift++)
			for (int off = -1; off <= 2; off++) {
				struct as_expr *e = as_expr_new();
				uint64_t factor = ((UINT64_C(1) << shift) + divisor - 1) / divisor +
						  (uint64_t)(int64_t)off;
				uint32_t x = as_expr_input(e, 0), q;
				as_u128 values[64];

				for (unsigned k = 1; k < 4; k++)
					x = as_expr_op2(e, AS_EXPR_CONCAT, as_expr_input(e, k), x);
				q = as_expr_op1(e, AS_EXPR_ZEXT, 64, x, 0);
				q = as_expr_op2(e, AS_EXPR_MUL, q, as_expr_const(e, 64, factor));
				q = as_expr_op1(e, AS_EXPR_EXTRACT, 64 - shift, q, shift);
				assert_true(as_expr_n(e) < 64);
				for (unsigned i = 0; i < 40; i++) {
					uint32_t v = (uint32_t)(i < 20 ? (uint64_t)i * divisor / 2
								       : UINT32_MAX - (i - 20));
					unsigned char bytes[4];
					uint64_t want = (uint64_t)v * factor >> shift;

					memcpy(bytes, &v, sizeof(v));
					as_expr_eval(e, bytes, values);
					assert_true(values[q] == (want & as_expr_mask(64 - shift)));
				}
				found += as_expr_at(e, q)->op != AS_EXPR_EXTRACT ||
					 as_expr_at(e, as_expr_at(e, q)->arg[0])->op != AS_EXPR_MUL;
				as_expr_free(e);
			}
	print_message("%u products are quotients\n", found);
	assert_true(found > 300);
}

/* The same questions, simplified and not: equal for bytes at random. */
static void test_simple_is_equal(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 4000; seed++) {
		struct draw a, b;
		as_u128 *x, *y;
		uint32_t term;

		draw_graph(&a, seed + 2000000, false);
		draw_graph(&b, seed + 2000000, true);
		assert_int_equal(a.n, b.n);
		for (unsigned i = 0; i < 8; i++) {
			term = draw_term(&a);
			a.words[a.n++] = term;
			term = draw_term(&b);
			b.words[b.n++] = term;
		}
		x = calloc(as_expr_n(a.e) + 1, sizeof(*x));
		y = calloc(as_expr_n(b.e) + 1, sizeof(*y));
		for (unsigned round = 0; round < 24; round++) {
			unsigned char bytes[BYTES];

			for (unsigned i = 0; i < BYTES; i++)
				bytes[i] = (unsigned char)(as_prng_next(&a.prng) >> below(&a, 64));
			as_expr_eval(a.e, bytes, x);
			as_expr_eval(b.e, bytes, y);
			for (unsigned i = 0; i < a.n; i++)
				if (x[a.words[i]] != y[b.words[i]])
					fail_msg("seed %llu: %s of %u bits is not what it was",
						 (unsigned long long)seed,
						 as_expr_op_name(as_expr_at(b.e, b.words[i])->op),
						 width_of(&b, b.words[i]));
		}
		free(x);
		free(y);
		as_expr_free(a.e);
		as_expr_free(b.e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_magic),
		cmocka_unit_test(test_simple_is_equal),
		cmocka_unit_test(test_bounds_hold),
		cmocka_unit_test(test_against_z3),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
