/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * match: a matching in a bipartite graph. Each left vertex gets a right one of its own, and so that
 * certain right vertices are taken.
 */
#ifndef AS_LEGAL_MATCH_H
#define AS_LEGAL_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#define AS_MATCH_NONE UINT32_MAX

struct as_match {
	uint32_t n_left, n_right;
	/* Left vertex i can have the right vertices edge[first[i]] .. edge[first[i + 1] - 1]. Of
	 * several, an earlier one is preferred. */
	const uint32_t *first, *edge;
	const bool *must; /* by right vertex: it has to be taken */
	/* After a failure: the left vertex for which there is none, or the right vertex that
	 * nobody can take; the other one is AS_MATCH_NONE. */
	uint32_t no_left, no_right;
	uint32_t *right_of; /* by left vertex, the caller's; the answer */
};

/* False: there is none. The same graph gives the same answer. */
bool as_match_find(struct as_match *match);

#endif
