/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * match: see match.h.
 *
 * Method. First, each left vertex gets a right one, by augmenting paths (Kuhn). Then each right
 * vertex that has to be taken and is free looks for a path of edges, outside and inside of the
 * matching by turns, to a right vertex that may stay free. Along the path, each left vertex changes
 * to the right vertex before it. Mendelsohn and Dulmage's theorem says that this finds a matching
 * if there is one: some matching covers all left vertices, and some other covers all right ones
 * that have to be taken, exactly if one matching covers both.
 *
 * Invariants
 *   1. A left vertex that has a right one always has one from then on.
 *   2. A right vertex that has to be taken and is taken always is from then on.
 */
#include "legal/match.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

struct state {
	struct as_match *m;
	uint32_t *left_of; /* by right vertex */
	bool *seen; /* by right vertex, in this search */
};

static void pair(struct state *s, uint32_t left, uint32_t right)
{
	s->m->right_of[left] = right;
	s->left_of[right] = left;
}

/* Finds a right vertex for a left one; others may change theirs. */
static bool augment(struct state *s, uint32_t left)
{
	for (uint32_t e = s->m->first[left]; e < s->m->first[left + 1]; e++) {
		uint32_t right = s->m->edge[e];

		if (s->seen[right])
			continue;
		s->seen[right] = true;
		if (s->left_of[right] == AS_MATCH_NONE || augment(s, s->left_of[right])) {
			pair(s, left, right);
			return true;
		}
	}
	return false;
}

static bool has_edge(const struct as_match *m, uint32_t left, uint32_t right)
{
	for (uint32_t e = m->first[left]; e < m->first[left + 1]; e++)
		if (m->edge[e] == right)
			return true;
	return false;
}

/* Finds a left vertex that takes this right one and leaves its own. */
static bool claim(struct state *s, uint32_t right)
{
	s->seen[right] = true;
	for (uint32_t left = 0; left < s->m->n_left; left++) {
		uint32_t was = s->m->right_of[left];

		if (s->seen[was] || !has_edge(s->m, left, right))
			continue;
		if (!s->m->must[was]) {
			s->left_of[was] = AS_MATCH_NONE;
			pair(s, left, right);
			return true;
		}
		if (claim(s, was)) {
			pair(s, left, right);
			return true;
		}
	}
	return false;
}

static bool find(struct state *s)
{
	struct as_match *m = s->m;

	for (uint32_t left = 0; left < m->n_left; left++) {
		memset(s->seen, 0, m->n_right * sizeof(*s->seen));
		if (!augment(s, left)) {
			m->no_left = left;
			return false;
		}
	}
	for (uint32_t right = 0; right < m->n_right; right++) {
		if (!m->must[right] || s->left_of[right] != AS_MATCH_NONE)
			continue;
		memset(s->seen, 0, m->n_right * sizeof(*s->seen));
		if (!claim(s, right)) {
			m->no_right = right;
			return false;
		}
	}
	return true;
}

bool as_match_find(struct as_match *m)
{
	struct state s = { .m = m };
	bool found;

	m->no_left = m->no_right = AS_MATCH_NONE;
	s.left_of = as_xmalloc((m->n_right + 1) * sizeof(*s.left_of));
	s.seen = as_xcalloc(m->n_right + 1, sizeof(*s.seen));
	for (uint32_t i = 0; i < m->n_right; i++)
		s.left_of[i] = AS_MATCH_NONE;
	for (uint32_t i = 0; i < m->n_left; i++)
		m->right_of[i] = AS_MATCH_NONE;
	found = find(&s);
	free(s.left_of);
	free(s.seen);
	return found;
}
