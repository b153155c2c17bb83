/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * expr: see expr.h.
 *
 * Invariants
 *   1. Arguments have lower numbers than their node; node 0 is never an argument that counts.
 *   2. The value of a node fits its width.
 *   3. Two nodes are never equal; two sets are never equal.
 */
#include "sym/expr_priv.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	uint8_t args;
	char width;
} ops[] = {
#define A 'A'
#define B 'B'
#define F 'F'
#define OP(id, name, args, width) { name, args, width },
#include "sym/expr_op.def"
#undef OP
#undef A
#undef B
#undef F
};

const char *as_expr_op_name(enum as_expr_op op)
{
	return ops[op].name;
}

unsigned as_expr_op_args(enum as_expr_op op)
{
	return ops[op].args;
}

static uint32_t add_set(struct as_expr *e, const uint64_t *words, uint32_t n);

struct as_expr *as_expr_new(void)
{
	struct as_expr *e = as_xcalloc(1, sizeof(*e));

	AS_ARRAY_ROOM(e->nodes, e->n, e->cap);
	e->nodes[0] = (struct as_expr_node){ .op = AS_EXPR_CONST, .width = 1 };
	AS_ARRAY_ROOM(e->meta, e->n, e->cap_meta);
	e->meta[0] = (struct expr_meta){ 0 };
	e->n = 1;
	add_set(e, NULL, 0);
	return e;
}

void as_expr_free(struct as_expr *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->n_tables; i++)
		free(e->tables[i].data);
	for (size_t i = 0; i < e->n_sets; i++)
		free(e->sets[i].words);
	as_table_free(&e->equal);
	as_table_free(&e->same_set);
	as_table_free(&e->unions);
	as_table_free(&e->by_off);
	free(e->tables);
	free(e->sets);
	free(e->offs);
	free(e->union_of);
	free(e->nodes);
	free(e->meta);
	free(e);
}

uint32_t as_expr_n(const struct as_expr *e)
{
	return (uint32_t)e->n - 1;
}

const struct as_expr_node *as_expr_at(const struct as_expr *e, uint32_t node)
{
	as_assert(node < e->n);
	return &e->nodes[node];
}

struct as_digest as_expr_digest(const struct as_expr *e, uint32_t node)
{
	return e->meta[node].digest;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

uint32_t as_expr_add_table(struct as_expr *e, const void *data, uint32_t bytes)
{
	struct expr_table t = { .bytes = bytes, .digest = as_hash(data, bytes) };

	for (size_t i = 0; i < e->n_tables; i++)
		if (as_digest_eq(e->tables[i].digest, t.digest) && e->tables[i].bytes == bytes)
			return (uint32_t)i;
	t.data = as_xmalloc((uint64_t)bytes + 1);
	memcpy(t.data, data, bytes);
	AS_ARRAY_ROOM(e->tables, e->n_tables, e->cap_tables);
	e->tables[e->n_tables] = t;
	return (uint32_t)e->n_tables++;
}

as_u128 as_expr_table_at(const struct as_expr *e, uint32_t table, as_u128 off, unsigned width)
{
	const struct expr_table *t = &e->tables[table];
	as_u128 value = 0;

	for (unsigned i = 0; i < width / 8 && off < t->bytes && off + i < t->bytes; i++)
		value |= (as_u128)t->data[(size_t)off + i] << 8 * i;
	return value;
}

uint32_t as_expr_table_bytes(const struct as_expr *e, uint32_t table)
{
	return e->tables[table].bytes;
}

/* ---- Sets of inputs -------------------------------------------------------------------------- */

struct asked_set {
	const struct as_expr *e;
	const uint64_t *words;
	uint32_t n;
};

static bool is_set(const void *ctx, size_t i)
{
	const struct asked_set *a = ctx;
	const struct expr_set *s = &a->e->sets[i];

	return s->n == a->n && (!a->n || !memcmp(s->words, a->words, a->n * sizeof(*a->words)));
}

static uint32_t add_set(struct as_expr *e, const uint64_t *words, uint32_t n)
{
	struct asked_set asked = { e, words, n };
	uint64_t hash = n ? as_hash64(words, n * sizeof(*words)) : 0;
	size_t found = as_table_find(&e->same_set, hash, is_set, &asked);
	struct expr_set s = { .n = n };

	if (found != AS_TABLE_NONE)
		return (uint32_t)found;
	s.words = as_xcalloc(n + 1, sizeof(*words));
	for (uint32_t i = 0; i < n; i++) {
		s.words[i] = words[i];
		s.count += (uint32_t)__builtin_popcountll(words[i]);
	}
	AS_ARRAY_ROOM(e->sets, e->n_sets, e->cap_sets);
	e->sets[e->n_sets] = s;
	as_table_add(&e->same_set, hash, e->n_sets);
	return (uint32_t)e->n_sets++;
}

uint32_t as_expr_set_union(struct as_expr *e, uint32_t a, uint32_t b)
{
	const struct expr_set *x, *y;
	uint64_t key, *words;
	uint32_t set;
	size_t i;

	if (a == b || !b)
		return a;
	if (!a)
		return b;
	key = a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
	i = as_table_get(&e->unions, key);
	if (i != AS_TABLE_NONE)
		return e->union_of[i];
	x = &e->sets[a];
	y = &e->sets[b];
	if (x->n < y->n) {
		x = &e->sets[b];
		y = &e->sets[a];
	}
	words = as_xmalloc(x->n * sizeof(*words) + 1);
	memcpy(words, x->words, x->n * sizeof(*words));
	for (uint32_t k = 0; k < y->n; k++)
		words[k] |= y->words[k];
	set = add_set(e, words, x->n);
	free(words);
	AS_ARRAY_ROOM(e->union_of, e->n_unions, e->cap_unions);
	e->union_of[e->n_unions] = set;
	as_table_add(&e->unions, key, e->n_unions++);
	return set;
}

bool as_expr_set_has(const struct as_expr *e, uint32_t set, uint32_t input)
{
	const struct expr_set *s = &e->sets[set];

	return input / 64 < s->n && s->words[input / 64] >> input % 64 & 1;
}

bool as_expr_sets_meet(const struct as_expr *e, uint32_t a, uint32_t b)
{
	const struct expr_set *x = &e->sets[a], *y = &e->sets[b];

	for (uint32_t i = 0; i < x->n && i < y->n; i++)
		if (x->words[i] & y->words[i])
			return true;
	return false;
}

uint32_t as_expr_set_n(const struct as_expr *e, uint32_t set)
{
	return e->sets[set].count;
}

uint32_t as_expr_set_list(const struct as_expr *e, uint32_t set, uint32_t *inputs, uint32_t max)
{
	const struct expr_set *s = &e->sets[set];
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n; i++)
		for (uint64_t w = s->words[i]; w && n < max; w &= w - 1)
			inputs[n++] = i * 64 + (uint32_t)__builtin_ctzll(w);
	return n;
}

