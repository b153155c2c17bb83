/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * solve_z3: the inside of the process of Z3. Z3 is loaded when it is first needed, not linked: it
 * is large, and most commands never need it.
 *
 * Nodes are made in Z3 once, when they come, and stay until whoever asks says otherwise. There is
 * one solver for all questions until then. Each term has a literal that implies it, and a question
 * assumes the literals of its terms: so Z3 takes a term apart into bits once, and what it learnt
 * about the terms of one question holds in all others. A question whose bytes are partly fixed
 * gets a solver of its own. Whoever asks sees to the time, and kills the process.
 */
#include "sym/solve_priv.h"

#include "base/array.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <z3.h>

#define LIBRARY "libz3.so.4"
#define TABLES_MAX 4096u
#define CONTEXT_NODES 20000u /* of one context, which keeps what was made in it */

static struct {
#define Z(name) __typeof__(Z3_##name) *name;
#include "sym/z3.def"
#undef Z
} z3;

static const struct {
	const char *name;
	size_t at;
} names[] = {
#define Z(name) { "Z3_" #name, offsetof(__typeof__(z3), name) },
#include "sym/z3.def"
#undef Z
};

int as_z3_load(struct as_err *err)
{
	void *library;

	if (z3.mk_context)
		return 0;
	library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return as_fail(err, AS_ELACK, "Z3 is missing: install libz3-dev (%.200s)",
			       dlerror());
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *symbol = dlsym(library, names[i].name);

		if (!symbol) {
			memset(&z3, 0, sizeof(z3));
			return as_fail(err, AS_ELACK, "%s has no %s: install libz3-dev", LIBRARY,
				       names[i].name);
		}
		memcpy((char *)&z3 + names[i].at, &symbol, sizeof(symbol));
	}
	return 0;
}

/* ---- Expressions ----------------------------------------------------------------------------- */

struct z3_question {
	Z3_context c;
	Z3_solver solver; /* of all questions that are not fresh; NULL: there was none yet */
	/* Of all questions since the last reset. */
	struct as_expr_node *nodes; /* from 1 on */
	Z3_ast *asts, *literals; /* a literal that implies the node, or NULL */
	uint32_t n, made; /* made: in this context */
	size_t cap_nodes, cap_asts, cap_literals;
	unsigned char *tables[TABLES_MAX];
	uint32_t table_bytes[TABLES_MAX];
	uint32_t n_tables;
	/* Of this one. */
	struct solve_wire wire;
	struct solve_wire_input *inputs;
	uint32_t *terms;
};

static Z3_ast number(Z3_context c, unsigned width, as_u128 value)
{
	char text[48];
	unsigned n = sizeof(text);
	Z3_sort sort = z3.mk_bv_sort(c, width);

	text[--n] = '\0';
	do {
		text[--n] = (char)('0' + (int)(value % 10));
		value /= 10;
	} while (value);
	return z3.mk_numeral(c, text + n, sort);
}

static Z3_ast bit(Z3_context c, Z3_ast truth)
{
	return z3.mk_ite(c, truth, number(c, 1, 1), number(c, 1, 0));
}

static Z3_ast to_width(Z3_context c, Z3_ast ast, unsigned from, unsigned width)
{
	return from == width  ? ast
	       : from < width ? z3.mk_zero_ext(c, width - from, ast)
			      : z3.mk_extract(c, width - 1, 0, ast);
}

/* The amount may be wider than what is shifted. */
static Z3_ast shift(struct z3_question *q, const struct as_expr_node *x)
{
	unsigned w = x->width, wb = q->nodes[x->arg[1]].width, wide = w > wb ? w : wb;
	Z3_ast a = q->asts[x->arg[0]], b = to_width(q->c, q->asts[x->arg[1]], wb, wide), r;

	if (wide > w)
		a = x->op == AS_EXPR_ASHR ? z3.mk_sign_ext(q->c, wide - w, a)
					  : z3.mk_zero_ext(q->c, wide - w, a);
	r = x->op == AS_EXPR_SHL    ? z3.mk_bvshl(q->c, a, b)
	    : x->op == AS_EXPR_LSHR ? z3.mk_bvlshr(q->c, a, b)
				    : z3.mk_bvashr(q->c, a, b);
	return to_width(q->c, r, wide, w);
}

