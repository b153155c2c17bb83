/* SPDX-License-Identifier: GPL-2.0-or-later */
/* solve_priv: what solve*.c share. */
#ifndef AS_SYM_SOLVE_PRIV_H
#define AS_SYM_SOLVE_PRIV_H

#include "sym/solve.h"

/* A question without what does not matter: the target is the last of the terms. */
struct solve_slice {
	struct as_expr *expr;
	uint32_t *terms; /* each once */
	size_t n;
	struct as_expr_slice nodes; /* of all terms */
	uint32_t *inputs; /* that the terms depend on */
	uint32_t n_inputs;
	const unsigned char *hint; /* of all inputs of the graph */
	as_u128 *values; /* room for each node; of the hint at first */
	uint64_t site;
	/* After Z3 said that there is no answer: the terms that suffice for that. NULL: all. */
	uint32_t *core;
	size_t n_core;
};

/* Whether all terms are 1 for these bytes. */
bool as_slice_holds(struct solve_slice *slice, const unsigned char *bytes);

/* Backwards from the target. True: `bytes` are an answer. */
bool as_solve_quick(struct solve_slice *slice, unsigned char *bytes);
/* All values of one or two bytes. AS_SOLVED_LATE: there are more bytes, or it takes too long. */
enum as_solved as_solve_tries(struct solve_slice *slice, unsigned char *bytes);
/* By bounds (solve_boxes.c). AS_SOLVED_LATE: that takes too long. */
enum as_solved as_solve_boxes(struct solve_slice *slice, unsigned char *bytes);
/* One byte after the other, all others as they are. */
bool as_solve_one_byte(struct solve_slice *slice, unsigned char *bytes);

/* The least and the greatest value of a node, without sign. */
struct solve_bound {
	as_u128 lo, hi;
};

/* From those of its arguments; `all` has those of each node. */
struct solve_bound as_bounds_of(const struct as_expr *expr, const struct as_expr_node *node,
				const struct solve_bound *all);
/* Cuts those of the arguments off, if the node is between `to`. False: nothing is left. */
bool as_bounds_narrow(const struct as_expr *expr, const struct as_expr_node *node,
		      struct solve_bound to, struct solve_bound *all, bool *changed);
/* Whether the product of any two values is at most `mask`. */
bool as_bounds_product(struct solve_bound a, struct solve_bound b, as_u128 mask);
/* In the order of numbers with a sign: the sign is turned around. */
struct solve_bound as_bounds_signed(struct solve_bound a, unsigned width);

/* Which inputs of a slice keep their values: fixed[k] is about slice->inputs[k]. */
void as_solve_concretize(const struct solve_slice *slice, enum as_concretize how, bool *fixed);

/* Answers to earlier questions. */
struct solve_cache;
struct solve_cache *as_solve_cache_new(void);
void as_solve_cache_free(struct solve_cache *cache);
/* AS_SOLVED_LATE: nothing is known. */
enum as_solved as_solve_cache_find(struct solve_cache *cache, struct solve_slice *slice,
				   unsigned char *bytes);
void as_solve_cache_add(struct solve_cache *cache, const struct solve_slice *slice,
			enum as_solved solved, const unsigned char *bytes);

/* The process of Z3. */
struct solve_peer;
/* Fresh: each question is asked on its own. */
struct solve_peer *as_solve_peer_new(uint64_t memory_bytes, bool fresh);
void as_solve_peer_free(struct solve_peer *peer);
/* `fixed` may be NULL. AS_SOLVED_LATE also if the process died. */
enum as_solved as_solve_peer_ask(struct solve_peer *peer, struct solve_slice *slice,
				 const bool *fixed, unsigned deadline_ms, unsigned char *bytes);
int as_solve_peer_pid(const struct solve_peer *peer);
uint64_t as_solve_peer_deaths(const struct solve_peer *peer);
uint64_t as_solve_peer_used_us(const struct solve_peer *peer); /* of processor time, in all */

/* What a question is to the process of Z3: this; nodes that it does not have yet, which have the
 * next numbers, from 1 on; the tables of those; the numbers of inputs; the numbers of terms. */
struct solve_wire {
	uint32_t nodes, tables, inputs, terms;
	uint32_t flags;
};

#define SOLVE_WIRE_RESET 1u /* it forgets all nodes and tables first */
#define SOLVE_WIRE_FRESH 2u /* nothing that it learnt from other questions is used */

/* An input of a question. */
struct solve_wire_input {
	uint32_t node;
	uint32_t fixed; /* 256 plus its value; 0: it has any */
};

struct solve_reply {
	uint32_t solved; /* enum as_solved */
	uint32_t bytes; /* that follow: one for each input */
	uint32_t core; /* places in the list of terms that follow then; 0: all matter */
};

#define SOLVE_WIRE_NODES_MAX (1u << 20)

/* solve_z3.c; without Z3 they are not there, and nobody calls them. */
AS_MUST_CHECK int as_z3_load(struct as_err *err);
/* Answers questions from a socket until it is closed. */
_Noreturn void as_z3_serve(int fd);

#endif