uint32_t as_expr_support(const struct as_expr *e, uint32_t node)
{
	return e->meta[node].support;
}

uint32_t as_expr_inputs(const struct as_expr *e)
{
	return (uint32_t)e->n_offs;
}

uint64_t as_expr_input_off(const struct as_expr *e, uint32_t input)
{
	return e->offs[input];
}

static uint32_t set_of_input(struct as_expr *e, uint64_t off)
{
	uint32_t n = (uint32_t)e->n_offs / 64 + 1, set;
	uint64_t *words = as_xcalloc(n, sizeof(*words));

	words[n - 1] = UINT64_C(1) << e->n_offs % 64;
	set = add_set(e, words, n);
	free(words);
	AS_ARRAY_ROOM(e->offs, e->n_offs, e->cap_offs);
	e->offs[e->n_offs] = off;
	as_table_add(&e->by_off, off, e->n_offs++);
	return set;
}

uint32_t as_expr_input_of(const struct as_expr *e, uint64_t off)
{
	size_t i = as_table_get(&e->by_off, off);

	return i == AS_TABLE_NONE ? UINT32_MAX : (uint32_t)i;
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

struct asked_node {
	const struct as_expr *e;
	const struct as_expr_node *node;
};

static bool is_node(const void *ctx, size_t i)
{
	const struct asked_node *a = ctx;
	const struct as_expr_node *x = &a->e->nodes[i], *y = a->node;

	return x->op == y->op && x->width == y->width && x->imm == y->imm &&
	       x->arg[0] == y->arg[0] && x->arg[1] == y->arg[1] && x->arg[2] == y->arg[2];
}

/* Numbers differ from graph to graph, digests do not. */
static struct as_digest digest_of(const struct as_expr *e, const struct as_expr_node *node)
{
	struct {
		uint64_t head;
		as_u128 imm;
		struct as_digest arg[3];
	} text;

	memset(&text, 0, sizeof(text));
	text.head = (uint64_t)node->op << 8 | node->width;
	text.imm = node->imm;
	for (unsigned i = 0; i < ops[node->op].args; i++)
		text.arg[i] = e->meta[node->arg[i]].digest;
	if (node->op == AS_EXPR_TABLE) {
		text.imm = 0;
		text.arg[1] = e->tables[(size_t)node->imm].digest;
	}
	return as_hash(&text, sizeof(text));
}

uint32_t as_expr_intern(struct as_expr *e, const struct as_expr_node *node)
{
	struct { /* without holes */
		as_u128 imm;
		uint32_t words[4];
	} key = { node->imm,
		  { (uint32_t)node->op << 8 | node->width, node->arg[0], node->arg[1],
		    node->arg[2] } };
	uint64_t hash = as_hash64(&key, sizeof(key));
	struct asked_node asked = { e, node };
	size_t found = as_table_find(&e->equal, hash, is_node, &asked);
	struct expr_meta meta = { 0 };

	if (found != AS_TABLE_NONE)
		return (uint32_t)found;
	if (e->n > AS_EXPR_NODES_MAX)
		return 0;
	if (node->op == AS_EXPR_INPUT)
		meta.support = set_of_input(e, (uint64_t)node->imm);
	for (unsigned i = 0; i < ops[node->op].args; i++)
		meta.support = as_expr_set_union(e, meta.support, e->meta[node->arg[i]].support);
	meta.digest = digest_of(e, node);
	AS_ARRAY_ROOM(e->nodes, e->n, e->cap);
	AS_ARRAY_ROOM(e->meta, e->n, e->cap_meta);
	e->nodes[e->n] = *node;
	e->meta[e->n] = meta;
	as_table_add(&e->equal, hash, e->n);
	return (uint32_t)e->n++;
}

/* Whether a node makes sense. */
static bool is_sound(const struct as_expr *e, const struct as_expr_node *x)
{
	unsigned n, w0, w1;

	if (x->op >= AS_EXPR_OPS || !x->width || x->width > AS_EXPR_WIDTH_MAX)
		return false;
	n = ops[x->op].args;
	for (unsigned i = 0; i < n; i++)
		if (!x->arg[i] || x->arg[i] >= e->n)
			return false;
	w0 = n > 0 ? e->nodes[x->arg[0]].width : 0;
	w1 = n > 1 ? e->nodes[x->arg[1]].width : 0;
	if (ops[x->op].width == 'A' && (w0 != x->width || (n > 1 && w1 != w0)))
		return false;
	if (ops[x->op].width == 'B' && (x->width != 1 || w0 != w1))
		return false;
	switch (x->op) {
	case AS_EXPR_INPUT:
		return x->width == 8 && x->imm <= UINT64_MAX;
	case AS_EXPR_CONST:
		return !(x->imm & ~as_expr_mask(x->width));
	case AS_EXPR_SHL:
	case AS_EXPR_LSHR:
	case AS_EXPR_ASHR:
		return w0 == x->width;
	case AS_EXPR_CONCAT:
		return w0 + w1 == x->width;
	case AS_EXPR_EXTRACT:
		return x->imm < 128 && (unsigned)x->imm + x->width <= w0;
	case AS_EXPR_ZEXT:
	case AS_EXPR_SEXT:
		return w0 <= x->width;
	case AS_EXPR_ITE:
		return w0 == 1 && w1 == x->width && e->nodes[x->arg[2]].width == x->width;
	case AS_EXPR_TABLE:
		return x->imm < e->n_tables && !(x->width % 8);
	default:
		return true;
	}
}

uint32_t as_expr_make(struct as_expr *e, const struct as_expr_node *node)
{
	struct as_expr_node x = *node;

	if (!is_sound(e, &x))
		return 0;
	for (unsigned i = ops[x.op].args; i < 3; i++)
		x.arg[i] = 0;
	if (x.op != AS_EXPR_INPUT && x.op != AS_EXPR_CONST && x.op != AS_EXPR_EXTRACT &&
	    x.op != AS_EXPR_TABLE)
		x.imm = 0;
	return as_expr_simplify(e, &x);
}

uint32_t as_expr_input(struct as_expr *e, uint64_t off)
{
	return as_expr_make(e,
			    &(struct as_expr_node){ .op = AS_EXPR_INPUT, .width = 8, .imm = off });
}

uint32_t as_expr_const(struct as_expr *e, unsigned width, as_u128 value)
{
	return as_expr_make(e, &(struct as_expr_node){ .op = AS_EXPR_CONST,
						       .width = (uint8_t)width,
						       .imm = value & as_expr_mask(width) });
}

uint32_t as_expr_op2(struct as_expr *e, enum as_expr_op op, uint32_t a, uint32_t b)
{
	unsigned width = ops[op].width == 'B' ? 1 : e->nodes[a].width;

	if (op == AS_EXPR_CONCAT)
		width += e->nodes[b].width;
	return as_expr_make(e, &(struct as_expr_node){ .op = (uint8_t)op,
						       .width = (uint8_t)width,
						       .arg = { a, b } });
}

uint32_t as_expr_op1(struct as_expr *e, enum as_expr_op op, unsigned width, uint32_t a,
		     unsigned lowest)
{
	return as_expr_make(e, &(struct as_expr_node){ .op = (uint8_t)op,
						       .width = (uint8_t)width,
						       .arg = { a },
						       .imm = lowest });
}