static Z3_ast count(struct z3_question *q, const struct as_expr_node *x)
{
	unsigned w = x->width;
	Z3_ast a = q->asts[x->arg[0]], r = number(q->c, w, x->op == AS_EXPR_POPCNT ? 0 : w);

	for (unsigned k = 0; k < w; k++) {
		/* The bit that decides most comes last. */
		unsigned i = x->op == AS_EXPR_CTZ ? w - 1 - k : k;
		Z3_ast one = z3.mk_extract(q->c, i, i, a);
		unsigned n = x->op == AS_EXPR_CTZ ? i : w - 1 - i;

		if (x->op == AS_EXPR_POPCNT)
			r = z3.mk_bvadd(q->c, r, to_width(q->c, one, 1, w));
		else
			r = z3.mk_ite(q->c, z3.mk_eq(q->c, one, number(q->c, 1, 1)),
				      number(q->c, w, n), r);
	}
	return r;
}

static as_u128 entry(const struct z3_question *q, uint32_t table, uint64_t off, unsigned width)
{
	as_u128 value = 0;

	for (unsigned i = 0; i < width / 8 && off + i < q->table_bytes[table]; i++)
		value |= (as_u128)q->tables[table][off + i] << 8 * i;
	return value;
}

/* A tree that decides bit by bit; equal halves are one. Bits below `bit` are those of `off`. */
static Z3_ast table_tree(struct z3_question *q, const struct as_expr_node *x, int top, uint64_t off)
{
	Z3_ast low, high, one;

	if (off >= q->table_bytes[(size_t)x->imm])
		return number(q->c, x->width, 0);
	if (top < 0)
		return number(q->c, x->width, entry(q, (uint32_t)x->imm, off, x->width));
	low = table_tree(q, x, top - 1, off);
	high = table_tree(q, x, top - 1, off | UINT64_C(1) << top);
	if (low == high)
		return low;
	one = z3.mk_extract(q->c, (unsigned)top, (unsigned)top, q->asts[x->arg[0]]);
	return z3.mk_ite(q->c, z3.mk_eq(q->c, one, number(q->c, 1, 1)), high, low);
}

static Z3_ast table(struct z3_question *q, const struct as_expr_node *x)
{
	unsigned w = q->nodes[x->arg[0]].width;
	int top = 0;

	while (top < 16 && top < (int)w && q->table_bytes[(size_t)x->imm] > UINT64_C(1) << top)
		top++;
	/* An offset that is larger is outside. */
	return z3.mk_ite(q->c,
			 (unsigned)top == w ? z3.mk_eq(q->c, number(q->c, 1, 1), number(q->c, 1, 1))
					    : z3.mk_eq(q->c,
						       z3.mk_extract(q->c, w - 1, (unsigned)top,
								     q->asts[x->arg[0]]),
						       number(q->c, w - (unsigned)top, 0)),
			 table_tree(q, x, top - 1, 0), number(q->c, x->width, 0));
}

static Z3_ast compare(struct z3_question *q, const struct as_expr_node *x)
{
	Z3_ast a = q->asts[x->arg[0]], b = q->asts[x->arg[1]];

	switch (x->op) {
	case AS_EXPR_EQ:
		return bit(q->c, z3.mk_eq(q->c, a, b));
	case AS_EXPR_ULT:
		return bit(q->c, z3.mk_bvult(q->c, a, b));
	case AS_EXPR_ULE:
		return bit(q->c, z3.mk_bvule(q->c, a, b));
	case AS_EXPR_SLT:
		return bit(q->c, z3.mk_bvslt(q->c, a, b));
	default:
		return bit(q->c, z3.mk_bvsle(q->c, a, b));
	}
}

