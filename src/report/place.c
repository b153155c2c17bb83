/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place: see place.h. Assertions, sanitizers and kernels write a place as FILE:LINE or
 * FILE:LINE:COLUMN. So each ".c:" and its like is looked at: before it stands a file name, after it
 * a number.
 */
#include "report/place.h"

#include <string.h>

#define FILE_MAX 1024
#define NUMBER_MAX 10000000

static const char *const endings[] = { ".c:",  ".h:",	".cc:", ".cpp:", ".cxx:", ".hpp:",
				       ".hh:", ".inc:", ".rs:", ".go:",	 ".zig:", ".S:" };

/* Parts of the names of files that only pass errors on. */
static const char *const others[] = { "libsanitizer", "sanitizer_common", "asan_", "ubsan_",
				      "../sysdeps/",  "csu/libc-start",	  "glibc", "compiler-rt" };

static bool is_name(char c)
{
	return c && !strchr(" \t\n\r'\"`()<>[]{},;:=!|&$\\*?", c) && (unsigned char)c > ' ' &&
	       c != 0x7f;
}

static const char *read_number(const char *s, unsigned *number)
{
	unsigned n = 0;

	if (*s < '0' || *s > '9')
		return NULL;
	for (; *s >= '0' && *s <= '9'; s++)
		if ((n = n * 10 + (unsigned)(*s - '0')) > NUMBER_MAX)
			return NULL;
	*number = n;
	return n ? s : NULL;
}

static bool is_other(const struct as_place *place)
{
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (memmem(place->file, place->len, others[i], strlen(others[i])))
			return true;
	return false;
}

/* `colon` is the one after the file name. */
static bool read_place(const char *text, const char *colon, size_t ending, struct as_place *place)
{
	const char *first = colon, *end;

	*place = (struct as_place){ 0 };
	end = read_number(colon + 1, &place->line);
	if (!end)
		return false;
	if (*end == ':' && !read_number(end + 1, &place->column))
		place->column = 0;
	while (first > text && is_name(first[-1]) && colon - first < FILE_MAX)
		first--;
	place->file = first;
	place->len = (size_t)(colon - first);
	return place->len > ending && colon - first < FILE_MAX;
}

bool as_place_find(const char *text, struct as_place *place)
{
	for (const char *s = strchr(text, '.'); s; s = strchr(s + 1, '.'))
		for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
			size_t len = strlen(endings[i]);

			if (!strncmp(s, endings[i], len) &&
			    read_place(text, s + len - 1, len - 1, place) && !is_other(place))
				return true;
		}
	return false;
}
