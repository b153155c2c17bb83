/* SPDX-License-Identifier: GPL-2.0-or-later */
/* flash_setup: the words that set a flash up (flash.h). */
#include "disk/flash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SECTOR 512u

static bool number(const char **at, uint64_t *n)
{
	char *end;

	errno = 0;
	*n = strtoull(*at, &end, 0);
	if (end == *at || errno || **at == '-' || **at == '+')
		return false;
	*at = end;
	return true;
}

static bool one_number(const char *text, uint64_t max, uint32_t *out)
{
	uint64_t n;

	if (!number(&text, &n) || *text || n > max)
		return false;
	*out = (uint32_t)n;
	return true;
}

/* Which calls fail; without a letter, programs and erases. */
static uint32_t read_calls(const char **text)
{
	static const char letters[] = "rpe";
	uint32_t calls = 0;

	for (const char *at; **text && (at = strchr(letters, **text)); ++*text)
		calls |= 1u << (at - letters);
	return calls ? calls : AS_FLASH_PROGRAMS | AS_FLASH_ERASES;
}

static bool read_bad(struct as_flash_setup *s, const char *text)
{
	while (s->n_bad < AS_FLASH_SPOTS) {
		uint64_t block, after = 0;

		if (!number(&text, &block) || block > UINT32_MAX)
			return false;
		if (*text == '@' && (text++, !number(&text, &after) || after > UINT32_MAX))
			return false;
		s->bad[s->n_bad++] = (struct as_flash_bad){ (uint32_t)block, (uint32_t)after,
							    read_calls(&text) };
		if (!*text)
			return true;
		if (*text++ != '+')
			return false;
	}
	return false;
}

static bool read_spots(const char *text, uint64_t *spots, uint32_t *n)
{
	while (*n < AS_FLASH_SPOTS) {
		if (!number(&text, &spots[*n]))
			return false;
		++*n;
		if (!*text)
			return true;
		if (*text++ != '+')
			return false;
	}
	return false;
}

static bool read_weak(struct as_flash_setup *s, const char *text)
{
	uint64_t spots[AS_FLASH_SPOTS];
	uint32_t n = 0;

	if (!read_spots(text, spots, &n))
		return false;
	for (uint32_t i = 0; i < n; i++)
		s->weak[i] = (uint32_t)spots[i];
	s->n_weak = n;
	return true;
}

static bool read_tear(struct as_flash_setup *s, const char *text)
{
	static const char *const names[] = { "unit", "bits", "unstable", "off" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(text, names[i])) {
			s->tear = (enum as_flash_tear)i;
			return true;
		}
	return false;
}

static bool read_flag(const char *text, uint32_t *out)
{
	return one_number(text, 1, out);
}

static bool take_word(struct as_flash_setup *s, const char *key, size_t len, const char *value)
{
	struct as_flash_geometry *g = &s->geometry;
	const struct {
		const char *key;
		uint32_t *field;
	} numbers[] = {
		{ "erase", &g->erase_bytes }, { "program", &g->program_bytes },
		{ "read", &g->read_bytes },   { "cycles", &s->cycles },
		{ "wear", &s->wear },	      { "spread", &s->spread },
		{ "disturb", &s->disturb },
	};
	uint32_t n;

#define IS(word) (len == strlen(word) && !strncmp(key, word, len))
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (IS(numbers[i].key))
			return one_number(value, UINT32_MAX, numbers[i].field);
	if (IS("bad"))
		return read_bad(s, value);
	if (IS("weak"))
		return read_weak(s, value);
	if (IS("rot"))
		return (s->n_rot = 0, read_spots(value, s->rot, &s->n_rot));
	if (IS("tear"))
		return read_tear(s, value);
	if (IS("erased") && one_number(value, 255, &n)) {
		g->erased = (uint8_t)n;
		return true;
	}
	if (IS("over") && read_flag(value, &n)) {
		g->flags = n ? g->flags | AS_FLASH_OVERWRITE
			     : g->flags & ~(uint32_t)AS_FLASH_OVERWRITE;
		return true;
	}
	if (IS("show") && read_flag(value, &n)) {
		s->show = n;
		return true;
	}
	if (IS("cache") && read_flag(value, &n)) {
		s->cache = n;
		return true;
	}
#undef IS
	return false;
}

int as_flash_setup_word(struct as_flash_setup *setup, const char *word, struct as_err *err)
{
	const char *equals = strchr(word, '=');

	if (equals && take_word(setup, word, (size_t)(equals - word), equals + 1))
		return 0;
	return as_fail(
		err, AS_EUSE,
		"flash: '%.60s' is none of erase=N, program=N, read=N, erased=0|255, over=1, "
		"bad=B[@N][rpe][+B...], cycles=N, weak=B[+B...], disturb=N, rot=A[+A...], wear=N, "
		"spread=N, show=1, tear=unit|bits|unstable|off, cache=1",
		word);
}

int as_flash_setup_vet(const struct as_flash_setup *s, uint64_t size, struct as_err *err)
{
	const struct as_flash_geometry *g = &s->geometry;

	if (!g->erase_bytes || g->erase_bytes % SECTOR || g->erase_bytes > 1u << 24)
		return as_fail(err, AS_EUSE,
			       "flash: erase blocks of %u bytes are not a multiple of %u up to 16 "
			       "MiB",
			       g->erase_bytes, SECTOR);
	if (!g->program_bytes || g->erase_bytes % g->program_bytes || !g->read_bytes ||
	    g->erase_bytes % g->read_bytes)
		return as_fail(err, AS_EUSE,
			       "flash: units of %u (program) and %u bytes (read) do not divide "
			       "erase blocks of %u",
			       g->program_bytes, g->read_bytes, g->erase_bytes);
	if (g->erased != 0 && g->erased != 0xff)
		return as_fail(err, AS_EUSE, "flash: the erased value is 0 or 255, not %u",
			       g->erased);
	if (size % g->erase_bytes || size / g->erase_bytes > UINT32_MAX)
		return as_fail(err, AS_EUSE,
			       "flash: %llu bytes are not whole erase blocks of %u bytes",
			       (unsigned long long)size, g->erase_bytes);
	return 0;
}