static Z3_ast arith(struct z3_question *q, const struct as_expr_node *x)
{
	static Z3_ast (**const functions[])(Z3_context, Z3_ast, Z3_ast) = {
		[AS_EXPR_ADD] = &z3.mk_bvadd,	  [AS_EXPR_SUB] = &z3.mk_bvsub,
		[AS_EXPR_MUL] = &z3.mk_bvmul,	  [AS_EXPR_UDIV] = &z3.mk_bvudiv,
		[AS_EXPR_UREM] = &z3.mk_bvurem,	  [AS_EXPR_SDIV] = &z3.mk_bvsdiv,
		[AS_EXPR_SREM] = &z3.mk_bvsrem,	  [AS_EXPR_AND] = &z3.mk_bvand,
		[AS_EXPR_OR] = &z3.mk_bvor,	  [AS_EXPR_XOR] = &z3.mk_bvxor,
		[AS_EXPR_CONCAT] = &z3.mk_concat,
	};

	return (*functions[x->op])(q->c, q->asts[x->arg[0]], q->asts[x->arg[1]]);
}

static Z3_ast build(struct z3_question *q, uint32_t i)
{
	const struct as_expr_node *x = &q->nodes[i];
	Z3_context c = q->c;
	Z3_ast a = q->asts[x->arg[0]];
	unsigned w0 = q->nodes[x->arg[0]].width;

	switch ((enum as_expr_op)x->op) {
	case AS_EXPR_INPUT:
		return z3.mk_const(c, z3.mk_int_symbol(c, (int)i), z3.mk_bv_sort(c, 8));
	case AS_EXPR_CONST:
		return number(c, x->width, x->imm);
	case AS_EXPR_NOT:
		return z3.mk_bvnot(c, a);
	case AS_EXPR_NEG:
		return z3.mk_bvneg(c, a);
	case AS_EXPR_SHL:
	case AS_EXPR_LSHR:
	case AS_EXPR_ASHR:
		return shift(q, x);
	case AS_EXPR_EXTRACT:
		return z3.mk_extract(c, (unsigned)x->imm + x->width - 1, (unsigned)x->imm, a);
	case AS_EXPR_ZEXT:
		return x->width == w0 ? a : z3.mk_zero_ext(c, x->width - w0, a);
	case AS_EXPR_SEXT:
		return x->width == w0 ? a : z3.mk_sign_ext(c, x->width - w0, a);
	case AS_EXPR_EQ:
	case AS_EXPR_ULT:
	case AS_EXPR_ULE:
	case AS_EXPR_SLT:
	case AS_EXPR_SLE:
		return compare(q, x);
	case AS_EXPR_ITE:
		return z3.mk_ite(c, z3.mk_eq(c, a, number(c, 1, 1)), q->asts[x->arg[1]],
				 q->asts[x->arg[2]]);
	case AS_EXPR_CLZ:
	case AS_EXPR_CTZ:
	case AS_EXPR_POPCNT:
		return count(q, x);
	case AS_EXPR_TABLE:
		return table(q, x);
	default:
		return arith(q, x);
	}
}

/* ---- Questions ------------------------------------------------------------------------------- */

static void get(int fd, void *data, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = read(fd, (char *)data + done, len - done);

		if (!n || (n < 0 && errno != EINTR))
			_exit(0);
		done += n > 0 ? (size_t)n : 0;
	}
}

static void put(int fd, const void *data, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = write(fd, (const char *)data + done, len - done);

		if (n < 0 && errno != EINTR)
			_exit(0);
		done += n > 0 ? (size_t)n : 0;
	}
}

static void context_new(struct z3_question *q)
{
	Z3_config config = z3.mk_config();

	q->c = z3.mk_context(config);
	z3.del_config(config);
	z3.set_error_handler(q->c, NULL);
}

