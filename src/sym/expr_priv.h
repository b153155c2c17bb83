/* SPDX-License-Identifier: GPL-2.0-or-later */
/* expr_priv: what expr*.c share. */
#ifndef AS_SYM_EXPR_PRIV_H
#define AS_SYM_EXPR_PRIV_H

#include "base/table.h"
#include "sym/expr.h"

#define EXPR_DEPTH_MAX 64u /* from there on, nodes stay as they are */

struct expr_meta {
	struct as_digest digest;
	uint32_t support;
};

struct expr_table {
	unsigned char *data;
	uint32_t bytes;
	struct as_digest digest;
};

struct expr_set {
	uint64_t *words; /* the last one is not 0 */
	uint32_t n, count;
};

struct as_expr {
	struct as_expr_node *nodes;
	struct expr_meta *meta;
	size_t n, cap, cap_meta;
	struct as_table equal; /* nodes by what they are */
	struct expr_table *tables;
	size_t n_tables, cap_tables;
	struct expr_set *sets;
	size_t n_sets, cap_sets;
	struct as_table same_set, unions;
	uint32_t *union_of;
	size_t n_unions, cap_unions;
	uint64_t *offs; /* of inputs */
	size_t n_offs, cap_offs;
	struct as_table by_off;
	unsigned depth; /* of simplification: rules lead to rules */
};

/* The node itself, or an equal one. */
uint32_t as_expr_intern(struct as_expr *expr, const struct as_expr_node *node);
/* A sound node in its simplest form. */
uint32_t as_expr_simplify(struct as_expr *expr, const struct as_expr_node *node);

/* expr_divide.c */
bool as_expr_is_positive(const struct as_expr *expr, uint32_t node); /* true: always */
/* 0: there is no simpler form. */
uint32_t as_expr_simple_sum(struct as_expr *expr, const struct as_expr_node *sum);
uint32_t as_expr_simple_magic(struct as_expr *expr, const struct as_expr_node *extract);
uint32_t as_expr_simple_fits(struct as_expr *expr, const struct as_expr_node *cut, unsigned width);
uint32_t as_expr_simple_divide(struct as_expr *expr, const struct as_expr_node *quotient);
uint32_t as_expr_simple_bounds(struct as_expr *expr, const struct as_expr_node *compare);

#endif
