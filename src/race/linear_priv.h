/* SPDX-License-Identifier: GPL-2.0-or-later */
/* linear_priv: what the search and the steps of a call share. Only race/linear*.c include it. */
#ifndef AS_RACE_LINEAR_PRIV_H
#define AS_RACE_LINEAR_PRIV_H

#include "base/arena.h"
#include "base/digests.h"
#include "race/linear.h"

/* How much less strictly a call is judged because of what other threads did meanwhile. */
enum {
	LINEAR_APART = 1, /* it may be taken apart */
	LINEAR_DATA = 2, /* sizes and bytes changed meanwhile */
	LINEAR_NAMES = 4, /* names changed meanwhile */
};

/* How far a thread has come, in one state. */
struct as_linear_party {
	uint32_t next; /* the next one of its calls */
	uint8_t stage, links,
		seen; /* the next step of that call, if it is taken apart; 0: not begun */
	const char *rest[2]; /* what is left of each of its paths */
};

struct as_linear_node {
	struct as_model *m;
	uint32_t done; /* calls that are done */
	struct as_linear_party party[];
};

struct as_linear_search {
	const struct as_linear *how;
	struct as_linear_result *result;
	uint32_t n_threads;
	size_t *of[AS_LINEAR_THREADS_MAX]; /* numbers of a thread's calls, in order */
	uint32_t n_of[AS_LINEAR_THREADS_MAX];
	uint8_t *leeway; /* of each call */
	bool apart; /* calls are taken apart now */
	struct as_arena texts; /* paths that symbolic links lead to */
	struct as_digests visited;
	uint64_t max_states;
	bool gave_up, reached; /* all calls were explained, but the tree at the end is wrong */
	size_t *order; /* the calls up to the state we are in */
	struct as_linear_node *best; /* the state with the most calls done; NULL: none yet */
	struct as_verdict verdict;
	struct as_buf text[2];
};

static inline const struct as_linear_call *
linear_next(const struct as_linear_search *x, const struct as_linear_node *n, uint32_t thread)
{
	return &x->how->calls[x->of[thread][n->party[thread].next]];
}

/* linear_call.c */
void as_linear_mark(struct as_linear_search *x);
/* Does the next call of the thread or, if calls are taken apart, its next step. False: it cannot
 * come next. */
bool as_linear_step(struct as_linear_search *x, struct as_linear_node *n, uint32_t thread,
		    bool apart);

#endif
