/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * solve_z3: the inside of the process of Z3. Z3 is loaded when it is first needed, not linked: it
 * is large, and most commands never need it.
 *
 * A question is rebuilt in Z3 from its nodes. A fresh context is made for some hundred questions,
 * since a context keeps what was made in it. Whoever asks sees to the time, and kills the process.
 */
#include "sym/solve_priv.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <z3.h>

#define LIBRARY "libz3.so.4"
#define QUESTIONS 200u /* of one context */
#define TABLES_MAX 4096u

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
	struct solve_wire wire;
	struct as_expr_node *nodes; /* from 1 on */
	Z3_ast *asts;
	uint32_t *terms;
	unsigned char *tables[TABLES_MAX];
	uint32_t table_bytes[TABLES_MAX];
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
		return x->imm >= 256
			       ? number(c, 8, x->imm & 255)
			       : z3.mk_const(c, z3.mk_int_symbol(c, (int)i), z3.mk_bv_sort(c, 8));
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

static void question_get(int fd, struct z3_question *q)
{
	get(fd, &q->wire, sizeof(q->wire));
	if (q->wire.nodes > SOLVE_WIRE_NODES_MAX || q->wire.tables > TABLES_MAX)
		_exit(1);
	q->nodes = as_xcalloc((uint64_t)q->wire.nodes + 1, sizeof(*q->nodes));
	q->asts = as_xcalloc((uint64_t)q->wire.nodes + 1, sizeof(*q->asts));
	q->terms = as_xcalloc((uint64_t)q->wire.terms + 1, sizeof(*q->terms));
	get(fd, q->nodes + 1, q->wire.nodes * sizeof(*q->nodes));
	for (uint32_t i = 0; i < q->wire.tables; i++) {
		get(fd, &q->table_bytes[i], sizeof(q->table_bytes[i]));
		q->tables[i] = as_xmalloc((uint64_t)q->table_bytes[i] + 1);
		get(fd, q->tables[i], q->table_bytes[i]);
	}
	get(fd, q->terms, q->wire.terms * sizeof(*q->terms));
}

static void question_free(struct z3_question *q)
{
	for (uint32_t i = 0; i < q->wire.tables; i++)
		free(q->tables[i]);
	free(q->nodes);
	free(q->asts);
	free(q->terms);
}

static void read_model(struct z3_question *q, Z3_solver solver, struct solve_reply *r,
		       unsigned char *bytes)
{
	Z3_model model = z3.solver_get_model(q->c, solver);

	if (!model)
		return;
	z3.model_inc_ref(q->c, model);
	r->solved = AS_SOLVED;
	r->bytes = q->wire.inputs;
	for (uint32_t i = 1; i <= q->wire.inputs; i++) {
		uint64_t value = 0;
		Z3_ast ast;

		/* A wrong byte is found out by whoever asked. */
		if (z3.model_eval(q->c, model, q->asts[i], true, &ast))
			(void)z3.get_numeral_uint64(q->c, ast, &value);
		bytes[i - 1] = (unsigned char)value;
	}
	z3.model_dec_ref(q->c, model);
}

static void answer(struct z3_question *q, int fd)
{
	Z3_solver solver = z3.mk_solver_for_logic(q->c, z3.mk_string_symbol(q->c, "QF_BV"));
	unsigned char *bytes = as_xcalloc((uint64_t)q->wire.inputs + 1, 1);
	struct solve_reply r = { .solved = AS_SOLVED_LATE };
	Z3_lbool got;

	/* What nobody holds is gone with the next one that is made. */
	z3.solver_inc_ref(q->c, solver);
	for (uint32_t i = 1; i <= q->wire.nodes; i++)
		q->asts[i] = build(q, i);
	for (uint32_t i = 0; i < q->wire.terms; i++)
		z3.solver_assert(q->c, solver,
				 z3.mk_eq(q->c, q->asts[q->terms[i]], number(q->c, 1, 1)));
	got = z3.get_error_code(q->c) == Z3_OK ? z3.solver_check(q->c, solver) : Z3_L_UNDEF;
	if (got == Z3_L_TRUE)
		read_model(q, solver, &r, bytes);
	else if (got == Z3_L_FALSE)
		r.solved = AS_SOLVED_NONE;
	z3.solver_dec_ref(q->c, solver);
	put(fd, &r, sizeof(r));
	put(fd, bytes, r.bytes);
	free(bytes);
}

_Noreturn void as_z3_serve(int fd)
{
	struct z3_question *q = as_xcalloc(1, sizeof(*q));
	Z3_config config = z3.mk_config();
	Z3_context c = NULL;

	for (unsigned n = 0;; n++) {
		question_get(fd, q);
		if (n % QUESTIONS == 0) {
			if (c)
				z3.del_context(c);
			c = z3.mk_context(config);
			z3.set_error_handler(c, NULL);
		}
		q->c = c;
		answer(q, fd);
		question_free(q);
	}
}
