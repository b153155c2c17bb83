/* SPDX-License-Identifier: GPL-2.0-or-later */
/* combo: see combo.h. */
#include "cover/combo.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

static bool count_more(struct as_combos *combos, uint64_t value, uint64_t count)
{
	size_t i = as_table_get(&combos->table, value);

	if (i == AS_TABLE_NONE)
		return false;
	if (__builtin_add_overflow(combos->at[i].count, count, &combos->at[i].count))
		combos->at[i].count = UINT64_MAX;
	return true;
}

bool as_combos_again(struct as_combos *combos, uint64_t value)
{
	return count_more(combos, value, 1);
}

bool as_combos_add(struct as_combos *combos, uint64_t value, uint64_t count)
{
	if (!count || count_more(combos, value, count))
		return true;
	if (combos->n >= AS_COMBO_MAX)
		return false;
	AS_ARRAY_ROOM(combos->at, combos->n, combos->cap);
	as_table_add(&combos->table, value, combos->n);
	combos->at[combos->n++] = (struct as_combo){ value, count };
	return true;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = ((const struct as_combo *)a)->value, y = ((const struct as_combo *)b)->value;

	return x < y ? -1 : x > y;
}

struct as_combo *as_combos_sorted(const struct as_combos *combos)
{
	struct as_combo *sorted = as_xcalloc(combos->n + 1, sizeof(*sorted));

	if (combos->n)
		memcpy(sorted, combos->at, combos->n * sizeof(*sorted));
	qsort(sorted, combos->n, sizeof(*sorted), by_value);
	return sorted;
}

void as_combos_free(struct as_combos *combos)
{
	as_table_free(&combos->table);
	free(combos->at);
	*combos = (struct as_combos){ 0 };
}

/* The first value of a field that no word has; 0: all have one. */
static uint64_t nameless(const struct as_spec_words *words, uint64_t mask)
{
	for (uint64_t v = mask & -mask; v; v = (v - mask) & mask) {
		unsigned i = 0;

		while (i < words->n && (words->words[i].mask != mask || words->words[i].value != v))
			i++;
		if (i == words->n)
			return v;
	}
	return 0;
}

uint64_t as_combo_plain(const struct as_spec_words *words, uint64_t value)
{
	uint64_t plain = 0, rest = value;

	for (unsigned i = 0; i < words->n; i++) {
		const struct as_spec_word *word = &words->words[i];

		if ((value & word->mask) != word->value)
			continue;
		plain |= word->value;
		rest &= ~word->mask;
	}
	if (!rest)
		return plain;
	for (unsigned i = 0; i < words->n; i++)
		if (!words->words[i].value && rest & words->words[i].mask)
			plain |= nameless(words, words->words[i].mask);
	return plain | AS_COMBO_UNKNOWN;
}

uint64_t as_combo_words(const struct as_spec_words *words, uint64_t value, bool *unknown)
{
	uint64_t set = 0, rest = value;

	for (unsigned i = 0; i < words->n; i++) {
		const struct as_spec_word *word = &words->words[i];

		if ((value & word->mask) != word->value)
			continue;
		set |= 1ull << i;
		rest &= ~word->mask;
	}
	*unknown = rest != 0;
	return set;
}

void as_combo_print(const struct as_spec_words *words, uint64_t value, struct as_buf *out)
{
	bool unknown, first = true;
	uint64_t set = as_combo_words(words, value, &unknown);

	for (unsigned i = 0; i < words->n; i++)
		if (set >> i & 1) {
			as_buf_adds(out, first ? "" : "|");
			as_buf_adds(out, words->words[i].name);
			first = false;
		}
	if (unknown)
		as_buf_adds(out, first ? "unknown" : "|unknown");
	else if (first)
		as_buf_addc(out, '0');
}

bool as_combo_parse(const struct as_spec_words *words, const char *text, size_t len,
		    uint64_t *value)
{
	const char *end = text + len;
	uint64_t named = 0;

	*value = 0;
	if (len == 1 && *text == '0')
		return true;
	while (text < end) {
		const char *bar = memchr(text, '|', (size_t)(end - text));
		size_t n = (size_t)((bar ? bar : end) - text);
		unsigned i = 0;

		if (n == 7 && !memcmp(text, "unknown", 7)) {
			*value |= AS_COMBO_UNKNOWN;
		} else {
			while (i < words->n && (strlen(words->words[i].name) != n ||
						memcmp(words->words[i].name, text, n) != 0))
				i++;
			if (i == words->n)
				return false;
			*value |= words->words[i].value;
			named |= words->words[i].mask;
		}
		text += n + 1;
	}
	/* A word that stands for no bits is always written; if it is missing, its field has another
	 * value. */
	for (unsigned i = 0; *value & AS_COMBO_UNKNOWN && i < words->n; i++)
		if (!words->words[i].value && !(named & words->words[i].mask))
			*value |= nameless(words, words->words[i].mask);
	*value = as_combo_plain(words, *value);
	return len > 0;
}
