/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * expr: what a checker computed from bytes of its disk: expressions over bit vectors of 1 to 128
 * bits, as a graph. A node is known by its number; its arguments have lower numbers. Equal nodes
 * are one node, and simple ones are simplified when they are made, so that the same computation
 * gives the same node, whatever instructions did it.
 */
#ifndef AS_SYM_EXPR_H
#define AS_SYM_EXPR_H

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef unsigned __int128 as_u128;

enum as_expr_op {
#define OP(id, name, args, width) AS_EXPR_##id,
#include "sym/expr_op.def"
#undef OP
	AS_EXPR_OPS
};

#define AS_EXPR_WIDTH_MAX 128u
#define AS_EXPR_NODES_MAX (1u << 24)
#define AS_EXPR_TABLE_BYTES_MAX 65536u

struct as_expr_node {
	uint8_t op, width; /* width in bits */
	uint32_t arg[3];
	as_u128 imm;
};

struct as_expr; /* a graph */

struct as_expr *as_expr_new(void);
void as_expr_free(struct as_expr *expr); /* takes NULL */

const char *as_expr_op_name(enum as_expr_op op);
unsigned as_expr_op_args(enum as_expr_op op);

/* Numbers begin with 1; 0 is no node. */
uint32_t as_expr_n(const struct as_expr *expr); /* the highest number */
const struct as_expr_node *as_expr_at(const struct as_expr *expr, uint32_t node);

/* Adds a table of bytes, and returns its number. Bytes after its end are 0. */
uint32_t as_expr_add_table(struct as_expr *expr, const void *data, uint32_t bytes);
as_u128 as_expr_table_at(const struct as_expr *expr, uint32_t table, as_u128 off, unsigned width);
uint32_t as_expr_table_bytes(const struct as_expr *expr, uint32_t table);

/*
 * Makes a node or finds an equal one. 0: such a node makes no sense: a wrong width, an argument
 * that is not there, a table that is not there, more nodes than AS_EXPR_NODES_MAX.
 */
uint32_t as_expr_make(struct as_expr *expr, const struct as_expr_node *node);
/* Short forms of the same. */
uint32_t as_expr_input(struct as_expr *expr, uint64_t off);
uint32_t as_expr_const(struct as_expr *expr, unsigned width, as_u128 value);
uint32_t as_expr_op2(struct as_expr *expr, enum as_expr_op op, uint32_t a, uint32_t b);
uint32_t as_expr_op1(struct as_expr *expr, enum as_expr_op op, unsigned width, uint32_t a,
		     unsigned lowest);

static inline bool as_expr_is_const(const struct as_expr *expr, uint32_t node)
{
	return as_expr_at(expr, node)->op == AS_EXPR_CONST;
}

static inline as_u128 as_expr_mask(unsigned width)
{
	return width >= 128 ? ~(as_u128)0 : ((as_u128)1 << width) - 1;
}

/* One operation on numbers. The widths of the arguments are those of `args`. */
as_u128 as_expr_compute(const struct as_expr *expr, const struct as_expr_node *node,
			const as_u128 value[3]);

/* The same for equal expressions of any graph. */
struct as_digest as_expr_digest(const struct as_expr *expr, uint32_t node);

/* ---- Which bytes ----------------------------------------------------------------------------- */

/* Inputs are also numbered from 0 on, in the order in which they were made. */
uint32_t as_expr_inputs(const struct as_expr *expr);
uint64_t as_expr_input_off(const struct as_expr *expr, uint32_t input);
/* The number of the input at an offset; UINT32_MAX: there is none. */
uint32_t as_expr_input_of(const struct as_expr *expr, uint64_t off);

/* Which inputs a node depends on: a set, known by its number. 0 is the empty one. */
uint32_t as_expr_support(const struct as_expr *expr, uint32_t node);
bool as_expr_set_has(const struct as_expr *expr, uint32_t set, uint32_t input);
bool as_expr_sets_meet(const struct as_expr *expr, uint32_t a, uint32_t b);
uint32_t as_expr_set_union(struct as_expr *expr, uint32_t a, uint32_t b);
uint32_t as_expr_set_n(const struct as_expr *expr, uint32_t set);
/* The inputs in it, at most max. */
uint32_t as_expr_set_list(const struct as_expr *expr, uint32_t set, uint32_t *inputs, uint32_t max);

/* ---- Values ---------------------------------------------------------------------------------- */

/* The nodes that some roots need, in an order in which they can be computed. */
struct as_expr_slice {
	uint32_t *nodes;
	size_t n;
};

void as_expr_slice(const struct as_expr *expr, const uint32_t *roots, size_t n,
		   struct as_expr_slice *out);
void as_expr_slice_free(struct as_expr_slice *slice);

/* Computes a slice. `bytes` has a value for each input, `values` room for each node. */
void as_expr_eval_slice(const struct as_expr *expr, const struct as_expr_slice *slice,
			const unsigned char *bytes, as_u128 *values);
/* Computes all nodes. */
void as_expr_eval(const struct as_expr *expr, const unsigned char *bytes, as_u128 *values);

#endif