static void reset(struct z3_question *q)
{
	if (q->solver)
		z3.solver_dec_ref(q->c, q->solver);
	q->solver = NULL;
	for (uint32_t i = 0; i < q->n_tables; i++)
		free(q->tables[i]);
	q->n = q->n_tables = 0;
	if (q->made < CONTEXT_NODES && q->c)
		return;
	if (q->c)
		z3.del_context(q->c);
	context_new(q);
	q->made = 0;
}

static void question_get(int fd, struct z3_question *q)
{
	get(fd, &q->wire, sizeof(q->wire));
	if (q->wire.flags & SOLVE_WIRE_RESET || !q->c)
		reset(q);
	if (q->wire.nodes > SOLVE_WIRE_NODES_MAX || q->wire.tables > TABLES_MAX - q->n_tables)
		_exit(1);
	AS_ARRAY_ROOM_FOR(q->nodes, (size_t)q->n + 1, q->wire.nodes, q->cap_nodes);
	AS_ARRAY_ROOM_FOR(q->asts, (size_t)q->n + 1, q->wire.nodes, q->cap_asts);
	AS_ARRAY_ROOM_FOR(q->literals, (size_t)q->n + 1, q->wire.nodes, q->cap_literals);
	get(fd, q->nodes + q->n + 1, q->wire.nodes * sizeof(*q->nodes));
	for (uint32_t i = q->n_tables; i < q->n_tables + q->wire.tables; i++) {
		get(fd, &q->table_bytes[i], sizeof(q->table_bytes[i]));
		q->tables[i] = as_xmalloc((uint64_t)q->table_bytes[i] + 1);
		get(fd, q->tables[i], q->table_bytes[i]);
	}
	q->n_tables += q->wire.tables;
	q->inputs = as_xcalloc((uint64_t)q->wire.inputs + 1, sizeof(*q->inputs));
	q->terms = as_xcalloc((uint64_t)q->wire.terms + 1, sizeof(*q->terms));
	get(fd, q->inputs, q->wire.inputs * sizeof(*q->inputs));
	get(fd, q->terms, q->wire.terms * sizeof(*q->terms));
	q->nodes[0] = (struct as_expr_node){ 0 };
	q->asts[0] = NULL;
	for (uint32_t i = q->n + 1; i <= q->n + q->wire.nodes; i++) {
		q->asts[i] = build(q, i);
		q->literals[i] = NULL;
	}
	q->n += q->wire.nodes;
	q->made += q->wire.nodes;
}

static void question_free(struct z3_question *q)
{
	free(q->inputs);
	free(q->terms);
}

/* ---- Answers --------------------------------------------------------------------------------- */

struct z3_answer {
	struct solve_reply head;
	unsigned char *bytes; /* of each input */
	uint32_t *core; /* places of terms */
};

static Z3_solver solver_new(struct z3_question *q)
{
	Z3_solver solver = z3.mk_solver_for_logic(q->c, z3.mk_string_symbol(q->c, "QF_BV"));

	/* What nobody holds is gone with the next one that is made. */
	z3.solver_inc_ref(q->c, solver);
	return solver;
}

static Z3_ast is_one(struct z3_question *q, uint32_t node)
{
	return z3.mk_eq(q->c, q->asts[node], number(q->c, 1, 1));
}

static void read_model(struct z3_question *q, Z3_solver solver, struct z3_answer *a)
{
	Z3_model model = z3.solver_get_model(q->c, solver);

	if (!model)
		return;
	z3.model_inc_ref(q->c, model);
	a->head.solved = AS_SOLVED;
	a->head.bytes = q->wire.inputs;
	for (uint32_t i = 0; i < q->wire.inputs; i++) {
		uint64_t value = 0;
		Z3_ast ast;

		/* A wrong byte is found out by whoever asked. */
		if (z3.model_eval(q->c, model, q->asts[q->inputs[i].node], true, &ast))
			(void)z3.get_numeral_uint64(q->c, ast, &value);
		a->bytes[i] = (unsigned char)value;
	}
	z3.model_dec_ref(q->c, model);
}

