/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search: in which order the states that were found are expanded (FiSC section 5.1). */
#ifndef AS_CHECK_SEARCH_H
#define AS_CHECK_SEARCH_H

#include "base/err.h"

#include <stdint.h>

enum as_search {
#define SEARCH(name) AS_SEARCH_##name,
#include "check/search.def"
#undef SEARCH
	AS_SEARCHES
};

const char *as_search_name(enum as_search search);
AS_MUST_CHECK int as_search_parse(const char *name, enum as_search *search, struct as_err *err);

/* What is known of a state when it is found. */
struct as_search_of {
	uint32_t id;
	uint16_t depth;
	uint64_t seed;
	uint64_t recovery; /* sectors that recovery of crash states before it has written */
	uint32_t novelty; /* as_novelty_of() */
};

/* The state with the largest rank comes first. */
uint64_t as_search_rank(enum as_search search, const struct as_search_of *of);

/* How often each feature was seen; in memory that all workers share. Features that share a counter
 * look more common than they are. */
#define AS_NOVELTY_COUNTERS 65536u
struct as_novelty {
	uint32_t seen[AS_NOVELTY_COUNTERS];
};
/* Counts the features, and says how new they were: each is worth half as much every time. */
uint32_t as_novelty_add(struct as_novelty *novelty, const uint64_t *feature, unsigned n);

/* What may be new about a state (novel.c). */
#define AS_NOVEL_FEATURES 3u
struct as_novel {
	uint64_t feature[AS_NOVEL_FEATURES];
	uint64_t answers; /* how new those of the state before it were */
	uint64_t places; /* of the kernel's code that nothing had reached before */
};
/* Counts its features, and says how new it is. */
uint32_t as_novelty_of(struct as_novelty *novelty, const struct as_novel *novel);

#endif
