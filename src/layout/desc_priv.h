/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * desc_priv: descriptions of on-disk structures (layouts/NAME.layout), parsed. docs/LAYOUT.md is
 * the manual of the format. Only the room layout and the fuzz entry include it.
 */
#ifndef AS_LAYOUT_DESC_PRIV_H
#define AS_LAYOUT_DESC_PRIV_H

#include "base/arena.h"
#include "layout/field.h"

#define DESC_NONE (-1)
#define DESC_FIELD_BYTES_MAX (1u << 20)
#define DESC_TIMES_MAX 65536u

/* An expression is a node of a table; its operands are nodes before it. */
enum as_desc_op { DESC_NUMBER, DESC_FIELD, DESC_VAR, DESC_NOT, DESC_BINARY };

struct as_desc_node {
	enum as_desc_op op;
	uint8_t binary; /* row of the table of operators */
	int left, right;
	uint64_t number; /* DESC_NUMBER; DESC_FIELD: number of the field; DESC_VAR: of it */
};

struct as_desc_field {
	const char *name, *role, *points;
	enum as_field_kind kind;
	uint32_t line, col;
	int off; /* DESC_NONE: after the field before it */
	int bytes, times, cond; /* times, cond: DESC_NONE if there is none */
	uint32_t step; /* of times, 0: bytes */
	uint8_t shift, bits;
	bool big_endian;
	int is; /* without this value, the instance is not there; DESC_NONE: with any */
	/* Of a checksum: which (as_seal_named()), of what; DESC_NONE: it is not computed */
	int sum, from, len;
	uint32_t init, final;
};

/* A structure holds others, one right after the other. */
struct as_desc_hold {
	const char *name; /* of the structure that is held */
	uint32_t line, col;
	int off, times, cond; /* cond: DESC_NONE if there is none */
};

struct as_desc_struct {
	const char *name, *words;
	uint32_t line, col;
	int size; /* expression; DESC_NONE: as long as the walker says */
	int at, times; /* where it is, if no walker finds it; DESC_NONE: a walker does */
	int step; /* of times */
	int align; /* of what comes after it in one that holds both; DESC_NONE: 1 */
	size_t first, n; /* fields */
	size_t first_hold, n_holds;
};

struct as_desc_magic {
	uint64_t off, value;
	uint32_t bytes;
	bool big_endian;
};

struct as_walker; /* walk_priv.h */

struct as_desc {
	struct as_arena arena;
	const char *path; /* for messages */
	const char *name; /* of the layout */
	const struct as_walker *walker; /* NULL: all structures say where they are */
	const char **types;
	size_t n_types, cap_types;
	struct as_desc_magic *magics;
	size_t n_magics, cap_magics;
	struct as_desc_magic journal; /* what its blocks begin with; bytes == 0: not described */
	struct as_desc_node *nodes;
	size_t n_nodes, cap_nodes;
	struct as_desc_struct *structs;
	size_t n_structs, cap_structs;
	struct as_desc_field *fields;
	size_t n_fields, cap_fields;
	struct as_desc_hold *holds;
	size_t n_holds, cap_holds;
};

/* `path` is for messages, which begin with path:line:column. */
AS_MUST_CHECK int as_desc_parse(const char *path, const char *text, size_t len,
				struct as_desc **out, struct as_err *err);
void as_desc_free(struct as_desc *desc); /* takes NULL */

/* Description number i of those that the program contains; NULL after the last. It is parsed once
 * and kept. An error in it is a bug of ours, which is asserted. */
const struct as_desc *as_desc_at(size_t i);
/* The one that serves the type; NULL: none. */
const struct as_desc *as_desc_for(const char *type);

/* ---- desc_check.c, for the parser ---- */

/* What can be told without a disk: where a field begins and ends. */
struct as_desc_span {
	bool known;
	uint64_t off, end;
};

struct as_desc_span as_desc_span(const struct as_desc *desc, const struct as_desc_field *field);
/* Whether a new field of the last structure makes sense. NULL: it does. With *other, it is that
 * field which it overlaps. */
const char *as_desc_check_field(const struct as_desc *desc, const struct as_desc_field *field,
				const struct as_desc_field **other);
/* Whether each structure can be found. NULL: it can; else what is wrong at *line, *col. */
const char *as_desc_check_whole(const struct as_desc *desc, uint32_t *line, uint32_t *col);

/* ---- An expression, from *text on ---- */

struct as_desc_scope {
	struct as_desc *desc;
	size_t first_field; /* of the structure that is being read: names may be its fields */
	bool has_fields;
};

/* Reads one expression and advances *text. NULL: it is right; else what is wrong at *text. */
const char *as_desc_expr(const struct as_desc_scope *scope, const char **text, const char *end,
			 int *node);
/* A number without names in it. */
bool as_desc_is_constant(const struct as_desc *desc, int node);

bool as_desc_names_fields(const struct as_desc *desc, int node);

typedef uint64_t (*as_desc_field_fn)(const void *ctx, size_t field);
/* Overflow wraps; a division by 0 gives 0. */
uint64_t as_desc_eval(const struct as_desc *desc, int node, const uint64_t *vars,
		      as_desc_field_fn field, const void *ctx);

#endif