/* Which terms suffice. */
static void read_core(struct z3_question *q, struct z3_answer *a)
{
	Z3_ast_vector core = z3.solver_get_unsat_core(q->c, q->solver);
	unsigned n;

	if (!core)
		return;
	z3.ast_vector_inc_ref(q->c, core);
	n = z3.ast_vector_size(q->c, core);
	for (uint32_t i = 0; i < q->wire.terms; i++)
		for (unsigned k = 0; k < n; k++)
			if (z3.ast_vector_get(q->c, core, k) == q->literals[q->terms[i]]) {
				a->core[a->head.core++] = i;
				break;
			}
	z3.ast_vector_dec_ref(q->c, core);
}

static Z3_lbool check_fresh(struct z3_question *q, Z3_solver solver)
{
	for (uint32_t i = 0; i < q->wire.inputs; i++)
		if (q->inputs[i].fixed)
			z3.solver_assert(q->c, solver,
					 z3.mk_eq(q->c, q->asts[q->inputs[i].node],
						  number(q->c, 8, q->inputs[i].fixed & 255)));
	for (uint32_t i = 0; i < q->wire.terms; i++)
		z3.solver_assert(q->c, solver, is_one(q, q->terms[i]));
	return z3.get_error_code(q->c) == Z3_OK ? z3.solver_check(q->c, solver) : Z3_L_UNDEF;
}

static Z3_lbool check_kept(struct z3_question *q)
{
	Z3_ast *assumed = as_xcalloc((uint64_t)q->wire.terms + 1, sizeof(*assumed));
	Z3_lbool got;

	for (uint32_t i = 0; i < q->wire.terms; i++) {
		uint32_t term = q->terms[i];

		if (!q->literals[term]) {
			q->literals[term] = z3.mk_const(
				q->c, z3.mk_int_symbol(q->c, (int)(SOLVE_WIRE_NODES_MAX + term)),
				z3.mk_bool_sort(q->c));
			z3.solver_assert(q->c, q->solver,
					 z3.mk_implies(q->c, q->literals[term], is_one(q, term)));
		}
		assumed[i] = q->literals[term];
	}
	got = z3.get_error_code(q->c) == Z3_OK
		      ? z3.solver_check_assumptions(q->c, q->solver, q->wire.terms, assumed)
		      : Z3_L_UNDEF;
	free(assumed);
	return got;
}

static void answer(struct z3_question *q, int fd)
{
	struct z3_answer a = { .head = { .solved = AS_SOLVED_LATE },
			       .bytes = as_xcalloc((uint64_t)q->wire.inputs + 1, 1),
			       .core = as_xcalloc((uint64_t)q->wire.terms + 1, sizeof(*a.core)) };
	bool fresh = q->wire.flags & SOLVE_WIRE_FRESH;
	Z3_solver solver;
	Z3_lbool got;

	if (!fresh && !q->solver)
		q->solver = solver_new(q);
	solver = fresh ? solver_new(q) : q->solver;
	got = fresh ? check_fresh(q, solver) : check_kept(q);
	if (got == Z3_L_TRUE) {
		read_model(q, solver, &a);
	} else if (got == Z3_L_FALSE) {
		a.head.solved = AS_SOLVED_NONE;
		if (!fresh)
			read_core(q, &a);
	}
	if (fresh)
		z3.solver_dec_ref(q->c, solver);
	put(fd, &a.head, sizeof(a.head));
	put(fd, a.bytes, a.head.bytes);
	put(fd, a.core, a.head.core * sizeof(*a.core));
	free(a.bytes);
	free(a.core);
}

_Noreturn void as_z3_serve(int fd)
{
	struct z3_question *q = as_xcalloc(1, sizeof(*q));

	for (;;) {
		question_get(fd, q);
		answer(q, fd);
		question_free(q);
	}
}
