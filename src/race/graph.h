/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * graph: all orders of calls that explain what they answered up to a moment (linear.h looks for one
 * order of all of them). Calls that had not begun at the moment are not in it. A call that had not
 * ended then may be in an order or not: nobody knows how far it had come.
 */
#ifndef AS_RACE_GRAPH_H
#define AS_RACE_GRAPH_H

#include "race/linear.h"

#define AS_GRAPH_STATES_MAX 20000u

/* The states of all orders. A state that several orders come to is there once. */
struct as_graph;

/* how->calls are those that had begun; how->ends is not asked. NULL: there are more than max
 * states, or bytes may be a mixture that no order explains (*too_many in both cases); or no order
 * explains the answers. */
struct as_graph *as_graph_new(const struct as_linear *how, uint64_t moment, size_t max,
			      bool *too_many);
void as_graph_free(struct as_graph *graph); /* takes NULL */

size_t as_graph_len(const struct as_graph *graph); /* states; the first is state 0 */
const struct as_model *as_graph_state(const struct as_graph *graph, size_t i);
/* Whether every call that had ended can be explained from here on. */
bool as_graph_is_live(const struct as_graph *graph, size_t i);

/* One step of an order: a call, or a part of it. */
struct as_graph_step {
	size_t call;
	const struct as_model *after;
	bool ends; /* the call is done */
};

enum as_graph_end {
	AS_GRAPH_FOUND, /* visit() has said so */
	AS_GRAPH_ALL, /* all orders were visited */
	AS_GRAPH_TOO_MANY, /* max of them were */
};

#define AS_GRAPH_ANY SIZE_MAX

/* Visits the orders that go through a state (AS_GRAPH_ANY: all orders), until visit() is true. The
 * order in which the calls ended comes first. */
enum as_graph_end
as_graph_orders(const struct as_graph *graph, size_t through, uint64_t max,
		bool (*visit)(void *ctx, const struct as_graph_step *steps, size_t n), void *ctx);

#endif
