/* SPDX-License-Identifier: GPL-2.0-or-later */
/* counts_priv: struct as_counts, for counts.c, cov_file.c, feedback.c and space.c. */
#ifndef AS_COVER_COUNTS_PRIV_H
#define AS_COVER_COUNTS_PRIV_H

#include "cover/combo.h"
#include "cover/counts.h"

#define AS_COV_UNKNOWN_CALLS 256

struct as_counts {
	const struct as_spec *spec;
	uint64_t *parts; /* spec->n_parts */
	struct as_combos *bits; /* spec->n_bits */
	uint64_t *bits_unseen; /* spec->n_bits: calls whose flags the trace does not show */
	uint64_t *variants; /* spec->n_calls */
	uint64_t notes[AS_NOTES];
	char *examples[AS_COV_EXAMPLES];
	struct {
		char *name;
		uint64_t count;
	} unknown[AS_COV_UNKNOWN_CALLS];
	unsigned n_unknown;
	unsigned short unknown_at[1024]; /* by hash of the name: where it was found last, + 1 */
	char *partial;
	char *source, *under;
};

static inline void as_counting_add(uint64_t *count, uint64_t n)
{
	if (__builtin_add_overflow(*count, n, count))
		*count = UINT64_MAX;
}

/* n calls of a name that is in no table. */
void as_counting_unknown(struct as_counts *counts, const char *name, size_t len, uint64_t n);

#endif
