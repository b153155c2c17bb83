/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spell: see spell.h. */
#include "calls/spell.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define CACHED 4096

struct as_spell {
	struct {
		uint64_t key, value;
	} cache[CACHED];
};

static const struct {
	const char *name;
	uint64_t value;
} also[] = {
#define ALSO(name, value) { name, value },
#include "calls/spec/spelling.def"
#undef ALSO
};
#define N_ALSO (sizeof(also) / sizeof(also[0]))

struct as_spell *as_spell_new(void)
{
	return as_xcalloc(1, sizeof(struct as_spell));
}

void as_spell_free(struct as_spell *spell)
{
	free(spell);
}

bool as_spell_number(const char *s, size_t len, bool octal, uint64_t *out)
{
	const char *end = s + len;
	bool minus = len && *s == '-';
	uint64_t v = 0;
	unsigned base = 10;

	s += minus;
	if (end - s > 2 && s[0] == '0' && (s[1] | 32) == 'x') {
		base = 16;
		s += 2;
	} else if (octal && end - s > 1 && *s == '0') {
		base = 8;
	}
	if (s >= end)
		return false;
	for (; s < end; s++) {
		unsigned digit = (unsigned)(*s - '0');

		if (digit > 9) {
			digit = (unsigned)((*s | 32) - 'a') + 10;
			if (digit < 10)
				return false;
		}
		if (digit >= base)
			return false;
		v = v * base + digit;
	}
	*out = minus ? -v : v;
	return true;
}

static uint64_t one_word(const struct as_spec_words *words, const char *s, size_t len)
{
	uint64_t value;

	if (as_spell_number(s, len, true, &value))
		return value;
	for (unsigned i = 0; words && i < words->n; i++)
		if (strlen(words->words[i].name) == len && !memcmp(words->words[i].name, s, len))
			return words->words[i].value;
	for (unsigned i = 0; i < N_ALSO; i++)
		if (strlen(also[i].name) == len && !memcmp(also[i].name, s, len))
			return also[i].value;
	return AS_SPELL_UNKNOWN;
}

/* Words with '|' between them; a category may have " or " (the same number for several). */
static uint64_t all_words(const struct as_spec_words *words, const char *s, const char *end)
{
	uint64_t value = 0, one;

	while (s < end) {
		const char *bar = memchr(s, '|', (size_t)(end - s));
		const char *stop = bar ? bar : end;
		const char * or = memmem(s, (size_t)(stop - s), " or ", 4);

		one = one_word(words, s, (size_t)((or ? or : stop) - s));
		if (or &&(one & AS_SPELL_UNKNOWN))
			one = all_words(words, or +4, stop);
		value |= one;
		s = stop + 1;
	}
	return value;
}

/* strace prints statx's flags in two parts, the first of which may be 0: -X verbose has
 * a comment after each part, and -X raw leaves that 0 out: "|0x100", or nothing. */
static uint64_t parse(const struct as_spec_words *words, const char *s, size_t len)
{
	const char *end = s + len, *comment = memmem(s, len, "/*", 2), *rest;
	uint64_t value = 0;

	if (!len)
		return 0;
	rest = comment ? memmem(comment, (size_t)(end - comment), "*/|", 3) : NULL;
	if (rest)
		value = parse(words, rest + 3, (size_t)(end - rest) - 3);
	if (comment)
		end = comment;
	while (end > s && end[-1] == ' ')
		end--;
	/* "0x800 (flags ...)", or a comment alone: there is no word. */
	if (end == s)
		return AS_SPELL_UNKNOWN;
	return value | all_words(words, s + (*s == '|'), end);
}

uint64_t as_spell_value(struct as_spell *spell, const struct as_spec_words *words, const char *text,
			size_t len)
{
	uint64_t key = XXH3_64bits_withSeed(text, len, (uint64_t)(uintptr_t)words) | 1;
	unsigned i = (unsigned)(key >> 20) % CACHED;

	if (spell->cache[i].key != key) {
		spell->cache[i].value = parse(words, text, len);
		spell->cache[i].key = key;
	}
	return spell->cache[i].value;
}

int as_spell_errno(struct as_spell *spell, const char *text, size_t len)
{
	uint64_t key = XXH3_64bits_withSeed(text, len, 1) | 1;
	unsigned i = (unsigned)(key >> 20) % CACHED;
	char name[32];

	if (spell->cache[i].key != key) {
		if (len >= sizeof(name))
			return 0;
		memcpy(name, text, len);
		name[len] = 0;
		spell->cache[i].value = (uint64_t)as_errno_value(name);
		spell->cache[i].key = key;
	}
	return (int)spell->cache[i].value;
}
