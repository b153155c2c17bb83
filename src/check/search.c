/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search: see search.h. */
#include "check/search.h"

#include "base/hash.h"

#include <string.h>

static uint32_t first_found(const struct as_search_of *of)
{
	return UINT32_MAX - of->id;
}

/* One process finds states in the order of their depths. Of several, one may find deep states while
 * another has not yet found all that are less deep; those come first all the same. */
static uint64_t rank_bfs(const struct as_search_of *of)
{
	return (uint64_t)(UINT16_MAX - of->depth) << 32 | first_found(of);
}

static uint64_t rank_dfs(const struct as_search_of *of)
{
	return of->id;
}

static uint64_t rank_random(const struct as_search_of *of)
{
	return as_mix64(of->seed + of->id);
}

static uint64_t rank_recovery(const struct as_search_of *of)
{
	uint64_t work = of->recovery < UINT32_MAX ? of->recovery : UINT32_MAX;

	return work << 32 | first_found(of);
}

static uint64_t rank_novelty(const struct as_search_of *of)
{
	return (uint64_t)of->novelty << 32 | first_found(of);
}

static const struct {
	const char *name;
	uint64_t (*rank)(const struct as_search_of *of);
} rows[AS_SEARCHES] = {
#define SEARCH(name) { #name, rank_##name },
#include "check/search.def"
#undef SEARCH
};

const char *as_search_name(enum as_search search)
{
	return rows[search].name;
}

int as_search_parse(const char *name, enum as_search *search, struct as_err *err)
{
	for (unsigned i = 0; i < AS_SEARCHES; i++)
		if (!strcmp(rows[i].name, name)) {
			*search = (enum as_search)i;
			return 0;
		}
	return as_fail(err, AS_EUSE, "%s: there is no such search", name);
}

uint64_t as_search_rank(enum as_search search, const struct as_search_of *of)
{
	return rows[search].rank(of);
}

#define NEW_WORTH (1u << 20)
#define HALVES 20u
#define PLACES_MAX 1024u /* those of one state that count */
#define PART_MAX ((uint64_t)1 << 30) /* what the answers before it are worth at most */

uint32_t as_novelty_add(struct as_novelty *novelty, const uint64_t *feature, unsigned n)
{
	uint32_t worth = 0;

	for (unsigned i = 0; i < n; i++) {
		uint32_t at = (uint32_t)as_mix64(feature[i] + i) % AS_NOVELTY_COUNTERS;
		uint32_t seen = __atomic_fetch_add(&novelty->seen[at], 1, __ATOMIC_RELAXED);

		worth += seen < HALVES ? NEW_WORTH >> seen : 0;
	}
	return worth;
}

/* One place is worth as much as a feature that nobody has seen. */
uint32_t as_novelty_of(struct as_novelty *novelty, const struct as_novel *novel)
{
	uint64_t worth = as_novelty_add(novelty, novel->feature, AS_NOVEL_FEATURES);

	worth += novel->answers < PART_MAX ? novel->answers : PART_MAX;
	worth += (novel->places < PLACES_MAX ? novel->places : PLACES_MAX) * NEW_WORTH;
	return worth < UINT32_MAX ? (uint32_t)worth : UINT32_MAX;
}
