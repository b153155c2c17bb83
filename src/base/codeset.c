/* SPDX-License-Identifier: GPL-2.0-or-later */
/* codeset: see codeset.h. */
#include "base/codeset.h"

#include <string.h>

#define WORD "kcov "

/* The number of its bit; AS_CODESET_WINDOW: it is not in the window. */
static uint64_t place(const struct as_codeset *set, uint64_t pc)
{
	uint64_t base = atomic_load(&set->base);

	return base && pc >= base && pc - base < AS_CODESET_WINDOW ? pc - base : AS_CODESET_WINDOW;
}

static uint64_t base_of(uint64_t pc)
{
	return pc & ~(AS_CODESET_WINDOW - 1);
}

void as_codeset_expect(struct as_codeset *set, uint64_t pc)
{
	atomic_store(&set->base, base_of(pc));
}

bool as_codeset_add(struct as_codeset *set, uint64_t pc)
{
	uint64_t none = 0, base = base_of(pc), at, bit;

	/* Base 0 is for a set without one. */
	if (!base || pc == UINT64_MAX ||
	    atomic_load_explicit(&set->n, memory_order_relaxed) >= AS_CODESET_MAX)
		return false;
	atomic_compare_exchange_strong(&set->base, &none, base);
	at = place(set, pc);
	if (at == AS_CODESET_WINDOW)
		return false;
	bit = (uint64_t)1 << (at & 63);
	if (atomic_load_explicit(&set->bits[at >> 6], memory_order_relaxed) & bit ||
	    atomic_fetch_or(&set->bits[at >> 6], bit) & bit)
		return false;
	atomic_fetch_add(&set->n, 1);
	return true;
}

bool as_codeset_has(const struct as_codeset *set, uint64_t pc)
{
	uint64_t at = place(set, pc);

	return at < AS_CODESET_WINDOW && atomic_load(&set->bits[at >> 6]) >> (at & 63) & 1;
}

uint64_t as_codeset_next(const struct as_codeset *set, uint64_t pc)
{
	uint64_t base = atomic_load(&set->base), at = pc > base ? pc - base : 0;

	while (at < AS_CODESET_WINDOW) {
		uint64_t word = atomic_load(&set->bits[at >> 6]) >> (at & 63);

		if (word)
			return base + at + (uint64_t)__builtin_ctzll(word);
		at = (at | 63) + 1;
	}
	return 0;
}

uint64_t as_codeset_address(const char *text, const char **end)
{
	size_t len = strspn(text, "0123456789abcdef");
	uint64_t pc = 0;

	*end = text;
	if (!len || len > sizeof(pc) * 2)
		return 0;
	for (; len; len--, (*end)++)
		pc = pc << 4 | (uint64_t)(**end > '9' ? **end - 'a' + 10 : **end - '0');
	return pc;
}

void as_codeset_tell(const char *name, const uint64_t *pcs, size_t n, struct as_buf *text)
{
	as_buf_addf(text, WORD "%.*s\n", (int)strcspn(name, "\n"), name);
	for (size_t i = 0; i < n; i++)
		as_buf_addf(text, "%llx ", (unsigned long long)pcs[i]);
}

bool as_codeset_hear(struct as_codeset *set, const char *text, const char **name, size_t *len,
		     uint64_t *added)
{
	const char *at = text + strlen(WORD), *end;

	*added = 0;
	if (strncmp(text, WORD, strlen(WORD)))
		return false;
	*name = at;
	*len = strcspn(at, "\n");
	at += *len;
	if (*at++ != '\n')
		return false;
	for (size_t i = 0; *at; at = end + 1, i++) {
		uint64_t pc = as_codeset_address(at, &end);

		if (i == AS_CODESET_TOLD_MAX || end == at || *end != ' ')
			return false;
		*added += as_codeset_add(set, pc);
	}
	return true;
}
