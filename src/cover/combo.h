/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * combo: how often each combination of flags came: a table from the value (bits that no word has
 * are one bit, AS_COMBO_UNKNOWN) to the count. All that is asked of flags (each, how many at
 * once, t at once) follows from it.
 *
 * Values are kept in their plain form (as_combo_plain): two values with the same words have the
 * same plain form. So counted values, values from a file and computed values are equal. Where a
 * word stands for no bits (O_RDONLY), its field may have a value that no word has (access mode 3);
 * the plain form keeps that, so that it is not taken for the word.
 */
#ifndef AS_COVER_COMBO_H
#define AS_COVER_COMBO_H

#include "base/buf.h"
#include "base/table.h"
#include "calls/spec.h"

#define AS_COMBO_UNKNOWN (1ull << 63)
#define AS_COMBO_MAX (1u << 20)

struct as_combo {
	uint64_t value, count; /* count: never 0 */
};

/* A table that is all zero is empty and ready for use. */
struct as_combos {
	struct as_combo *at; /* in the order in which they came */
	size_t n, cap;
	struct as_table table; /* of `at`, by value */
};

/* The plain form of a value, of bits that words have and any others. */
uint64_t as_combo_plain(const struct as_spec_words *words, uint64_t value);
/* Counts a value that is there once more; false: it is not there. */
bool as_combos_again(struct as_combos *combos, uint64_t value);
/* False: the table is full. */
bool as_combos_add(struct as_combos *combos, uint64_t value, uint64_t count);
/* All of them in order of their values; the caller frees the array. */
struct as_combo *as_combos_sorted(const struct as_combos *combos);
void as_combos_free(struct as_combos *combos);

/* One bit for each word of the table that is set; *unknown: the value has other bits, too. */
uint64_t as_combo_words(const struct as_spec_words *words, uint64_t value, bool *unknown);
/* "O_RDWR|O_CREAT", "0", "O_RDONLY|unknown" */
void as_combo_print(const struct as_spec_words *words, uint64_t value, struct as_buf *out);
bool as_combo_parse(const struct as_spec_words *words, const char *text, size_t len,
		    uint64_t *value);

/* Can these two words be set at once? */
static inline bool as_combo_possible(const struct as_spec_word *a, const struct as_spec_word *b)
{
	return (a->mask & b->mask) == 0;
}

#endif
